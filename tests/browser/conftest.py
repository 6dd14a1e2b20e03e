"""A browser for the pages that crates/fsage/tests/suite/browser.rs makes.

FSAGE_PAGES is the folder with the pages, FSAGE_CHROMIUM the browser of this machine; none is ever fetched.
"""

import os
import pathlib

import pytest
from playwright.sync_api import sync_playwright

PAGES = pathlib.Path(os.environ["FSAGE_PAGES"])
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["FSAGE_CHROMIUM"])
        yield browser
        browser.close()


class Visit:
    """A page that was opened, and what it did besides being shown."""

    def __init__(self, browser, name, **context):
        self.name = name
        self.context = browser.new_context(**context)
        self.context.set_default_timeout(20_000)
        self.page = self.context.new_page()
        self.said = []
        self.asked = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto((PAGES / name).as_uri(), wait_until="load")

    def drawn(self):
        """Waits until every chart has its marks; they are drawn when they come into view."""
        for figure in self.page.locator("figure.chart:has(.plot)").all():
            figure.evaluate("(figure) => figure.scrollIntoView({ behavior: 'instant' })")
            figure.locator(".plot svg:not(.drawn), .plot canvas").first.wait_for(state="attached")
        self.page.evaluate("() => scrollTo({ top: 0, behavior: 'instant' })")
        return self.page

    def check(self):
        """Whether the page was quiet until now."""
        strange = [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]
        assert strange == [], f"{self.name} asked the network"
        bad = [line for line in self.said if line.startswith(("error", "warning"))]
        assert bad == [], f"{self.name} complained"

    def close(self):
        self.context.close()
        self.check()


@pytest.fixture
def visit(browser):
    """Opens pages by name; when the test is over, none of them may have complained or asked the network."""
    visits = []

    def open_page(name, **context):
        visits.append(Visit(browser, name, **context))
        return visits[-1].drawn()

    yield open_page
    for one in visits:
        one.close()


@pytest.fixture(scope="session")
def seen(browser):
    """Opens pages for tests that look and change nothing: each page once, for all of them, since most of the time of
    these tests is that of drawing charts."""
    visits = {}

    def look(name, viewport=DESKTOP, color_scheme="light"):
        key = (name, viewport["width"], color_scheme)
        if key not in visits:
            visits[key] = Visit(browser, name, viewport=viewport, color_scheme=color_scheme)
            visits[key].drawn()
        visits[key].check()
        return visits[key].page

    yield look
    for one in visits.values():
        one.close()


@pytest.fixture
def report(visit):
    """The report of an ordinary run at the width of a desktop."""
    return visit("run.html", viewport=DESKTOP)

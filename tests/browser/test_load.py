"""Pages load from a file, quickly, whatever they are made of."""

import time

import pytest

from conftest import DESKTOP, PAGES, Visit

WHOLE = ["run.html", "ten.html", "hostile.html", "interrupted.html"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_page_loads_from_a_file_without_complaint_and_without_network(seen, name):
    page = seen(name)
    assert page.locator("h1").inner_text().strip()
    # Of the interrupted run of models there are no days, and so no charts.
    assert (page.locator("figure.chart svg").count() > 0) == (name != "interrupted.html")


def test_ten_targets_of_ten_years_are_small_and_open_soon(browser):
    size = (PAGES / "ten.html").stat().st_size
    times = []
    for _ in range(3):
        began = time.monotonic()
        visit = Visit(browser, "ten.html", viewport=DESKTOP)
        loaded = time.monotonic() - began
        visit.page.wait_for_selector("figure.chart .plot svg:not(.drawn) path")
        times.append((time.monotonic() - began, loaded))
        visit.close()
    drawn, loaded = sorted(times)[1]
    print(f"ten targets x 3650 days: {size} bytes; loaded in {loaded:.2f} s, first chart in {drawn:.2f} s (median of 3)")
    assert size < 3_000_000
    # The goal is 2 s. A machine that does other work must not fail this, a page that hangs must.
    assert drawn < 10


def test_ten_years_are_in_the_data_of_the_page(seen):
    page = seen("ten.html")
    days = page.evaluate(
        """() => Object.values(fsage.data.charts).map((chart) => Math.max(...fsage.columnsOf(chart)
             .filter((column) => column.name === "day").flatMap((column) => [0, ...new Set(column.values)])))"""
    )
    assert max(days) == 3650


def test_names_of_a_workload_do_no_harm_and_are_shown(seen):
    page = seen("hostile.html")
    assert page.evaluate("() => window.evil") is None
    assert page.locator("main img").count() == 0
    shown = page.locator("body").inner_text()
    assert "<img src=x onerror=window.evil=1>" in shown


def test_an_interrupted_run_says_what_is_missing(seen):
    page = seen("interrupted.html")
    missing = page.locator(".missing")
    assert missing.is_visible()
    assert "interrupted" in missing.inner_text() and "--resume" in missing.inner_text()

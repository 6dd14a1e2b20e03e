"""Charts have marks, answer the pointer and the keyboard, and give away their data."""

import csv
import io
import json
import math

from conftest import PAGES


MARKS = ".role-mark:is(.mark-line, .mark-rect, .mark-symbol, .mark-area) path[d]"


def charts(page):
    """Ids of the charts of a page that have data."""
    return page.evaluate("() => [...document.querySelectorAll('figure.chart:has(.plot)')].map((figure) => figure.id)")


def test_every_chart_has_marks(seen):
    report = seen("run.html")
    ids = charts(report)
    assert len(ids) >= 4
    for one in ids:
        marks = report.locator(f"#{one} .plot svg").locator(MARKS)
        assert marks.count() > 0, one


def test_the_pointer_over_a_curve_shows_its_values(report):
    plot = report.locator("figure.chart").first.locator(".plot svg")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    tip = report.locator("#tooltip")
    assert not tip.is_visible()
    for share in (0.4, 0.5, 0.6):
        report.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.5)
        report.wait_for_timeout(100)
    tip.wait_for(state="visible")
    assert any(letter.isdigit() for letter in tip.inner_text())
    report.mouse.move(0, 0)
    tip.wait_for(state="hidden")


def appearance(figure):
    return figure.locator(".plot").inner_html()


def test_the_legend_answers_clicks_and_keys(report):
    figure = report.locator("figure.chart").first
    figure.scroll_into_view_if_needed()
    entry = figure.locator(".legend button").first
    before = appearance(figure)
    entry.click()
    report.mouse.move(0, 0)
    report.wait_for_function("([id, html]) => document.querySelector(`#${id} .plot`).innerHTML !== html",
                             arg=[figure.get_attribute("id"), before])
    pressed = entry.get_attribute("aria-pressed")
    assert pressed in ("true", "false")
    entry.focus()
    report.keyboard.press("Enter")
    report.wait_for_function("([id, was]) => document.querySelector(`#${id} .legend button`)"
                             ".getAttribute('aria-pressed') !== was", arg=[figure.get_attribute("id"), pressed])


def downloaded(page, figure):
    """The rows of the CSV that a figure gives, each a dictionary."""
    # Chromium lets a page download ten files at a time.
    page.wait_for_timeout(250)
    with page.expect_download() as download:
        page.locator(f"#{figure} .tools").get_by_text("CSV").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename.endswith(".csv")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_download_of_each_chart_is_what_it_draws(seen):
    report = seen("run.html")
    for figure in charts(report):
        rows = downloaded(report, figure)
        drawn = report.evaluate("(id) => fsage.rowsOf(fsage.data.charts[id])", figure)
        assert len(rows) == len(drawn) > 0, figure
        for row, point in zip(rows, drawn):
            assert list(row) == list(point)
            for name, text in row.items():
                value = point[name]
                if value is None:
                    assert text == ""
                elif isinstance(value, str):
                    assert text == value
                else:
                    assert math.isclose(float(text), value, rel_tol=1e-9, abs_tol=1e-12), (figure, name)


def test_the_layout_by_day_is_what_fsage_measures(seen):
    """Against `fsage measure --json`, which knows nothing of pages."""
    report = seen("run.html")
    measured = json.loads((PAGES / "run.json").read_text())
    by_day = next(figure for figure in charts(report) if "layout" in figure)
    rows = [row for row in downloaded(report, by_day) if row.get("day")]
    score = next(column for column in rows[0] if "layout" in column)
    values = [(int(float(row["day"])), float(row[score])) for row in rows if row[score]]
    for target in measured["targets"]:
        for day in target["days"]:
            # Downloads have six digits.
            near = [value for at, value in values
                    if at == int(day["label"]) and math.isclose(value, day["layout_score"], rel_tol=1e-6)]
            assert near, (target["target"], day["label"])

"""The block map: it shows a disk, moves through the days, and answers pointer and keys."""

import pytest

from conftest import DESKTOP, Visit


@pytest.fixture(scope="module")
def page_with_map(browser):
    visit = Visit(browser, "run.html", viewport=DESKTOP)
    yield visit.drawn()
    visit.close()


@pytest.fixture
def disk(page_with_map):
    """The report at its block map, drawn: the last day by the size of files, whatever another test left."""
    page = page_with_map
    page.mouse.move(0, 0)
    page.locator("#block-map").scroll_into_view_if_needed()
    page.wait_for_selector(".map-pane canvas.map-cells")
    page.locator("#map-color").select_option("size")
    page.locator("#map-speed").select_option(label="medium")
    page.locator("#map-day").press("End")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_function(f"() => ({PICTURE})() !== ''")
    return page


# The cells of the first disk as text, which differs where a pixel does.
PICTURE = """() => {
  const canvas = document.querySelector(".map-pane canvas.map-cells");
  return canvas && canvas.width > 1 ? canvas.toDataURL() : "";
}"""


def picture(page):
    return page.evaluate(PICTURE)


def changed(page, before):
    page.wait_for_function(f"(before) => ({PICTURE})() !== before", arg=before)


def test_there_is_a_disk_of_each_target_with_many_colors(disk):
    assert disk.locator("#map-target option").all_inner_texts() == disk.evaluate("() => fsage.data.targets")
    colors = disk.evaluate(
        """() => {
             const canvas = document.querySelector(".map-pane canvas.map-cells");
             const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
             return new Set(new Uint32Array(data.buffer)).size;
           }"""
    )
    assert colors > 10


def test_the_slider_moves_through_the_days(disk):
    slider = disk.locator("#map-day")
    slider.focus()
    disk.keyboard.press("End")
    end = picture(disk)
    disk.keyboard.press("Home")
    changed(disk, end)
    assert slider.input_value() == "0"
    first = picture(disk)
    disk.keyboard.press("ArrowRight")
    changed(disk, first)
    assert slider.input_value() == "1"
    assert "day" in slider.get_attribute("aria-valuetext")
    disk.keyboard.press("ArrowLeft")
    disk.wait_for_function(f"(first) => ({PICTURE})() === first", arg=first)


def test_it_plays_and_stops(disk):
    slider = disk.locator("#map-day")
    slider.focus()
    disk.keyboard.press("Home")
    first = picture(disk)
    disk.keyboard.press(" ")
    changed(disk, first)
    play = disk.locator("#map-play")
    assert play.get_attribute("aria-pressed") == "true"
    disk.keyboard.press(" ")
    assert play.get_attribute("aria-pressed") == "false"
    stopped = slider.input_value()
    disk.wait_for_timeout(700)
    assert slider.input_value() == stopped
    # The button does the same, and at the end it is over by itself.
    disk.locator("#map-speed").select_option(label="fast")
    play.click()
    disk.wait_for_function("() => document.getElementById('map-play').getAttribute('aria-pressed') === 'false'")
    assert slider.input_value() == slider.get_attribute("max")


def test_the_pointer_tells_what_lies_there(disk):
    disk.locator("#map-day").focus()
    disk.keyboard.press("End")
    cells = disk.locator(".map-pane canvas.map-cells").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    disk.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20)
    tip = disk.locator(".map-tip").first
    tip.wait_for(state="visible")
    assert "%" in tip.inner_text() or "free" in tip.inner_text().lower()


def test_keys_read_the_cells_and_zoom(disk):
    view = disk.locator(".map-view").first
    view.focus()
    disk.keyboard.press("ArrowRight")
    cell = disk.locator(".map-cell").first
    one = cell.inner_text()
    disk.keyboard.press("ArrowRight")
    disk.wait_for_function("(one) => document.querySelector('.map-cell').innerText !== one", arg=one)
    whole = picture(disk)
    disk.keyboard.press("Enter")
    changed(disk, whole)
    disk.locator("#map-whole").click()
    disk.wait_for_function(f"(whole) => ({PICTURE})() === whole", arg=whole)


@pytest.mark.parametrize("color", ["age", "contiguity", "use"])
def test_other_colors_show_other_things(disk, color):
    before = picture(disk)
    disk.locator("#map-color").select_option(color)
    changed(disk, before)
    names = disk.locator("#map-legend .name").all_inner_texts()
    assert len(names) == len(set(names)) >= 2


def test_the_legend_shows_one_kind_alone(disk):
    before = picture(disk)
    button = disk.locator("#map-legend button").nth(1)
    button.click()
    changed(disk, before)
    assert button.get_attribute("aria-pressed") == "true"
    button.press("Enter")
    disk.wait_for_function(f"(before) => ({PICTURE})() === before", arg=before)


def test_a_page_of_hostile_names_has_a_map_that_tells_its_cells(visit):
    """Models keep no names of files: those of the map are tested with the page's data, in fsage-report."""
    page = visit("hostile.html", viewport=DESKTOP)
    page.locator("#block-map").scroll_into_view_if_needed()
    page.wait_for_selector(".map-pane canvas.map-cells")
    view = page.locator(".map-view").first
    box = view.bounding_box()
    shown = ""
    for step in range(40):
        page.mouse.move(box["x"] + box["width"] * step / 40, box["y"] + 10)
        shown += page.locator(".map-tip").first.inner_text()
    assert "metadata" in shown and "in use" in shown
    assert page.locator("#map-target option").count() == 2
    assert page.evaluate("() => window.evil") is None

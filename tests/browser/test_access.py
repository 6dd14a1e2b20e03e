"""Pages can be read by everybody: with a keyboard, on a telephone, in the dark, on paper, by a screen reader."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import DESKTOP

PHONE = {"width": 390, "height": 844}

# Texts whose contrast to what lies behind them is below 4.5, or 3 where they are large (WCAG 2, 1.4.3). Colors are
# read from a canvas, which knows every way to write one.
FAINT = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => {
    const a = top[3];
    return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)).concat(1);
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const faint = [];
  let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim();
    const element = walk.currentNode.parentElement;
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest("script, style, noscript, [aria-disabled=true]")) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const ink = over(rgba(element instanceof SVGElement ? style.fill : style.color), ground);
    const [low, high] = [light(ink), light(ground)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    const pixels = parseFloat(style.fontSize);
    const large = pixels >= 24 || (pixels >= 18.66 && style.fontWeight >= 700);
    seen += 1;
    if (contrast < (large ? 3 : 4.5)) faint.push(`${contrast.toFixed(2)}: ${text.slice(0, 40)}`);
  }
  return { seen, faint };
}"""


def sides(page):
    """Width of the page, and of the window."""
    return page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(seen, scheme):
    page = seen("run.html", color_scheme=scheme)
    texts = page.evaluate(FAINT)
    assert texts["seen"] > 100
    assert texts["faint"] == []


def test_dark_is_dark_and_the_button_changes_it(visit):
    page = visit("run.html", viewport=DESKTOP, color_scheme="dark")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    assert sum(int(part) for part in dark.strip("rgb()").split(",")) < 150, dark
    page.locator("#theme").click()
    page.wait_for_function(f"(was) => ({ground})() !== was", arg=dark)
    page.wait_for_timeout(300)
    assert page.evaluate(FAINT)["faint"] == []


@pytest.mark.parametrize("name", ["run.html", "ten.html", "hostile.html", "interrupted.html"])
def test_a_telephone_needs_no_sideways_scrolling(visit, name):
    page = visit(name, viewport=PHONE, device_scale_factor=2, has_touch=True)
    width, window = sides(page)
    assert width <= window
    wide = page.evaluate("() => [...document.querySelectorAll('.plot svg')].map((svg) => svg.getBoundingClientRect())"
                         ".filter((box) => box.left < 0 || box.right > innerWidth + 1).length")
    assert wide == 0


def test_the_tab_key_reaches_everything_and_shows_where_it_is(report):
    wanted = report.evaluate(
        """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
             .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0)
             .filter((e) => e.type !== "radio")
             .map((e, i) => { e.dataset.stop = i; return String(i); })"""
    )
    assert len(wanted) > 20
    reached, unseen = set(), []
    # Charts that were drawn meanwhile add stops of their own, so there may be more presses than stops wanted.
    for _ in range(2 * len(wanted)):
        if reached.issuperset(wanted):
            break
        report.keyboard.press("Tab")
        stop = report.evaluate(
            """() => {
              const e = document.activeElement, style = getComputedStyle(e);
              const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
              return [e.dataset.stop ?? null, ring || style.boxShadow !== "none", e.outerHTML.slice(0, 80)];
            }"""
        )
        if stop[0] is None:
            continue
        reached.add(stop[0])
        if not stop[1]:
            unseen.append(stop[2])
    assert set(wanted) - reached == set()
    assert unseen == []


def test_the_first_tab_is_a_way_past_the_head(report):
    report.keyboard.press("Tab")
    link = report.locator(":focus")
    assert "skip" in link.inner_text().lower()
    box = link.bounding_box()
    assert box["x"] >= 0 and box["y"] >= 0 and box["width"] > 0
    report.keyboard.press("Enter")
    assert report.evaluate("() => document.activeElement.id") == "verdict"


def test_paper_shows_the_charts_whole(visit):
    page = visit("run.html", viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(500)
    width, window = sides(page)
    assert width <= window
    cut = page.evaluate(
        """() => [...document.querySelectorAll("figure.chart:has(.plot)")].filter((figure) => {
             const svg = figure.querySelector(".plot svg"), box = svg?.getBoundingClientRect();
             return !box || box.height < 50 || box.right > innerWidth + 1 || figure.scrollWidth > figure.clientWidth + 1;
           }).map((figure) => figure.id)"""
    )
    assert cut == []
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(seen, scheme):
    page = seen("run.html", color_scheme=scheme)
    found = Axe().run(page).response["violations"]
    serious = [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []

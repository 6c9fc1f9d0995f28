"""The page in a real browser: Debian's chromium, driven by playwright.

Screenshots of desktop, phone, dark and print are kept in the folder screenshots/, which git
ignores. Set CHROMIUM to use another browser of its kind.
"""

import itertools
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.datasets import load_wisconsin
from counterbalance.report import summarise_sampler, write_report
from report_example import example_summary

pytestmark = pytest.mark.slow

PATIENCE = 600_000  # milliseconds, for a machine that is busy
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
ARTEFACTS = Path(__file__).parents[2] / "screenshots"

# Text that can be seen and does not stand out enough from what is behind it (WCAG AA).
FAINT = """() => {
  const context = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
    .getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let looked = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("script, .unseen, title, desc")) continue;
    looked += 1;
    const style = getComputedStyle(element);
    const inSvg = element.namespaceURI.endsWith("svg");
    const ink = rgba(inSvg ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(element))].sort((p, q) => q - p);
    const size = parseFloat(style.fontSize), bold = style.fontWeight >= 700;
    const needed = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    if ((a + 0.05) / (b + 0.05) < needed)
      found.push(`${element.outerHTML.slice(0, 60)} ${element.textContent.slice(0, 40)}`);
  }
  return [looked, found];
}"""


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no chromium: install it (make browser) or set CHROMIUM=/path/to/chromium")
    # A sandbox cannot be set up by root, as whom containers run.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=arguments, timeout=PATIENCE)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Open a file and note everything that a page should not do."""
    contexts, troubles = [], []

    def open_page(path, *, viewport=DESKTOP, scheme="light", **settings):
        context = browser.new_context(viewport=viewport, color_scheme=scheme, **settings)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        own = path.resolve().as_uri()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append("a dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                request.url.split("#")[0] == own
                or request.url.startswith("data:")
                or troubles.append(f"request: {request.url}")
            ),
        )
        page.goto(own)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return write_report(example_summary(), tmp_path_factory.mktemp("report") / "example.html")


@pytest.fixture(scope="module")
def wisconsin(tmp_path_factory):
    data = load_wisconsin()
    sampler = CounterfactualOverSampler(random_state=0)
    result = sampler.fit_resample(data.X, data.y)
    summary = summarise_sampler(sampler, data.X, data.y, *result, alone=True, file="wisconsin.csv")
    return write_report(summary, tmp_path_factory.mktemp("report") / "wisconsin.html")


def column(page, table, place):
    return page.eval_on_selector_all(
        f"{table} tbody tr:not([hidden], :has(.failed))",
        "(rows, place) => rows.map(({cells}) => cells[place].dataset.value"
        " ?? cells[place].textContent)",
        place,
    )


def shown(page, selector):
    return page.locator(f"{selector}:visible").count()


@pytest.mark.parametrize("name", ["example", "wisconsin"])
@pytest.mark.parametrize(
    ("kind", "viewport", "scheme"),
    [("desktop", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light")],
)
def test_it_opens_without_trouble_fits_the_screen_and_can_be_read(
    visit, request, name, kind, viewport, scheme
):
    page = visit(request.getfixturevalue(name), viewport=viewport, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    looked, faint = page.evaluate(FAINT)
    assert looked > 100
    assert faint == []
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}-{kind}.png", full_page=True)


@pytest.mark.parametrize("name", ["example", "wisconsin"])
def test_on_a_phone_every_column_of_every_table_and_every_picture_can_be_scrolled_to(
    visit, request, name
):
    page = visit(request.getfixturevalue(name), viewport=PHONE)
    page.eval_on_selector_all("details", "all => all.forEach((each) => { each.open = true; })")
    frames = page.locator(".scroll")
    assert frames.count() > 4
    for frame in frames.all():
        frame.evaluate("frame => { frame.scrollLeft = 1e6; }")
        hidden = frame.evaluate(
            """frame => {
              const edge = frame.getBoundingClientRect();
              const last = [...frame.querySelectorAll("tr > :last-child, img")];
              return edge.right > innerWidth
                || last.some((cell) => cell.getBoundingClientRect().right > edge.right + 1);
            }"""
        )
        assert not hidden
    assert page.locator("#explorer td:visible").count() == page.locator("#explorer td").count()


def test_a_head_sorts_its_table_up_and_down(visit, example):
    page = visit(example)
    page.get_by_text("All metrics").click()
    head = page.get_by_role("columnheader", name="Brier score")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"  # less is better: the best first
    values = [float(value) for value in column(page, "#verdict details table", 7)]
    assert values == sorted(values)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    values = [float(value) for value in column(page, "#verdict details table", 7)]
    assert values == sorted(values, reverse=True)
    assert page.locator("#verdict [aria-sort]").count() == 1
    assert page.locator("#said").text_content() == "Sorted by Brier score, descending"


def test_rows_without_a_figure_stay_at_the_end(visit, example):
    page = visit(example)
    page.get_by_text("All metrics").click()
    for name in ("G-mean", "G-mean", "ROC AUC"):
        head = page.locator("#verdict details").get_by_role("columnheader", name=name)
        head.get_by_role("button").click()
        last = page.locator("#verdict details tbody tr").last
        assert "failed: no neighbours" in last.text_content()


def test_texts_sort_as_texts_and_shares_as_numbers(visit, example):
    page = visit(example)
    page.get_by_text("The 5 columns").click()
    page.get_by_role("columnheader", name="Column").get_by_role("button").click()
    names = column(page, "#data details table", 0)
    assert names == ["mother_age", "mother_weight", "race", "smoker", "visits"]
    page.get_by_role("columnheader", name="Outliers").get_by_role("button").click()
    assert column(page, "#trust table", 5) == ["5.0%", "15.0%", "25.0%"]


def test_tables_can_be_sorted_with_the_keyboard(visit, example):
    page = visit(example)
    page.get_by_text("All metrics").click()
    head = page.get_by_role("columnheader", name="F1")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "ascending"


def test_new_rows_can_be_searched_and_filtered_by_what_changed(visit, example):
    page = visit(example)
    form = page.locator("#explorer form")
    form.get_by_label("Changed").select_option("smoker")
    assert shown(page, "#explorer tbody tr") == 20
    form.get_by_label("Origin").select_option("interior")
    assert shown(page, "#explorer tbody tr") == 3
    form.get_by_label("Search").fill("NO SUCH THING")
    assert form.locator(".count").text_content() == "0 of 60 rows shown"
    form.get_by_label("Search").fill("→ True")
    assert shown(page, "#explorer tbody tr") == 3


def test_enter_in_the_search_leaves_the_page_where_it_is(visit, example):
    page = visit(example)
    page.locator("#explorer").get_by_label("Search").fill("True")
    page.keyboard.press("Enter")
    assert page.locator("#explorer").get_by_label("Search").input_value() == "True"


def test_the_page_and_its_pictures_follow_the_theme_of_the_system(visit, example):
    look = (
        "[getComputedStyle(document.body).backgroundColor,"
        " getComputedStyle(document.querySelector('img')).filter]"
    )
    page = visit(example, scheme="dark")
    dark = page.evaluate(look)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(look)
    assert dark[0] != light[0]
    assert "invert" in dark[1]
    assert light[1] == "none"


def test_the_keyboard_skips_to_the_report_and_shows_where_it_is(visit, example):
    page = visit(example)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    box = page.get_by_text("Skip to the report").bounding_box()
    assert box["y"] >= 0
    width = "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"
    assert page.evaluate(width) >= 2
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_everything_that_scrolls_can_be_reached_and_has_a_name(visit, example):
    page = visit(example)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((element) =>
          element.scrollWidth > element.clientWidth + 1
          && ["auto", "scroll"].includes(getComputedStyle(element).overflowX)
          && !(element.tabIndex === 0 && element.getAttribute("aria-label"))).length"""
    )
    assert nameless == 0


def test_landmarks_and_headings_are_in_order(visit, example):
    page = visit(example)
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.get_by_role("img", name="Rows and boundary").count() == 1


def test_the_pictures_of_a_page_can_be_shown(visit, wisconsin):
    page = visit(wisconsin)
    sizes = page.eval_on_selector_all("img", "all => all.map((each) => each.naturalWidth)")
    assert len(sizes) == 2
    assert min(sizes) > 300


def test_without_javascript_everything_is_there_to_read(visit, example):
    page = visit(example, java_script_enabled=False)
    assert shown(page, "#explorer tbody tr") == 60
    assert shown(page, "form") == 0
    assert page.locator("thead button").count() == 0


def test_on_paper_it_is_light_without_controls_and_no_table_is_cut_off(visit, example):
    page = visit(example, scheme="dark", viewport={"width": 700, "height": 990})
    page.emulate_media(media="print", color_scheme="dark")
    assert shown(page, "form") == shown(page, "nav") == shown(page, "#explorer") == 0
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert max(int(part) for part in ink[4:-1].split(",")) < 100
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ARTEFACTS.mkdir(exist_ok=True)
    page.pdf(path=ARTEFACTS / "example.pdf", format="A4")


@pytest.mark.filterwarnings("ignore::counterbalance.errors.ShortfallWarning")
def test_hostile_names_of_a_real_table_stay_text(visit, tmp_path):
    rng = np.random.default_rng(0)
    names = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</script><svg onload=alert(1)>",
        "a\u2028b\u202ec",
    ]
    n = 120
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=names[:3])
    X[names[3]] = np.where(X[names[0]] > 0, "<iframe src=javascript:alert(1)>", "'\"`${1}{{1}}")
    y = np.where(X[names[0]] > 0.9, "</title><script>alert(2)</script>", "<b>big")
    X.index = [f"<i>{k}" for k in range(n)]
    sampler = CounterfactualOverSampler(n_draws=20, random_state=0)
    summary = summarise_sampler(
        sampler, X, y, *sampler.fit_resample(X, y),
        alone=True, file="<style>*{display:none}</style>.csv", target="<plaintext>",
        reproduce="counterbalance balance '<plaintext>' && <marquee>",
    )  # fmt: skip
    page = visit(write_report(summary, tmp_path / "<img src=x>.html"))
    page.evaluate("() => new Promise(requestAnimationFrame)")  # scripts have had their turn
    for tag, count in {"script": 1, "style": 1, "iframe": 0, "i": 0}.items():
        assert page.locator(tag).count() == count, tag
    assert page.locator("plaintext, marquee, svg, img[onerror]").count() == 0
    text = page.evaluate("document.body.textContent")
    for name in (*names[:3], "<iframe src=javascript:alert(1)>", "<plaintext>", "<b>big"):
        assert name in text
    assert "</title><script>alert(2)</script>" in page.locator("#data").text_content()
    assert all(page.eval_on_selector_all("img", "all => all.map((each) => each.naturalWidth)"))
    page.get_by_role("columnheader", name="Feature").get_by_role("button").click()
    page.locator("#explorer").get_by_label("Changed").select_option(index=1)


def test_the_policy_stops_a_script_that_got_in_all_the_same(browser, example, tmp_path):
    taken = "<script>document.title = 1</script><img src=x onerror='document.title = 2'>"
    text = example.read_text().replace("<main", f"{taken}<main")
    (tmp_path / "broken.html").write_text(text)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((tmp_path / "broken.html").as_uri())
    page.evaluate("() => new Promise(requestAnimationFrame)")  # scripts have had their turn
    assert page.title() == "Births: should you oversample?"
    page.close()

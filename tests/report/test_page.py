"""The page as text: what it holds, that it is escaped, small, and written whole."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.io.atomic import OutputError
from counterbalance.report import SummaryError, page, render, summarise_sampler, write_report
from report_example import example_summary

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><svg onload=alert(1)>",
    "</style></title><!--<script>",
    "'onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "]]>&lt;b&gt;&amp;\u2028\u2029\x00\ud800",
)


class Elements(HTMLParser):
    """Collects every element of a page with its attributes, and the text between."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None if tag == self.inside else self.inside

    def handle_data(self, data):
        if self.inside not in {"script", "style"}:
            self.text.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


@pytest.fixture(scope="module")
def example():
    return render(example_summary())


@pytest.fixture(scope="module")
def elements(example):
    return Elements(example)


def pictures(text):
    """Return the pictures of a page as svg."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', text)
    return [base64.b64decode(each).decode() for each in found]


def test_the_sections_stand_in_their_order_with_the_verdict_first(example):
    found = re.findall(r'<section id="(\w+)"', example)
    assert found == ["verdict", "data", "map", "explorer", "features", "trust", "settings"]


def test_a_comparison_has_its_sentence_then_the_table_then_the_picture_then_all_figures(example):
    places = [
        example.index(text)
        for text in ("Do not oversample", "0.550", "<img", "model = ", "<details><summary>All")
    ]
    assert places == sorted(places)
    drawn = pictures(example)[0]
    for name in ("logistic regression", "counterfactual", "threshold 0.5", "G-mean"):
        assert name in drawn


@pytest.mark.parametrize("name", page.SECTIONS)
def test_every_section_can_stand_alone(name):
    text = render({name: example_summary()[name]})
    assert re.findall(r'<section id="(\w+)"', text) == [name]


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(SummaryError, match="no section that can be shown, got the keys 'title'"):
        render({"title": "Empty"})
    with pytest.raises(SummaryError, match="give what summarise_sampler returns"):
        render({"data": {"file": "table.csv"}})
    with pytest.raises(SummaryError, match="KeyError: 'scores'; give"):
        render({"verdict": {"headline": "x"}, "comparison": {"rows": [{}]}})


def test_the_summary_that_json_held_gives_the_same_page(example):
    assert render(json.loads(json.dumps(example_summary()))) == example


def test_the_policy_admits_our_style_and_our_script_and_nothing_else(example):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', example)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", example, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_nothing_in_the_page_points_outside(example, elements):
    for _, attributes in elements.elements:
        for key in ("src", "href", "action", "xlink:href", "srcset"):
            assert attributes.get(key, "#").startswith(
                ("#", "data:image/svg+xml;base64,", "data:,")
            )
    for text in ("http:", "https:", "@import", "url("):
        assert text not in example


def test_no_style_stands_in_an_attribute(elements):
    assert not any("style" in attributes for _, attributes in elements.elements)


def hostile(value, text):
    """Return a summary with every text in it replaced, keys that are no names included."""
    if isinstance(value, dict):
        return {
            key: cell if key in {"svg", "metric", "threshold"} else hostile(cell, text)
            for key, cell in value.items()
        }
    if isinstance(value, list):
        return [hostile(cell, text) for cell in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_the_summary_becomes_an_element_or_an_attribute(text, elements):
    summary = hostile(example_summary(), text)
    summary["settings"] = {text: [text, {text: text}], "metric": text}
    for row in summary["comparison"]["rows"]:
        row["scores"] = {text: {"mean": 0.5, "low": 0.4, "high": 0.6}}
    made = render(summary)
    found = Elements(made)
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in elements.elements}
    keys = {key for _, attributes in elements.elements for key in attributes}
    assert {key for _, attributes in found.elements for key in attributes} <= keys
    assert found.count("script") == found.count("style") == 1
    shown = "".join(found.text)
    assert (text if text.isprintable() else "]]>&lt;b&gt;&amp;[U+2028][U+2029][U+0000]") in shown
    for drawn in pictures(made):
        assert "onload" not in str([a for _, a in Elements(drawn).elements])
        assert {"script", "img"}.isdisjoint(tag for tag, _ in Elements(drawn).elements)


def test_a_page_of_a_normal_table_is_under_a_megabyte():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5000, 30)), columns=[f"measurement_{m}" for m in range(30)])
    y = np.where(X.sum(axis=1) + rng.normal(size=5000) > 8, "ill", "well")
    sampler = CounterfactualOverSampler(sampling_strategy=0.5, estimator="ridge", random_state=0)
    result = sampler.fit_resample(X, y)
    made = summarise_sampler(sampler, X, y, *result)
    assert len(render(example_summary() | made).encode()) < 1_000_000


def test_the_same_summary_gives_the_same_bytes(example):
    assert render(example_summary()) == example


def test_tables_have_captions_heads_with_scope_and_a_frame_to_scroll_in(example, elements):
    assert elements.count("table") == elements.count("caption") > 5
    framed = re.findall(
        r'<div class="scroll[^>]+tabindex="0"[^>]+aria-label="[^>]+><table', example
    )
    assert len(framed) == elements.count("table")
    for tag, attributes in elements.elements:
        if tag == "th":
            assert attributes["scope"] in {"col", "row"}


def test_every_picture_says_what_it_shows(elements):
    drawn = [attributes for tag, attributes in elements.elements if tag == "img"]
    assert len(drawn) == 2
    assert all(attributes["alt"] for attributes in drawn)


def test_a_result_that_failed_says_why(example):
    assert "failed: no neighbours of another class were found" in example


def test_the_report_is_written_whole_or_not_at_all(tmp_path):
    path = write_report(example_summary(), tmp_path / "report.html")
    whole = path.read_bytes()
    assert whole.endswith(b"</html>\n")
    with pytest.raises(SummaryError):
        write_report({"verdict": {}}, path)
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_failure_while_writing_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(type(path), "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_report(example_summary(), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(("name", "rule"), [("", "must be a file"), ("none/r.html", "exists")])
def test_a_place_that_cannot_be_written_to_is_named(name, rule, tmp_path):
    with pytest.raises(OutputError, match=rule):
        write_report(example_summary(), tmp_path / name)


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_without_what_a_report_needs_the_message_names_the_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install 'counterbalance\[report\]'"):
        render(example_summary())

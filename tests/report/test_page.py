"""The page as text: what it holds, that it is escaped, small, and written whole."""

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from counterbalance import CounterfactualOverSampler
from counterbalance.io.atomic import OutputError
from counterbalance.report import (
    SummaryError,
    as_plain,
    page,
    render,
    summarise_sampler,
    write_report,
)
from counterbalance.report.records import read_page
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


def test_the_sections_stand_in_their_order_with_the_verdict_first(example):
    found = re.findall(r'<section id="(\w+)"', example)
    assert found == [
        "verdict", "data", "comparison", "curves", "map", "explorer", "features", "trust",
        "settings",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name, _, _ in page.SECTIONS])
def test_every_section_can_stand_alone(name):
    keys = {"settings": ("settings", "versions", "reproduce", "cite")}.get(name, (name,))
    whole = example_summary()
    text = render({key: whole[key] for key in keys})
    assert re.findall(r'<section id="(\w+)"', text) == [name]


def test_a_summary_without_a_section_is_refused():
    with pytest.raises(SummaryError, match="no section that can be shown, got the keys 'title'"):
        render({"title": "Empty"})


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
            assert attributes.get(key, "#").startswith(("#", "data:image/svg+xml,"))
    outside = example.replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in outside
    assert "https:" not in outside
    assert "@import" not in outside
    assert "url(" not in outside


def test_no_style_stands_in_an_attribute(elements):
    assert not any("style" in attributes for _, attributes in elements.elements)


def hostile(value, text):
    """Return a summary with every text in it replaced, keys that are no names included."""
    if isinstance(value, dict):
        return {key: hostile(cell, text) for key, cell in value.items()}
    if isinstance(value, list):
        return [hostile(cell, text) for cell in value]
    return text if isinstance(value, str) else value


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_the_summary_becomes_an_element_or_an_attribute(text, elements):
    summary = hostile(example_summary(), text)
    summary["settings"] = {text: [text, {text: text}]}
    summary["versions"] = {text: text}
    for row in summary["comparison"]["rows"]:
        row["scores"] = {text: {"mean": 0.5, "low": 0.4, "high": 0.6}}
    found = Elements(render(summary))
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in elements.elements}
    keys = {key for _, attributes in elements.elements for key in attributes}
    assert {key for _, attributes in found.elements for key in attributes} <= keys
    assert found.count("script") == found.count("style") == 1
    shown = "".join(found.text)
    assert (text if text.isprintable() else "]]>&lt;b&gt;&amp;[U+2028][U+2029]␀?") in shown


def test_a_page_of_a_normal_table_is_under_a_megabyte():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5000, 30)), columns=[f"measurement_{m}" for m in range(30)])
    y = np.where(X.sum(axis=1) + rng.normal(size=5000) > 8, "ill", "well")
    sampler = CounterfactualOverSampler(sampling_strategy=0.5, estimator="ridge", random_state=0)
    X_resampled, y_resampled = sampler.fit_resample(X, y)
    made = summarise_sampler(
        sampler, X, y, X_resampled, y_resampled, alone=True, file="table.csv", target="state"
    )
    summary = example_summary() | {name: part for name, part in as_plain(made).items() if part}
    assert len(render(summary).encode()) < 1_000_000


def test_the_same_summary_gives_the_same_bytes(example):
    assert render(example_summary()) == example


def test_tables_have_captions_and_heads_with_scope(elements):
    assert elements.count("table") == elements.count("caption") > 5
    for tag, attributes in elements.elements:
        if tag == "th":
            assert attributes["scope"] in {"col", "row"}


def test_every_plot_has_a_title_and_a_description(elements):
    ids = [attributes["id"] for _, attributes in elements.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    plots = [a for tag, a in elements.elements if tag == "svg" and "plot" in a.get("class", "")]
    described = [a for a in plots if a.get("role") == "img"]
    assert described == plots
    assert len(described) > 20
    for attributes in described:
        for name in attributes["aria-labelledby"].split():
            assert name in ids


def test_the_best_figure_of_each_classifier_is_marked_by_what_is_better():
    comparison = read_page(example_summary()).comparison
    by_name = {metric.name: metric for metric in comparison.metrics}
    for name, key in (
        ("f1", lambda mean: -mean),
        ("brier", lambda mean: mean),
        ("calibration_slope", lambda mean: abs(mean - 1)),
    ):
        best = page.best_rows(comparison, by_name[name])
        assert len(best) == 3
        for place in best:
            row = comparison.rows[place]
            others = [
                other.scores[name].mean
                for other in comparison.rows
                if other.classifier == row.classifier and other.failed is None
            ]
            assert key(row.scores[name].mean) == min(map(key, others))


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": []},
        {"metrics": [{"name": "nowhere", "label": "Nowhere measured"}]},
        {"baseline": "not run"},
    ],
)
def test_a_comparison_with_little_in_it_is_shown_all_the_same(change):
    assert "logistic regression" in render({"comparison": example_summary()["comparison"] | change})


def test_points_without_a_value_are_left_out_of_a_curve():
    (curves,) = example_summary()["curves"][:1]
    text = render({"curves": [curves | {"calibration": [[np.nan, np.nan, 0], [0.2, 0.3, 9]]}]})
    assert "as predicted, 0.100" in text


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


def test_without_jinja_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'counterbalance\[report\]'"):
        render({"verdict": {"headline": "x"}})

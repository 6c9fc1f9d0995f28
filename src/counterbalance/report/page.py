"""Page: a summary as one html file that needs nothing else.

Style and script stand inside the page, and its content security policy admits those two by
their hashes and nothing more: no request leaves it, and no text of the user's table can become
code. Jinja escapes every text, ElementTree every text of a picture.
"""

import base64
import hashlib
import os
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from counterbalance import __version__
from counterbalance.extras import require
from counterbalance.io.atomic import written_whole
from counterbalance.report.plain import (
    Metric,
    Score,
    ScoreTable,
    Summary,
    SummaryError,
    as_plain,
)
from counterbalance.report.plots import (
    classes,
    colour_of,
    draw_calibration,
    draw_intervals,
    draw_map,
    draw_precision_recall,
)
from counterbalance.report.records import Page, read_page
from counterbalance.report.svg import shortened

# Of the sections in their order: the id, the name, and what a summary has if it has the section.
SECTIONS: tuple[tuple[str, str, Callable[[Page], object]], ...] = (
    ("verdict", "Verdict", lambda page: page.verdict),
    ("data", "Data", lambda page: page.data),
    ("comparison", "Comparison", lambda page: page.comparison and page.comparison.rows),
    ("curves", "Curves", lambda page: page.curves),
    ("map", "Map", lambda page: page.map),
    ("explorer", "New rows", lambda page: page.explorer),
    ("features", "Features", lambda page: page.features),
    ("trust", "Trust", lambda page: page.trust),
    ("settings", "Settings", lambda p: p.settings or p.versions or p.cite or p.reproduce),
)


def render(summary: Summary | Mapping[str, Any]) -> str:
    """Return the page of a summary.

    Parameters
    ----------
    summary : Summary, Page or mapping
        What `summarise_sampler` returned or a comparison's summary, or the plain values of one;
        :mod:`counterbalance.report.records` says what it can hold. Each section is optional.

    Returns
    -------
    page : str
        A whole html document, to be written as UTF-8.

    Examples
    --------
    >>> page = render({"title": "Births", "verdict": {"headline": "Do <not> oversample"}})
    >>> "Do &lt;not&gt; oversample" in page
    True
    """
    read = read_page(summary)
    sections = {name: title for name, title, there in SECTIONS if there(read)}
    if not sections:
        raise SummaryError(
            "summary holds no section that can be shown, got the keys "
            f"{', '.join(map(repr, as_plain(summary))) or 'none'}; give it for example a 'verdict'"
        )
    if "verdict" in sections and read.comparison is None:
        sections["verdict"] = "Result"  # nothing was judged
    style, script = _asset("style.css"), _asset("script.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = _templates().get_template("page.html")
    text: str = page.render(
        summary=read,
        sections=list(sections.items()),
        style=style,
        script=script,
        policy=policy,
        version=__version__,
    )
    return text


def write_report(
    summary: Summary | Mapping[str, Any], path: str | os.PathLike[str], like: Path | None = None
) -> Path:
    """Write the page of a summary to ``path``, whole or not at all, and return the path.

    Nobody may read it who may not read the file ``like``.

    See Also
    --------
    counterbalance.report.summarise_sampler : The summary of a balanced table.
    counterbalance.compare.compare : The summary of a comparison.
    """
    target = Path(path)
    page = render(summary)
    with written_whole(target, like=like) as part:
        part.write_text(page, encoding="utf-8", newline="\n")
    return target


def best_rows(comparison: ScoreTable, metric: Metric) -> set[int]:
    """Return the places of the rows that are best of their classifier."""
    best: dict[str, tuple[float, int]] = {}
    for place, row in enumerate(comparison.rows):
        mean = row.mean(metric.name)
        if mean is None:
            continue
        value = metric.better(mean)
        if row.classifier not in best or value > best[row.classifier][0]:
            best[row.classifier] = (value, place)
    return {place for _, place in best.values()}


def _templates() -> Any:
    """Return the environment of the templates."""
    jinja2 = require("jinja2", "a report")
    Markup = require("markupsafe", "a report").Markup

    def picture(draw: Callable[..., str]) -> Callable[..., Any]:
        """Mark what a plot returns as escaped: it is."""
        return lambda *arguments: Markup(draw(*arguments))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("counterbalance.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        best_rows=best_rows,
        classes_of=classes,
        colour_of=colour_of,
        draw_calibration=picture(draw_calibration),
        draw_intervals=picture(draw_intervals),
        draw_map=picture(draw_map),
        draw_precision_recall=picture(draw_precision_recall),
        no_score=Score(),
        asset=Markup,  # our own style and script
    )
    environment.filters.update(
        thousands=lambda number: f"{number:,}",
        figure=_figure,
        percent=lambda share: "—" if share is None else f"{share:.1%}",
        shortened=shortened,
        capital=lambda text: text[:1].upper() + text[1:],
    )
    return environment


def _figure(number: float | None) -> str:
    """Return a number with three decimals, or with three digits if it is large."""
    if number is None:
        return "—"
    return f"{number:.3f}" if abs(number) < 100 else f"{number:.3g}"  # noqa: PLR2004


def _asset(name: str) -> str:
    return files("counterbalance.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

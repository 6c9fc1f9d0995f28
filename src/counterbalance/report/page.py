"""Page: a summary as one self-contained html file.

Style and script are inline. The content security policy allows these two by their hashes, allows
embedded images, and blocks everything else: the page sends no request, and no text of the user's
table can run as code. Jinja escapes every text. A plot is an image, which runs no script.
"""

import base64
import hashlib
import io
import os
import warnings
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from counterbalance import __version__
from counterbalance.displays import ComparisonDisplay
from counterbalance.displays.drawing import shortened, visible
from counterbalance.errors import CounterbalanceError
from counterbalance.extras import require
from counterbalance.io.atomic import written_whole

# The sections in their order: the key in the summary, and the name on the page.
SECTIONS = {
    "verdict": "Result",
    "data": "Data",
    "map": "Map",
    "explorer": "New rows",
    "features": "Features",
    "trust": "Trust",
    "settings": "Settings",
}
WIDTH, HEIGHT, LEAST_HEIGHT = 7.2, 0.55, 2.2  # inches
# Text stays text in the svg, and the same rows give the same bytes.
SVG = {"svg.fonttype": "none", "svg.hashsalt": "counterbalance", "font.family": "sans-serif"}
RESOLUTION = 110


class SummaryError(CounterbalanceError):
    """A summary lacks values that the page needs."""


def render(summary: Mapping[str, Any]) -> str:
    """Return the page of a summary.

    Parameters
    ----------
    summary : mapping
        What `summarise_sampler` returned, the summary of a comparison, or both in one. Each
        section is optional.

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
    jinja2 = require("jinja2", "a report")
    sections = [(name, title) for name, title in SECTIONS.items() if summary.get(name)]
    if not sections:
        raise SummaryError(
            "summary holds no section that can be shown, got the keys "
            f"{', '.join(map(repr, summary)) or 'none'}; give it for example a 'verdict'"
        )
    style, script = _asset("style.css"), _asset("script.js")
    try:
        text: str = _template(jinja2).render(
            summary={"title": "counterbalance report", **summary},
            sections=sections,
            scores=_scores(summary),
            style=style,
            script=script,
            policy=(
                f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
                "img-src data:; base-uri 'none'; form-action 'none'"
            ),
            version=__version__,
        )
    except (jinja2.UndefinedError, TypeError, KeyError) as error:
        raise SummaryError(
            f"summary cannot be shown, {type(error).__name__}: {error}; give what "
            "summarise_sampler returns, or the summary of a comparison"
        ) from error
    return text


def write_report(
    summary: Mapping[str, Any], path: str | os.PathLike[str], like: Path | None = None
) -> Path:
    """Write the page of a summary to ``path``, whole or not at all, and return the path.

    Users who may not read the file ``like`` may not read the page.

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


def as_svg(draw: Callable[[Any], object], height: float) -> str:
    """Return the plot of a function that draws on axes, as svg."""
    matplotlib = require("matplotlib", "a report", "report")
    figure = require("matplotlib.figure", "a report", "report").Figure
    buffer = io.StringIO()
    with matplotlib.rc_context(SVG), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the browser has the glyphs that matplotlib lacks
        drawn = figure((WIDTH, height), layout="constrained")
        draw(drawn.subplots())
        drawn.savefig(
            buffer, format="svg", dpi=RESOLUTION, metadata={"Date": None}, transparent=True
        )
    return buffer.getvalue()


def _scores(summary: Mapping[str, Any]) -> str:
    """Return the picture of a comparison: the metric of the verdict for every strategy."""
    compared = summary.get("comparison")
    if not compared or not any(row["scores"] for row in compared["rows"]):
        return ""
    pairs = {(row["strategy"], row["classifier"]) for row in compared["rows"]}
    return as_svg(
        lambda ax: ComparisonDisplay.from_summary(summary, ax=ax),
        max(LEAST_HEIGHT, HEIGHT / 2 * (len(pairs) + 2)),
    )


def _template(jinja2: Any) -> Any:
    """Return the template of the page."""
    markup = require("markupsafe", "a report").Markup
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("counterbalance.report", "templates"),
        autoescape=True,
        finalize=lambda cell: visible(cell) if type(cell) is str else cell,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        thousands=lambda number: f"{number:,}",
        figure=lambda number: "—" if number is None else f"{number:.3f}",
        percent=lambda share: "—" if share is None else f"{share:.1%}",
        shortened=shortened,
        capital=lambda text: text[:1].upper() + text[1:],
        asset=markup,  # our own style and script
        image=lambda svg: f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
    )
    return environment.get_template("page.html")


def _asset(name: str) -> str:
    return files("counterbalance.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

"""The documentation site: ``make docs`` builds it without a network and without a warning."""

import os
import re
import tomllib
import warnings
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

import counterbalance

mpl.use("Agg")
# A plot of the gallery warns on purpose only; what it prints belongs to its page.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "counterbalance"
author = "The counterbalance developers"
copyright = f"{datetime.now(UTC).year}, {author}"  # noqa: A001  (Sphinx's own name)
version = release = counterbalance.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx_sitemap",
    "sphinxext.opengraph",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/*.ipynb", "inventories"]
suppress_warnings = ["config.cache"]  # the gallery's sorting keys cannot be pickled
templates_path = ["_templates"]

# pyproject.toml says where the project and its documentation are.
pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
html_baseurl = pyproject["project"]["urls"]["Documentation"] + "/"
sitemap_url_scheme = "{link}"
sitemap_show_lastmod = False
ogp_site_url = html_baseurl
ogp_image = "_static/one-picture.png"
ogp_description_length = 160
ogp_social_cards = {"enable": False}

# The inventories are in the repository: the build needs no network.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable", "inventories/numpy.inv"),
    "scipy": ("https://docs.scipy.org/doc/scipy", "inventories/scipy.inv"),
    "sklearn": ("https://scikit-learn.org/stable", "inventories/sklearn.inv"),
    "pandas": ("https://pandas.pydata.org/docs", "inventories/pandas.inv"),
    "imblearn": ("https://imbalanced-learn.org/stable", "inventories/imblearn.inv"),
}
numpydoc_xref_param_type = True
numpydoc_xref_ignore = {"optional", "default", "of", "or", "shape", "n_samples", "n_features"}

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/tutorials"],
    "gallery_dirs": ["gallery", "tutorials"],
    "filename_pattern": r"/(plot|tutorial)_",
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,  # its page loads scripts from the network
    "show_memory": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("counterbalance",),
    "remove_config_comments": True,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "counterbalance"
html_static_path = ["_static", "figures/one-picture.png"]
html_math_renderer = "mathml"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
    "logo": {"text": "counterbalance"},
    # A release adds a line to switcher.json; the menu is shown once there are two.
    "switcher": {"json_url": "_static/switcher.json", "version_match": release},
    "check_switcher": False,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"start": [], "the-method": [], "whats-new": []}


def link_to_files(app: Sphinx, docname: str, source: list[str]) -> None:  # noqa: ARG001
    """Make a link to a page of paper/, which is no part of the site, a link to its file."""
    source[0] = re.sub(r"\]\(((\.\./)+paper/)", r"](path:\1", source[0])


def write_inline(translator: nodes.NodeVisitor, node: nodes.math) -> None:
    """Write a formula within a sentence as MathML, which browsers show without a script."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def write_block(translator: nodes.NodeVisitor, node: nodes.math_block) -> None:
    """Write a formula of its own as MathML."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def write_llms_txt(app: Sphinx, exception: Exception | None) -> None:
    """List every page with its title in llms.txt, for language models that read the site."""
    if exception is None and app.builder.format == "html":
        env = app.env
        lines = [f"# {project}", "", f"> {pyproject['project']['description']}", ""]
        lines += [
            f"- [{env.titles[page].astext()}]({html_baseurl}{page}.html)"
            for page in sorted(env.titles)
            if not page.startswith("generated/backreferences")
        ]
        Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def setup(app: Sphinx) -> None:
    """Connect what is done to the source of every page."""
    app.connect("source-read", link_to_files)
    app.connect("build-finished", write_llms_txt)
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))

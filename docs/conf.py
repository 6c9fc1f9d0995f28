"""The documentation site: ``make docs`` builds it without a network and without a warning."""

import os
import re
import warnings
from datetime import UTC, datetime

import matplotlib as mpl
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
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence"]  # no formulas: MathJax comes from the network
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/*.ipynb"]
suppress_warnings = ["config.cache"]  # the gallery's sorting keys cannot be pickled
templates_path = ["_templates"]

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
html_static_path = ["_static"]
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
}
html_context = {"default_mode": "auto"}
html_sidebars = {"start": [], "whats-new": []}


def link_to_files(app: Sphinx, docname: str, source: list[str]) -> None:  # noqa: ARG001
    """Make a link to a page of paper/, which is no part of the site, a link to its file."""
    source[0] = re.sub(r"\]\(((\.\./)+paper/)", r"](path:\1", source[0])


def setup(app: Sphinx) -> None:
    """Connect what is done to the source of every page."""
    app.connect("source-read", link_to_files)

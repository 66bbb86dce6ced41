"""Settings of the documentation; `make docs` builds it, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from sottovoce import __version__

project = "Sottovoce"
release = version = __version__
copyright = "the Sottovoce authors, Apache-2.0"  # noqa: A001
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "formulas"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext", "_static"]
# The benchmark page is written by the benchmark command and may not be there yet.
suppress_warnings = ["toc.empty_glob"]

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

# Backticks in a docstring lead to what they name, where it is documented.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]  # private names, and words such as `x`
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = True
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = "Sottovoce"
html_static_path = ["_static"]
html_css_files = ["sottovoce.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5a8a",
        "color-brand-content": "#0b5a8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cb6e8",
        "color-brand-content": "#6cb6e8",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

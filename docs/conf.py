"""The documentation site: ``sphinx-build -W docs out/site``."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the checkout's own packages

project = "serdes-reach"
author = "the authors of serdes-reach"
copyright = author
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax",
    "sphinxcontrib.bibtex",
]  # fmt: skip
exclude_patterns = ["_build"]
root_doc = "index"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["ref.python"]  # a name that two modules have, in the signature of a third
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
autosummary_generate = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
default_role = "py:obj"
html_theme = "furo"
html_title = "serdes-reach"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path: list[str] = []
nitpicky = False

PACKAGES = ("dsp", "channels", "serdes", "experiments")
STUB = ":orphan:\n\n{name}\n{line}\n\n.. automodule:: {name}\n   :members:\n   :member-order: bysource\n"
LITERAL = re.compile(r"(``.*?``|`[^`]*`)", re.DOTALL)


def modules(app: Any, package: str) -> list[str]:
    """Names of the modules of a package, those of its own packages too, that match ``reference_modules``."""
    found = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    names = sorted(module.name for module in found if not module.name.endswith("__main__"))
    return [name for name in names if fnmatch(name, app.config.reference_modules)]


def write_stubs(app: Any) -> None:
    """One page for each module; pages of modules that have gone are removed."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    wanted = {
        f"{name}.rst": STUB.format(name=name, line="=" * len(name)) for package in PACKAGES for name in modules(app, package)
    }
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def list_modules(app: Any, name: str, source: list[str]) -> None:
    """The table of a package's page."""
    package = name.rpartition("/")[2]
    if name.startswith("reference/") and package in PACKAGES:
        source[0] = source[0].replace("   MODULES\n", "".join(f"   {m}\n" for m in modules(app, package)))


def plain(_: Any, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Docstrings are plain text: what reStructuredText would take for markup is escaped outside of literals and sessions."""
    text = "\n".join(lines)
    if "::\n" not in text:
        lines[:] = "\n\n".join(p if p.lstrip().startswith(">>>") else _escaped(p) for p in text.split("\n\n")).split("\n")


def _escaped(text: str) -> str:
    pieces = LITERAL.split(text)
    pieces[::2] = [re.sub(r"([*|\\]|_(?=[\s.,;:)\]]|$))", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def short_defaults(_: Any, _what: str, _name: str, _thing: object, _options: object, text: str | None, returns: str) -> Any:
    """Defaults that are values with fields of their own as ``Jitter(...)``: in full they would break the signature's lines."""
    while text is not None and (found := re.search(r"= [A-Za-z]\w*\((?!\)|\.\.\.\))", text)):
        depth, end = 1, found.end()
        while depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        text = text[: found.end()] + "..." + text[end - 1 :]
    return None if text is None else (text, returns)


def setup(app: Any) -> dict[str, bool]:
    """Connect the above. ``-D reference_modules=dsp.*`` builds a part of the reference, which is most of the work."""
    app.add_config_value("reference_modules", "*", "env", [str])
    app.connect("builder-inited", write_stubs)
    app.connect("source-read", list_modules)
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-signature", short_defaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Finding and loading the papers' folders."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import FileError, ParameterError
from .figure import Paper


def home() -> Path:
    """The folder of all papers: beside the sources in a checkout, inside an installed package."""
    here = Path(__file__).resolve()
    for folder in (here.parents[3] / "papers", here.parents[1] / "papers"):
        if any(folder.glob("*/run.py")):
            return folder
    raise FileError("the folder 'papers' is neither beside the sources nor in the package")


def names() -> list[str]:
    """The papers, in the order of their publication numbers in this project."""
    order = ("fair-frequency", "node-sampling", "party-marginals", "information-privacy",
             "personal-records")  # fmt: skip
    present = {path.parent.name for path in home().glob("*/run.py")}
    return [name for name in order if name in present] + sorted(present - set(order))


@cache
def load(name: str) -> Paper:
    """The paper of this name; its folder is imported as a package, `run.py` included."""
    if name not in names():
        raise ParameterError(f"there is no paper {name!r}; there are {', '.join(names())}")
    folder = home() / name
    package = "sottovoce_papers." + name.replace("-", "_")
    _import("sottovoce_papers", folder.parent, None)
    _import(package, folder, None)
    module = _import(f"{package}.run", folder, folder / "run.py")
    paper = module.PAPER
    if not isinstance(paper, Paper) or paper.name != name:
        raise ParameterError(f"{folder / 'run.py'} must define PAPER, a Paper named {name!r}")
    return paper


def _import(name: str, folder: Path, file: Path | None) -> Any:
    """A module from a file, or an empty package around a folder."""
    if name in sys.modules:
        return sys.modules[name]
    if file is None:
        spec = importlib.util.spec_from_loader(name, loader=None, is_package=True)
    else:
        spec = importlib.util.spec_from_file_location(name, file)
    if spec is None:
        raise FileError(f"cannot load {folder}")
    if file is None:
        spec.submodule_search_locations = [str(folder)]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if spec.loader is not None:
        spec.loader.exec_module(module)
    return module


def expected(name: str) -> dict[str, Any]:
    """What `expected.json` says: for each figure published numbers, our own, and verdicts."""
    path = home() / name / "expected.json"
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FileError(f"{path} is not JSON: {error}") from error
    figures: dict[str, Any] = content["figures"]
    return figures

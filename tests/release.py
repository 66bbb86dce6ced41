"""``make release-check``: what an upload would be, built, checked and tried on every Python here.

Wheel and sdist are built into build/release/dist; nothing is uploaded. The wheel is built from the
sdist, so that a file which the sdist lacks is noticed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

from .compat import PYTHONS, ROOT, interpreter

FOLDER = ROOT / "build" / "release"
DIST = FOLDER / "dist"
_TEXT = (ROOT / "src/sottovoce/__init__.py").read_text(encoding="utf-8")
VERSION = re.findall('__version__ = "(.+)"', _TEXT)[0]
IN_WHEEL = ("sottovoce/py.typed", "LICENSE")
IN_SDIST = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "tests/smoke.py")


def run(*line: str | Path, where: Path = ROOT) -> None:
    """Run a command; stop where it fails. No sources on the path hide the package."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(word) for word in line], cwd=where, env=clean, check=True)


def environment(python: str, name: str) -> Path:
    """The interpreter of a fresh virtual environment."""
    home = FOLDER / name
    run(python, "-m", "venv", "--clear", home)
    return home / "bin" / "python"


def install(python: Path, *what: str | Path) -> None:
    """Install into an environment."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *what)


def problems() -> list[str]:
    """What keeps these files from being a release."""
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = archive.namelist()
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    faults = [f"the wheel lacks {n}" for n in IN_WHEEL if not any(f.endswith(n) for f in in_wheel)]
    faults += [f"the sdist lacks {name}" for name in IN_SDIST if name not in in_sdist]
    if any(name.startswith("tests/") for name in in_wheel):
        faults.append("the wheel has tests in it")
    if f"version: {VERSION}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        faults.append(f"CITATION.cff is not of version {VERSION}")
    if f"## [{VERSION}]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        faults.append(f"CHANGELOG.md has no section {VERSION}")
    return faults


def main() -> int:
    """Build, check, install and try."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    tools = environment(sys.executable, "tools")
    install(tools, "--no-deps", "--require-hashes", "--requirement", "requirements-release.lock")
    run(tools, "-m", "build", "--outdir", DIST)
    run(tools, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    faults = problems()
    for problem in faults:
        print(f"problem: {problem}")
    wheel = next(DIST.glob("*.whl"))
    tried = []
    for name in PYTHONS:
        place = interpreter(name)
        if place is None:
            print(f"not found: {name}")
            continue
        python = environment(place, name)
        install(python, f"{wheel}[files,xlsx]")
        run(python, ROOT / "tests" / "smoke.py", VERSION, where=FOLDER)
        tried.append(name)
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    claimed = [c for c in needed["project"]["classifiers"] if c.count("::") == 2 and " 3." in c]
    print(f"tried on {', '.join(tried)}; {len(claimed)} versions of Python are claimed")
    return 1 if faults or not tried else 0


if __name__ == "__main__":
    sys.exit(main())

"""``make compat``: the fast tests on every Python that is found, and with the oldest dependencies.

Each environment is made anew under build/compat. Exact versions are those that pip finds; the
oldest ones are the lower bounds of pyproject.toml, as constraints.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "compat"
PYTHONS = ("python3.11", "python3.12", "python3.13")
FAST = ("tests/core", "tests/vectors", "tests/cli/test_randomise.py", "tests/cli/test_ledger.py")
_LOWER = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def lower_bounds() -> list[str]:
    """The oldest version of each dependency that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *(one for name in extras for one in extras[name])]
    bounds = (_LOWER.match(requirement) for requirement in listed)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


def works(python: str) -> bool:
    """Whether an interpreter is there (a shim of an absent one fails) and has venv."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def run(python: str, name: str, constraints: list[str]) -> bool:
    """Make an environment and run the fast tests in it."""
    print(f"--- {name}: {python}", flush=True)
    home = FOLDER / name
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    own = str(home / "bin" / "python")
    listed = home / "constraints.txt"
    listed.write_text("".join(f"{line}\n" for line in constraints), encoding="utf-8")
    pip = [own, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    test = ["pytest", "hypothesis", "polars"]
    given = ["--constraint", str(listed), "--editable", f"{ROOT}[all]", *test]
    if subprocess.run([*pip, *given]).returncode:
        return False
    # Old and new packages deprecate each other's names; only our own warnings count here.
    test = [own, "-m", "pytest", "-q", "-W", "ignore::DeprecationWarning", *FAST]
    return subprocess.run(test, cwd=ROOT).returncode == 0


def main() -> int:
    """Run everything that can be run here."""
    found = [python for python in PYTHONS if works(python)]
    failed = [python for python in found if not run(python, python, [])]
    if found and not run(found[0], "oldest", lower_bounds()):
        failed.append("the oldest dependencies")
    absent = [python for python in PYTHONS if python not in found]
    print(f"passed: {len(found) + 1 - len(failed)}; failed: {failed}; not found: {absent}")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())

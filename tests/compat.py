"""``make compat``: tests on every Python that is installed, and with the oldest dependencies.

Each environment is built anew under build/compat. Exact versions are those that pip chooses; the
oldest ones are the lower bounds of pyproject.toml, as constraints. Arguments name the environments
to run, such as ``python3.12`` or ``oldest``; without any, all of them are run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "compat"
PYTHONS = ("python3.11", "python3.12", "python3.13")
OLDEST = "oldest"
TEST_PACKAGES = ("pytest", "pytest-xdist", "hypothesis", "polars", "mpmath")
#: Slower tests that read what other packages write, besides all fast ones.
SLOWER = ("tests/core", "tests/vectors", "tests/plot")
SLOWER += ("tests/cli/test_randomise.py", "tests/cli/test_ledger.py", "tests/cli/test_receipts.py")
RUNS = (("-m", "fast", "tests"), ("-m", "not fast", *SLOWER))
_LOWER = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def lower_bounds() -> list[str]:
    """The oldest version of each dependency that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(line for name in extras for line in extras[name])]
    bounds = (_LOWER.match(requirement) for requirement in requirements)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


def interpreter(python: str) -> str | None:
    """One that works (a shim of an absent one fails) and has venv: on the path, or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places = [shutil.which(python), *sorted(map(str, pyenv.glob(f"versions/*/bin/{python}")))]
    for place in filter(None, places):
        if subprocess.run([place, "-c", "import venv"], capture_output=True).returncode == 0:
            return place
    return None


def passes(python: str, name: str, constraints: list[str]) -> bool:
    """Build an environment and run the tests in it."""
    print(f"--- {name}: {python}", flush=True)
    home = FOLDER / name
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    interpreter = str(home / "bin" / "python")
    constraint_file = home / "constraints.txt"
    constraint_file.write_text("".join(f"{line}\n" for line in constraints), encoding="utf-8")
    install = [interpreter, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    install += ["--constraint", str(constraint_file), "--editable", f"{ROOT}[all]", *TEST_PACKAGES]
    if subprocess.run(install).returncode:
        return False
    # Old and new packages deprecate each other's names; only our own warnings count here.
    pytest = [interpreter, "-m", "pytest", "-q", "-n", "2", "-W", "ignore::DeprecationWarning"]
    codes = [subprocess.run([*pytest, *arguments], cwd=ROOT).returncode for arguments in RUNS]
    return not any(codes)


def main(names: list[str]) -> int:
    """Run everything that can be run here, or the environments that are named."""
    usable = {python: place for python in PYTHONS if (place := interpreter(python))}
    environments: dict[str, tuple[str, list[str]]] = {
        python: (place, []) for python, place in usable.items()
    }
    if usable:
        environments[OLDEST] = (next(iter(usable.values())), lower_bounds())
    wanted = {name: environments[name] for name in names or environments if name in environments}
    failed = [name for name, (python, bounds) in wanted.items() if not passes(python, name, bounds)]
    absent = [name for name in names or (*PYTHONS, OLDEST) if name not in environments]
    print(f"passed: {len(wanted) - len(failed)}; failed: {failed}; not found: {absent}")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

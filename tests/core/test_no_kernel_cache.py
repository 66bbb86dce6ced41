"""An installation where numba can write no cache works, and says what it costs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce

RELEASE = (
    "import sottovoce as sv, numpy as np;"
    "print(sv.__file__, len(sv.GRR(3, epsilon=1.0).randomise(np.array([0, 1]))))"
)
SUM = (
    "from sottovoce import kernels; import numpy as np;kernels.count.row_sums(np.eye(2, dtype=int))"
)


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Path:
    """A copy of the package in which no cache can be made, not even by root."""
    root = tmp_path_factory.mktemp("installation")
    package = Path(sottovoce.__file__).parent
    shutil.copytree(package, root / "sottovoce", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("", "draw", "count"):
        (root / "sottovoce" / "kernels" / folder / "__pycache__").write_text("no folder")
    return root


def run(code: str, installation: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=installation,
        env={**kept, "PYTHONPATH": str(installation), **environment},
    )


def test_without_any_cache_everything_works_after_one_warning(installation: Path) -> None:
    done = run(RELEASE, installation, HOME="/proc/nobody", PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(installation / "sottovoce" / "__init__.py"), "2"]
    assert "Traceback" not in done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr


@pytest.mark.parametrize("variable", ["HOME", "NUMBA_CACHE_DIR"])
def test_the_users_folder_or_the_named_one_is_used_quietly(
    installation: Path, tmp_path: Path, variable: str
) -> None:
    folders = {"HOME": "/proc/nobody", variable: str(tmp_path)}
    done = run(SUM, installation, **folders)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*row_sums*.nbi"))

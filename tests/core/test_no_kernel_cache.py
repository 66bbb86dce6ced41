"""Where compiled code is kept: nowhere if need be, and never where others could have put it."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import sottovoce
from sottovoce.kernels import cache_folder, compiling

RELEASE = (
    "import sottovoce as sv, numpy as np;"
    "from sottovoce.kernels.compiling import compile_at_once; compile_at_once();"
    "print(sv.__file__, len(sv.GRR(3, epsilon=1.0).randomise(np.array([0, 1]))))"
)
SUM = (
    "from sottovoce import kernels; import numpy as np;"
    "print(kernels.count.row_sums(np.ones((300, 300), int)).sum())"
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
    assert (done.returncode, done.stdout, done.stderr) == (0, "90000\n", "")
    assert list(tmp_path.rglob("*row_sums*.nbi"))


class Planted:
    """What an attacker writes: reading it runs a command."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.makedirs, (str(self.mark), 0o755, True)


def test_code_is_not_loaded_from_a_folder_open_to_others(
    installation: Path, tmp_path: Path
) -> None:
    folder, mark = tmp_path / "cache", tmp_path / "mark"
    # pytest's own folders are private, which would be enough.
    everyone = "from sottovoce.kernels import cache_folder as c; c._private = lambda status: False;"
    folders = {"NUMBA_CACHE_DIR": str(folder)}
    assert run(everyone + SUM, installation, **folders).stderr == ""
    (index,) = folder.rglob("*row_sums*.nbi")
    index.write_bytes(pickle.dumps(Planted(mark)))
    run(everyone + SUM, installation, **folders)
    assert mark.exists()  # so it matters who can write there
    mark.rmdir()
    index.write_bytes(pickle.dumps(Planted(mark)))
    folder.chmod(0o777)
    done = run(everyone + SUM, installation, **folders)
    assert (done.returncode, done.stdout) == (0, "90000\n"), done.stderr
    assert not mark.exists()
    assert done.stderr.count(f"other users can write to {folder}") == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below one for everyone with the sticky bit, as in /tmp."""
    monkeypatch.setattr(cache_folder, "_private", lambda status: False)  # pytest's own folders are
    monkeypatch.setattr(cache_folder, "_own_group", lambda group: False)
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True)
    (shared / "own").chmod(0o755)
    shared.chmod(0o1777)
    return shared / "own"


def problem(folder: Path) -> str:
    cache_folder.others_can_write.cache_clear()
    return cache_folder.others_can_write("/elsewhere/sums.py", str(folder))


def test_a_folder_of_ones_own_is_safe(folder: Path) -> None:
    (folder / "a.nbi").touch(0o644)
    assert problem(folder) == ""


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_others_may_not_write_to_it(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    assert problem(folder) == f"other users can write to {folder}"
    inner = folder / "inner"
    inner.mkdir(0o755)
    assert bool(problem(inner)) is (mode != 0o1777)  # sticky: it cannot be exchanged


def test_others_may_not_have_written_to_it(folder: Path) -> None:
    file = folder / "a.1.nbc"
    file.touch()
    file.chmod(0o666)
    assert problem(folder) == f"other users can write to {file}"


def test_it_may_not_belong_to_somebody_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_mine", lambda status: status.st_ino != folder.stat().st_ino)
    assert problem(folder) == f"{folder} belongs to another user"


def test_a_link_is_followed(folder: Path, tmp_path: Path) -> None:
    folder.chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert problem(link) == f"other users can write to {folder}"


def test_a_link_that_others_can_exchange_is_refused(folder: Path, tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    (open_folder / "link").symlink_to(folder)
    assert problem(open_folder / "link") == f"other users can write to {open_folder}"
    (tmp_path / "second").symlink_to(open_folder / "link")  # a link to that link
    assert problem(tmp_path / "second") == f"other users can write to {open_folder}"
    (folder.parent / "third").symlink_to("own")  # relative, below the folder with the sticky bit
    assert problem(folder.parent / "third") == ""


def test_a_link_may_not_belong_to_somebody_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = folder.parent / "link"  # in a folder for everyone, where its owner can exchange it
    link.symlink_to(folder)
    monkeypatch.setattr(cache_folder, "_mine", lambda status: status.st_ino != link.lstat().st_ino)
    assert problem(link) == f"{link} belongs to another user"


def test_a_private_folder_does_not_hide_what_a_link_in_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, other = tmp_path / "private", tmp_path / "other"
    private.mkdir(0o700)
    other.mkdir()
    other.chmod(0o777)
    (private / "link").symlink_to(other)
    number = private.stat().st_ino  # pytest's own folders above are private as well
    monkeypatch.setattr(cache_folder, "_private", lambda status: status.st_ino == number)
    assert problem(private / "link") == f"other users can write to {other}"
    other.chmod(0o755)
    assert problem(private / "link") == ""


def test_the_group_of_one_user_alone_may_write(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o775)
    (folder / "a.nbi").touch()
    (folder / "a.nbi").chmod(0o664)
    assert problem(folder) == f"other users can write to {folder}"
    monkeypatch.setattr(cache_folder, "_own_group", lambda group: True)
    assert problem(folder) == ""
    folder.chmod(0o777)
    assert problem(folder) == f"other users can write to {folder}"


@pytest.mark.parametrize(
    ("group", "name", "members", "users", "private"),
    [
        (1000, "ada", [], [], True),
        (1000, "ada", ["ada"], [], True),
        (1000, "ada", ["ben"], [], False),
        (1000, "ada", [], [("ben", 1000)], False),
        (1000, "users", [], [], False),
        (1001, "ada", [], [], False),
        (0, "ada", [], [], False),
    ],
)
def test_a_private_group_has_one_user(
    group: int, name: str, members: list[str], users: list, private: bool, monkeypatch
) -> None:
    own = SimpleNamespace(pw_name="ada", pw_gid=group if group != 1001 else 1000)
    everyone = [own, *(SimpleNamespace(pw_name=user, pw_gid=gid) for user, gid in users)]
    monkeypatch.setattr("pwd.getpwuid", lambda uid: own)
    monkeypatch.setattr("pwd.getpwall", lambda: everyone)
    monkeypatch.setattr("grp.getgrgid", lambda _: SimpleNamespace(gr_name=name, gr_mem=members))
    cache_folder._own_group.cache_clear()
    try:
        assert cache_folder._own_group(group) is private
    finally:
        cache_folder._own_group.cache_clear()


def test_a_file_that_vanishes_meanwhile_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def vanished(source: str, folder: str) -> str:
        raise FileNotFoundError(folder)

    monkeypatch.setattr(cache_folder, "others_can_write", vanished)
    monkeypatch.setattr(compiling, "_uncached", False)

    @compiling.compiled(interpreted=False)
    def double(x):
        return 2 * x

    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert double(3) == 6


def test_beside_the_source_it_is_as_safe_as_the_source(folder: Path) -> None:
    beside = folder / "__pycache__"
    beside.mkdir()
    beside.chmod(0o777)
    cache_folder.others_can_write.cache_clear()
    assert cache_folder.others_can_write(str(folder / "sums.py"), str(beside)) == ""


def test_inside_a_private_folder_nothing_else_matters(tmp_path: Path) -> None:
    inner = tmp_path / "private" / "open"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o700)
    inner.chmod(0o777)
    assert problem(inner) == ""

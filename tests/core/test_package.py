"""The package as a whole: what importing it loads, and that every public name is there."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sottovoce

HEAVY = ("numba", "scipy", "pyarrow", "matplotlib", "pandas", "polars", "narwhals", "cryptography")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded(code: str) -> list[str]:
    heavy = ", ".join(map(repr, HEAVY))
    return run(f"{code}; import sys; print(*[m for m in ({heavy}) if m in sys.modules])").split()


def test_a_reader_passes_through_few_modules() -> None:
    folder = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.hops"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_loads_nothing_heavy() -> None:
    assert loaded("import sottovoce") == []


def test_looking_up_every_name_loads_nothing_heavy() -> None:
    code = "import sottovoce as sv; [getattr(sv, name) for name in sv.__all__]"
    assert loaded(code) == []


def test_making_a_study_loads_nothing_heavy() -> None:
    code = (
        "import sottovoce as sv;"
        "s = sv.Study('t', (sv.OUE(sv.Attribute('q', ['a', 'b']), epsilon=1.0),));"
        "sv.Study.from_toml(s.to_toml()).digest; str(s.guarantee)"
    )
    assert loaded(code) == []


def test_randomising_loads_only_what_it_needs() -> None:
    code = "import sottovoce as sv; sv.GRR(2, epsilon=1.0).randomise([0, 1])"
    assert set(loaded(code)) <= {"numba", "scipy", "cryptography"}  # numba looks for scipy


def test_columns_of_numbers_in_a_file_do_not_load_pandas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("whole,real\n1,0.5\n3,2.5\n")
    code = (
        "from pyarrow import csv; from sottovoce.domain.columns import as_column;"
        f"table = csv.read_csv({str(tmp_path / 'a.csv')!r});"
        "assert as_column(table['whole']).numbers().tolist() == [1.0, 3.0];"
        "assert as_column(table['real']).numbers().tolist() == [0.5, 2.5]"
    )
    assert "pandas" not in loaded(code)


def test_every_public_name_is_there() -> None:
    for name in sottovoce.__all__:
        assert getattr(sottovoce, name) is not None
        assert name in dir(sottovoce)
    assert len(sottovoce.__all__) == len(set(sottovoce.__all__))


def test_public_names_are_documented() -> None:
    for name in sottovoce.__all__:
        value = getattr(sottovoce, name)
        if not name.startswith("__"):
            assert value.__doc__, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = sottovoce.nothing_of_the_kind
    from sottovoce import kernels

    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = kernels.draw.nothing_of_the_kind


def test_no_room_shares_a_name_with_a_public_function() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(sottovoce.__path__)}
    shared = rooms & {*sottovoce.__all__}
    assert all(isinstance(getattr(sottovoce, name), ModuleType) for name in shared), shared


def test_every_kernel_is_found() -> None:
    from sottovoce.kernels import count, draw

    assert set(draw.__all__) == set(draw._HOME)
    assert set(count.__all__) == set(count.COMPILED)
    for name in draw.__all__:
        assert callable(getattr(draw, name))
    for name in count.__all__:
        assert callable(count.kernel(name))


def test_errors_have_one_root_and_the_builtin_they_stand_for() -> None:
    from sottovoce import errors

    kinds = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, Exception)]
    warnings = [kind for kind in kinds if issubclass(kind, Warning)]
    kinds = [kind for kind in kinds if kind not in warnings]
    assert len(kinds) > 8
    for kind in kinds:
        assert issubclass(kind, errors.SottovoceError)
        assert kind.__name__ in (errors.__doc__ or "")
        assert kind is errors.SottovoceError or issubclass(kind, (ValueError, OSError, ImportError))


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert sottovoce.__version__ == version("sottovoce")

"""Reading from an object store: S3, as a local server plays it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.collect import counting
from sottovoce.errors import FileError, MergeError, SkippedWarning

from .datasets import dataset

pytest.importorskip("flask_cors", reason="the server of moto is not installed")
fs = pytest.importorskip("pyarrow.fs")


@pytest.fixture(scope="session")
def options() -> Iterator[str]:
    """What follows an address, so that it leads to a server here."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "someone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "something")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield f"?endpoint_override=http%3A%2F%2F127.0.0.1%3A{port}&region=us-east-1"
    server.stop()


@pytest.fixture(scope="session")
def bucket(options, tmp_path_factory):
    """A collection, and a bucket with a data set of it; its total, and another file."""
    collection = sv.Levels.of(sv.OUE, 12, {"strong": 0.5, "weak": 2.0})
    folder = tmp_path_factory.mktemp("store")
    whole = dataset(folder, collection)
    store, _ = fs.FileSystem.from_uri(f"s3://reports/x{options}&allow_bucket_creation=true")
    store.create_dir("reports")
    fs.copy_files(str(folder), "reports/june", destination_filesystem=store)
    return collection, whole, folder


@pytest.fixture
def small(monkeypatch) -> None:
    monkeypatch.setattr(counting, "_WHOLE", 0)
    monkeypatch.setattr(counting, "part_rows", lambda collection: 200)


def test_a_folder_of_a_bucket(bucket, options, small) -> None:
    collection, whole, _ = bucket
    total = sv.scale.aggregate(collection, f"s3://reports/june{options}")
    assert total.to_bytes() == whole.to_bytes()


def test_patterns_and_names_of_a_bucket(bucket, options) -> None:
    collection, whole, folder = bucket
    parts = ["s3://reports/*/date=2025-06-0[12]/*", "s3://reports/june/earlier.sva"]
    assert sv.scale.aggregate(collection, [part + options for part in parts]) == whole
    assert sv.scale.aggregate(collection, f"s3://reports/**{options}") == whole
    one = sv.scale.aggregate(collection, f"s3://reports/june/**/*.parquet{options}")
    assert one == sv.scale.aggregate(collection, folder / "date=2025-06-02")
    counts = folder.parent / "one.sva"
    one.save(counts)
    with pytest.raises(MergeError, match=r"the reports in .* give the counts"):
        sv.scale.aggregate(collection, [f"s3://reports/june/**/*.parquet{options}", counts])


def test_objects_with_any_name(options, bucket, tmp_path) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    names = ["a b.svr", "at=01 00%3A00/p.svr", "q?1.svr", "h#1.svr", "plus+ä.svr", "c[1].svr"]
    store, _ = fs.FileSystem.from_uri(f"s3://reports/x{options}")
    for k, name in enumerate(names):
        with store.open_output_stream(f"reports/names/{name}") as stream:
            stream.write(collection.randomise([1] * (100 + k)).to_bytes())
    assert sv.scale.aggregate(collection, f"s3://reports/names{options}").reports == 615
    assert sv.scale.aggregate(collection, f"s3://reports/names/*{options}").reports == 615
    for name in ("plus+ä.svr", "plus+%C3%A4.svr"):
        assert sv.scale.aggregate(collection, f"s3://reports/names/{name}{options}").reports == 104


def test_workers_read_from_a_bucket(bucket, options, small, client) -> None:
    collection, whole, _ = bucket
    # The workers were started before, without the name and password of this store.
    login = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "something"}
    client.run(lambda: __import__("os").environ.update(login))
    assert sv.scale.aggregate(collection, f"s3://reports/june{options}", engine=client) == whole


def test_what_is_not_there(bucket, options) -> None:
    collection, whole, _ = bucket
    with pytest.raises(FileError, match=r"missing\.svr"):
        sv.scale.aggregate(collection, f"s3://reports/missing.svr{options}")
    with pytest.raises(FileError, match=r"no file .* matches the pattern"):
        sv.scale.aggregate(collection, f"s3://reports/july/*.svr{options}")
    both = [f"s3://reports/june{options}", f"s3://reports/missing.svr{options}"]
    with pytest.warns(SkippedWarning, match=r"missing\.svr"):
        assert sv.scale.aggregate(collection, both, skip_bad=True) == whole
    for address in (
        *("s3://name:hidden@reports/june", "s3://name%3Ahidden@reports", "s3://name:hidden@rep*"),
        *("s3://reports/june?secret_key=hidden", "s3://reports/*?region=x&session_token=hidden"),
        "https://reports.s3.amazonaws.com/june?X-Amz-Signature=hidden",
    ):
        with pytest.raises(FileError, match="must not contain a password or a key") as error:
            sv.scale.aggregate(collection, address)
        assert "hidden" not in str(error.value)
    for address in ("s3://", "s3://*/june", "s3://rep*/june"):
        with pytest.raises(FileError, match="names no bucket"):
            sv.scale.aggregate(collection, address + options)
    with pytest.raises(FileError, match="gopher"):
        sv.scale.aggregate(collection, "gopher://reports/june/a.svr")


def test_commands_estimate_from_a_bucket(bucket, options, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    study = sv.Study("Work", (sv.GRR(sv.Attribute("commute", ["car", "bike"]), epsilon=1.0),))
    study.save("study.toml")
    store, _ = fs.FileSystem.from_uri(f"s3://reports/x{options}")
    for k in range(2):
        reports = study.mechanism().randomise(["car", "bike"] * (100 + k))
        with store.open_output_stream(f"reports/wave{k}/a.svr") as stream:
            stream.write(reports.to_bytes())
    waves = [f"s3://reports/wave{k}{options}" for k in range(2)]
    usual = ["--study", "study.toml", "--json"]
    said = CliRunner().invoke(main, ["estimate", *waves, *usual])
    assert json.loads(said.stdout)["reports"] == 402
    said = CliRunner().invoke(main, ["compare", *waves, *usual])
    assert [part["reports"] for part in json.loads(said.stdout)["parts"]] == [200, 202]
    said = CliRunner().invoke(main, ["compare", waves[0], waves[0], *usual])
    assert "have the same content" in said.stderr
    said = CliRunner().invoke(main, ["compare", *waves, "--study", "study.toml"])
    assert said.stdout.startswith("Work: commute, wave1 − wave0\n")


def test_nothing_else_is_read_from_a_store_or_written_there(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    study = sv.Study("Work", (sv.GRR(sv.Attribute("commute", ["car", "bike"]), epsilon=1.0),))
    study.save("study.toml")
    Path("answers.csv").write_text("commute\ncar\nbike\n")
    usual = ["--study", "study.toml", "--out"]
    address = "s3://bucket/a.csv"
    for command in (
        ["randomise", address, *usual, "reports.svr"],
        ["randomise", "answers.csv", *usual, address],
        ["randomise", "answers.csv", "--study", address, "--out", "reports.svr"],
    ):
        said = CliRunner().invoke(main, command)
        assert said.exit_code == 1
        assert f"'{address}' is an address of an object store" in said.stderr
        hidden = [word.replace("//", "//name:hidden@") for word in command]
        said = CliRunner().invoke(main, hidden)
        assert "must not contain a password" in said.stderr
        assert "hidden" not in said.stderr
    with pytest.raises(FileError, match="name a file here"):
        study.mechanism().aggregate(study.mechanism().randomise(["car"])).save(address)
    Path("s3:/bucket").mkdir(parents=True)  # a folder of this name is as good as any
    said = CliRunner().invoke(main, ["randomise", "answers.csv", *usual, "s3:/bucket/a.svr"])
    assert said.exit_code == 0, said.stderr
    assert Path("s3:/bucket/a.svr").exists()

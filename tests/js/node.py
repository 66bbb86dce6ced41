"""Runs the client in one process of Node for a whole batch of requests."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from sottovoce.contract.collection import Collection
from sottovoce.service.contract_for_clients import describe_collection

DRIVER = Path(__file__).with_name("driver.mjs")
OLDEST = 20


class JavaScriptError(Exception):
    """The client refused; the first word is the kind of error."""


@cache
def node() -> str:
    """Node of the system where it is new enough, else the one that Playwright brings."""
    system = shutil.which("node")
    if system is not None:
        said = subprocess.run([system, "--version"], capture_output=True, text=True, check=True)
        if int(said.stdout.strip().lstrip("v").split(".")[0]) >= OLDEST:
            return system
    import playwright

    return str(Path(playwright.__file__).parent / "driver" / "node")


def run(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The client's answers, in order: `ok`, or `error` and `message`."""
    lines = "\n".join(json.dumps(request) for request in requests)
    done = subprocess.run([node(), str(DRIVER)], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def ask(command: str, **request: Any) -> Any:
    """One answer; a refusal becomes an exception."""
    (answer,) = run([{"command": command, **request}])
    if "error" in answer:
        raise JavaScriptError(f"{answer['error']}: {answer['message']}")
    return answer["ok"]


def of(collection: Collection) -> dict[str, Any]:
    """What the client is given of one collection."""
    return {"about": describe_collection(collection), "canonical": collection.canonical()}

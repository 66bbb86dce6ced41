"""The endpoint as it is usually written: FastAPI, pydantic, and one row per report in SQLite.

As durable as ours (write-ahead log, synchronous=FULL, an answer after the commit) and as strict
about retries, so that the race is about how it is done and not about what is promised.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from threading import Lock

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

VALUES = 6


class Report(BaseModel):
    """One report."""

    value: int = Field(ge=0, lt=VALUES)


class Submission(BaseModel):
    """A batch with its id."""

    id: str = Field(min_length=32, max_length=32)
    reports: list[Report] = Field(min_length=1, max_length=10_000)


def application(folder: Path) -> FastAPI:
    """The endpoint over a database in a folder."""
    connection = sqlite3.connect(folder / "reports.sqlite", check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE submissions (id TEXT PRIMARY KEY)")
    connection.execute("CREATE TABLE reports (submission TEXT, value INTEGER)")
    guard = Lock()
    app = FastAPI()

    @app.post("/api/v1/reports")
    def take(submission: Submission) -> dict[str, int]:
        rows = [(submission.id, report.value) for report in submission.reports]
        with guard, connection:  # commits
            try:
                connection.execute("INSERT INTO submissions VALUES (?)", (submission.id,))
            except sqlite3.IntegrityError:
                raise HTTPException(409) from None
            connection.executemany("INSERT INTO reports VALUES (?, ?)", rows)
        return {"accepted": len(rows)}

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


if __name__ == "__main__":
    uvicorn.run(
        application(Path(sys.argv[1])),
        port=int(sys.argv[2]),
        log_level="critical",
        access_log=False,
        loop="uvloop",
        http="httptools",
    )

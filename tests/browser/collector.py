"""A collector in a few lines, for the participant's page alone; the service has its own tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sottovoce import Study
from sottovoce.service.contract_for_clients import describe

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "src" / "sottovoce" / "service" / "pages", ROOT / "clients" / "js")
TYPES = {".css": "text/css", ".js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class Collector:
    """What was posted, and how to answer."""

    def __init__(self, study: Study, about: dict[str, str] | None = None, **more: Any) -> None:
        self.study = study
        self.about = {"description": "", "owner": "", **(about or {})}
        self.more = more
        self.contract = describe(study)
        self.posts: list[tuple[bytes, str | None]] = []
        self.status = 200
        self.url = ""

    def study_json(self) -> bytes:
        return json.dumps(
            {
                "study": {"title": self.study.title, **self.about},
                "digest": self.study.digest.hex(),
                "guarantee": self.study.guarantee.as_dict(),
                "client": self.contract,
                "invitation": False,
                "closed": False,
                "bundle": "b" * 64,
                **self.more,
            }
        ).encode()

    def accept(self, body: bytes, code: str | None) -> tuple[int, dict[str, Any]]:
        if self.status != 200:
            return self.status, {"title": "Refused", "detail": "the collector is busy"}
        self.posts.append((body, code))
        receipt = sha256(body).hexdigest()[:32]
        return 200, {"accepted": 1, "refused": [], "receipt": receipt}


@contextmanager
def serving(collector: Collector) -> Iterator[Collector]:
    """The collector at its address, on this machine only."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Quiet."""

        def answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            if self.path == "/":
                page = (FOLDERS[0] / "participant.html").read_bytes()
                self.answer(200, "text/html; charset=utf-8", page)
            elif self.path == "/api/v1/study":
                self.answer(200, "application/json", collector.study_json())
            else:
                name = self.path.rpartition("/")[2]
                files = [folder / name for folder in FOLDERS if (folder / name).is_file()]
                if self.path.startswith("/static/") and files:
                    self.answer(200, TYPES[files[0].suffix], files[0].read_bytes())
                else:
                    self.answer(404, "text/plain", b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, said = collector.accept(body, self.headers.get("Sottovoce-Code"))
            kind = "application/json" if status == 200 else "application/problem+json"
            self.answer(status, kind, json.dumps(said).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}/"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

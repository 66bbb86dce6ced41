"""The files of the pages, fixed when the server starts and addressed by a hash of all of them.

The participant's page is also one file that works without a connection, and cannot make one.
Whoever does not trust the collector's server to serve an honest page takes this file from someone
else, such as a works council that made it from the study and the hash it published. Its policy
forbids every connection: reports are saved to a file, which can be sent from the collector's page
or with ``sottovoce send``.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "pages"
#: In a wheel the participant's module lies among the pages; in a checkout it is here.
_MODULES = Path(__file__).parents[3] / "clients" / "js"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
_IMPORT = re.compile(r'(from|import) "\./([\w-]+\.js)"')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*>')
_SCRIPT = re.compile(r'<script type="module"[^>]*></script>')
_OFFLINE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


class Bundle:
    """All files of the pages by name; `digest` changes with any of them."""

    def __init__(self, folder: Path = PAGES) -> None:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _TYPES)
        if not (folder / "sottovoce.js").exists():
            paths += sorted(_MODULES.glob("*.js"))
        self.files = {path.name: path.read_bytes() for path in paths}
        digest = sha256()
        for name, data in sorted(self.files.items()):
            digest.update(f"{name} {len(data)}\n".encode() + data)
        self.digest = digest.hexdigest()
        #: Where the files are; never the same for other content.
        self.base = f"/static/{self.digest[:16]}/"

    def page(self, name: str) -> bytes:
        """A page, its references to files made to those of this bundle."""
        return self.files[name].replace(b'"/static/', f'"{self.base}'.encode())

    def file(self, digest: str, name: str) -> tuple[bytes, str] | None:
        """(content, type) of a file of this bundle; None if not there."""
        data = self.files.get(name)
        if data is None or digest != self.digest[:16] or name.endswith(".html"):
            return None
        return data, _TYPES[Path(name).suffix]

    def offline(self, about: Mapping[str, Any], contract: Mapping[str, Any]) -> bytes:
        """The participant's page as one file; `about` has what it shows, `contract` the study."""
        modules = {
            f"sottovoce/{name}": _data(_IMPORT.sub(r'\1 "sottovoce/\2"', data.decode()))
            for name, data in self.files.items()
            if Path(name).suffix == ".js"
        }
        head = (
            f'<meta http-equiv="Content-Security-Policy" content="{_OFFLINE_POLICY}">\n'
            f"<style>\n{self.files['participant.css'].decode()}</style>"
        )
        embedded = _json({"study": about, "client": contract, "offline": True})
        scripts = (
            f'<script type="application/json" id="study">{embedded}</script>\n'
            f'<script type="importmap">{_json({"imports": modules})}</script>\n'
            '<script type="module">import "sottovoce/participant.js";</script>'
        )
        page = _STYLE.sub(lambda _: head, self.files["participant.html"].decode())
        return _SCRIPT.sub(lambda _: scripts, page).encode()


def _data(module: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(module.encode()).decode()}"


def _json(about: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(about, ensure_ascii=False).replace("<", "\\u003c")

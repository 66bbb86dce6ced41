"""The participant's page as one file that works without a connection, and cannot make one.

Whoever does not trust the collector's server to serve an honest page takes this file from someone
else, such as a works council that made it from the study and the hash it published. Its policy
forbids every connection: reports are saved to a file, which can be sent from the collector's page
or with ``sottovoce send``.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from ..study import Study
from .contract_for_clients import describe

_IMPORT = re.compile(r'(from|import) "\./([\w-]+\.js)"')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*>')
_SCRIPT = re.compile(r'<script type="module"[^>]*></script>')
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


def offline_page(study: Study, about: dict[str, Any], files: dict[str, bytes]) -> bytes:
    """One file with everything in it.

    Parameters
    ----------
    about : mapping
        Title, description and owner, as the page shows them.
    files : mapping of str to bytes
        The files of the pages by name, the modules of ``clients/js`` among them.
    """
    modules = {
        f"sottovoce/{name}": _data(_IMPORT.sub(r'\1 "sottovoce/\2"', data.decode()))
        for name, data in files.items()
        if Path(name).suffix == ".js"
    }
    contract = {"study": about, "client": describe(study), "offline": True}
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<style>\n{files['participant.css'].decode()}</style>"
    )
    scripts = (
        f'<script type="application/json" id="study">{_json(contract)}</script>\n'
        f'<script type="importmap">{_json({"imports": modules})}</script>\n'
        '<script type="module">import "sottovoce/participant.js";</script>'
    )
    page = _STYLE.sub(lambda _: head, files["participant.html"].decode())
    return _SCRIPT.sub(lambda _: scripts, page).encode()


def _data(module: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(module.encode()).decode()}"


def _json(about: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(about, ensure_ascii=False).replace("<", "\\u003c")

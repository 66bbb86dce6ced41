"""The files of the pages, fixed when the server starts and addressed by a hash of all of them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

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
_BASE = '"/static/'


class Bundle:
    """All files of the pages; `digest` changes with any of them."""

    def __init__(self, folder: Path = PAGES) -> None:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _TYPES)
        if not (folder / "sottovoce.js").exists():
            paths += sorted(_MODULES.glob("*.js"))
        self._files = {path.name: path.read_bytes() for path in paths}
        digest = sha256()
        for name, data in sorted(self._files.items()):
            digest.update(f"{name} {len(data)}\n".encode() + data)
        self.digest = digest.hexdigest()

    @property
    def files(self) -> dict[str, bytes]:
        """Every file by name."""
        return dict(self._files)

    @property
    def base(self) -> str:
        """Where the files are; never the same for other content."""
        return f"/static/{self.digest[:16]}/"

    def page(self, name: str) -> bytes | None:
        """A page, its references to files made to those of this bundle; None if not there."""
        page = self._files.get(name)
        return None if page is None else page.replace(_BASE.encode(), f'"{self.base}'.encode())

    def file(self, digest: str, name: str) -> tuple[bytes, str] | None:
        """(content, type) of a file of this bundle; None if not there."""
        data = self._files.get(name)
        if data is None or digest != self.digest[:16] or name.endswith(".html"):
            return None
        return data, _TYPES[Path(name).suffix]

"""Make the wire vectors in `vectors/v1` again: ``python -m vectors``.

Version 1 is frozen with the first release; from then on `good_` and `bad_` vectors never change,
and a test says so. Only `seeded_` vectors may change with a release: they pin what a seed draws,
not the wire form. `hand_` vectors were written by hand and are never made again.
"""

from __future__ import annotations

from .make import FOLDER, every, text


def main() -> None:
    """Write every vector, and remove those that are no longer made."""
    vectors = {name: text(vector) for name, vector in every()}
    for path in FOLDER.glob("*.json"):
        if path.name not in vectors and not path.name.startswith("hand_"):
            path.unlink()
    for name, content in vectors.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


main()

"""The installed command, and ``python -m sottovoce``, which stands in for it."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def run() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it as quietly as later."""
    try:
        from .cli import main
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(_INTERRUPTED) from None
    main(prog_name="sottovoce")


if __name__ == "__main__":
    run()

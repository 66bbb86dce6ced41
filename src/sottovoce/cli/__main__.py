"""Lets ``python -m sottovoce.cli`` stand in for the installed command."""

from __future__ import annotations

from . import main

if __name__ == "__main__":
    main(prog_name="sottovoce")

"""Lets ``python -m sottovoce`` stand in for the installed command."""

from __future__ import annotations

from .cli import main

if __name__ == "__main__":
    main(prog_name="sottovoce")

"""Where the reports of a collection are kept, of the commands for its owner."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .command import InStudy, gather
from .options import PATH, together

if TYPE_CHECKING:
    from ...service.stores import Store
    from ...study import Study


@dataclass
class Place(InStudy):
    """Where the reports of a collection are kept."""

    store: str | None

    @property
    def address(self) -> str:
        """Of the store; by default a folder beside the study file."""
        return self.store or str(self.study_path.with_suffix(".collection"))

    def command(self, name: str, *words: str | Path) -> str:
        """A command about the same collection, to run next; an address may contain a password."""
        store = self.store if self.store is None or "://" not in self.store else "WHERE"
        where = [] if store is None else ["--store", store]
        return shlex.join([*name.split(), str(self.study_path), *map(str, words), *where])

    @contextmanager
    def open(self, *, create: bool = False) -> Iterator[tuple[Study, Store]]:
        """The study and its store."""
        from ...service.stores import open_store

        with closing(open_store(self.address, self.study.digest, create=create)) as keep:
            yield self.study, keep


study_argument = click.argument("study_path", type=PATH, metavar="STUDY")
store_option = click.option(
    "--store",
    metavar="WHERE",
    help="A folder, or postgresql://…; by default a folder beside the study file.",
)
#: --store WHERE, which together with STUDY says where a collection is.
place_options = together(store_option, gather("place", Place))

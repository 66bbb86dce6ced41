"""Several attributes in order: what a record holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import ParameterError
from .columns import first_few
from .values import Attribute


@dataclass(frozen=True, init=False)
class Schema:
    """Attributes in order, with distinct names."""

    attributes: tuple[Attribute, ...]

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        several = isinstance(attributes, Iterable) and not isinstance(attributes, (str, bytes))
        every = tuple(attributes) if several else (attributes,)
        if not several or not all(isinstance(one, Attribute) for one in every):
            raise ParameterError(
                f"the attributes are {attributes!r}; give a list of them, such as "
                "[Attribute('smokes', ['yes', 'no'])]"
            )
        object.__setattr__(self, "attributes", every)
        if not self.attributes:
            raise ParameterError("a schema needs at least one attribute; none was given")
        names = Counter(attribute.name for attribute in self.attributes)
        twice = sorted(name for name, count in names.items() if count > 1)
        if twice:
            raise ParameterError(f"attribute names must differ; given twice: {first_few(twice)}")

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = first_few([attribute.name for attribute in self.attributes])
        raise ParameterError(f"there is no attribute {name!r}; the schema has {known}")

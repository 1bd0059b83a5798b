"""Whereabouts: where the rows of a DataFrame's source came from, as it was known when a run was saved, so that nobody has to count again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bigdebug.errors import IncompleteLineageError
from bigdebug.model import Origin
from bigdebug.trace.fields import Fields
from bigdebug.trace.origins import Sizes, Split, Stamp


@dataclass(frozen=True)
class Whereabouts:
    """By partition (or file, as rids count them) the file, None for what is in memory, and the number of its first record there.

    ``unit`` is line, row or index: what the records are counted in. ``type`` and what follows are as in SourceFacts. ``name`` is that of this occurrence.
    """

    dataset: str
    name: str
    unit: str
    places: tuple[tuple[str | None, int], ...]
    stamps: tuple[Stamp, ...] = ()
    form: str = ""
    """The format of the files: text, parquet, csv, ...; empty where there are none."""
    fields: Fields | None = None
    """The columns that the program saw; None where they cannot be read of the files alone."""
    type: str = field(default="rows", init=False)
    splits: tuple[Split, ...] = field(default=(), init=False)
    plain: bool = field(default=False, init=False)

    def place(self, partition: int) -> tuple[str | None, int]:
        """The file, and the number of the first record there. Raises IncompleteLineageError where it was not saved."""
        if partition >= len(self.places):
            raise IncompleteLineageError(f"Where records of partition {partition} of {self.dataset} came from was not saved", remedy="Save the run again.")
        return self.places[partition]

    def origins(self, partition: int, positions: Iterable[int], sizes: Sizes | None = None) -> list[Origin]:
        """The origins of records of one partition. Lines count from 1, rows and indices from 0."""
        path, first = self.place(partition)
        count = 1 if self.unit == "line" else 0
        return [Origin(self.dataset, path, **{self.unit: int(position) + first + count}) for position in positions]

    def dump(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset, "name": self.name, "unit": self.unit, "places": self.places, "form": self.form,
            "stamps": [vars(stamp) for stamp in self.stamps], "fields": None if self.fields is None else self.fields.dump(),
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Whereabouts:
        """Raises ValueError, LookupError or TypeError for what is no dump."""
        if data["unit"] not in ("line", "row", "index"):
            raise ValueError(f"records are not counted in {data['unit']!r}")
        places = tuple((None if path is None else str(path), int(first)) for path, first in data["places"])
        fields = None if data.get("fields") is None else Fields.load(data["fields"])
        return cls(str(data["dataset"]), str(data["name"]), data["unit"], places, tuple(Stamp(**s) for s in data["stamps"]), str(data["form"]), fields)

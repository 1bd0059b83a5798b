"""W3C PROV: the lineage of single records as a document (PROV-JSON, PROV-N) that tools of others read. Takes the package ``prov``.

A record is an entity, the run is the activity that made and used them, and what goes back from one to others is ``wasDerivedFrom``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol

from bigdebug.errors import DatasetsError, TooLargeError
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.trace.page import Page
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from prov.model import ProvActivity, ProvDocument, ProvEntity

MOST = 1_000
"""Records of a trace that a document tells of, if nothing else is said: each is a question of its own."""


class Traced(Protocol):
    """What is asked of a trace, over RDDs or DataFrames."""

    run: Run

    def page(self, start: int = 0, num: int = 50) -> Page: ...
    def numbered(self, numbers: Iterable[int]) -> Any: ...


def document(trace: Traced, *, most: int = MOST, values: bool = True) -> ProvDocument:
    """Each record of a trace, and exactly the records of the inputs that it was derived from.

    ``get_provn()`` of it is PROV-N, ``serialize(path, format="json")`` PROV-JSON. Records are told by their values, as far as a reader needs
    them, or without (``values=False``) by their places alone. Rows that only go together are one entity for each, with the same sources. Takes a
    backward question for each record; raises TooLargeError for more than ``most`` of them, and DatasetsError without the package ``prov``.
    """
    page = trace.page(0, most)
    if page.more:
        raise TooLargeError(
            f"The trace names more than {most:,} records, and each is traced by itself", remedy="Narrow it by where(), or raise most=.",
        )
    telling = _Telling(trace.run, values)
    sources: dict[int, list[SourceRecord]] = {}
    for place, (number, row) in enumerate(zip(page.numbers, page.rows)):
        if number not in sources:
            sources[number] = trace.numbered([number]).goBackAll().source_records()
        telling.derived(place, page.names[place] if page.names else "", row, sources[number])
    return telling.document


class _Telling:
    """A document under construction."""

    def __init__(self, run: Run, values: bool) -> None:
        try:
            from prov.model import ProvDocument
        except ImportError as missing:
            raise DatasetsError("W3C PROV takes the package prov, which is not installed", remedy="pip install 'bigdebug[prov]'") from missing
        self._values = values
        self.document = ProvDocument()
        self.document.add_namespace("bigdebug", "urn:bigdebug:")
        self._names = self.document.add_namespace("run", f"urn:bigdebug:run:{run.id}:")
        began = datetime.fromtimestamp(run.began, timezone.utc) if run.began is not None else None
        about = {"prov:label": run.name, "bigdebug:action": run.action, "bigdebug:status": run.status}
        self._run: ProvActivity = self.document.activity(self._names["run"], began, None, {name: text for name, text in about.items() if text})
        self._known: dict[tuple[Any, int], ProvEntity] = {}

    def derived(self, place: int, name: str, row: Any, sources: Iterable[SourceRecord]) -> None:
        """A record that was made, and those that it was made of. ``name`` is its rid, where it has one."""
        made = self.document.entity(self._names[f"made-{place}"], self._about(row, {"bigdebug:name": name} if name else {}))
        self.document.wasGeneratedBy(made, self._run)
        for source in sources:
            self.document.wasDerivedFrom(made, self._source(source), self._run)

    def _source(self, source: SourceRecord) -> ProvEntity:
        """The entity of a record that was read: the same one for all that was made of it."""
        key = (source.origin.dataset if source.source is None else source.source, source.rid)
        if key not in self._known:
            about = {"prov:location": str(source.origin), "bigdebug:dataset": source.origin.dataset, "bigdebug:rid": source.rid}
            self._known[key] = self.document.entity(self._names[f"read-{len(self._known)}"], self._about(source.record, about))
            self.document.used(self._run, self._known[key])
        return self._known[key]

    def _about(self, record: Any, known: dict[str, Any]) -> dict[str, Any]:
        return {"prov:type": "bigdebug:Record", **known, **({"prov:value": shown(record)} if self._values else {})}

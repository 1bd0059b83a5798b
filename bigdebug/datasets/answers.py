"""Answers: a small table of values, with what has to be said besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from bigdebug.datasets.brief import brief
from bigdebug.datasets.model import Access, Process
from bigdebug.shown import masked
from bigdebug.trace.table import Table

_NAMED = ("dataset", "reads", "writes", "job", "by")
"""Columns of datasets and of jobs, which are called by theirs; each cell has one or a tuple of several."""


@dataclass(frozen=True, repr=False)
class Answer:
    """Rows under ``columns``, as values: texts, numbers, times in UTC. Displays as a table; ``toPandas()`` and ``data()`` have the values."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row by its columns."""
        return (dict(zip(self.columns, row)) for row in self.rows)

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        return [row[self.columns.index(name)] for row in self.rows]

    def noting(self, *notes: str) -> Answer:
        """The same, with more to be said."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))

    def table(self) -> Table:
        """As text and as HTML; columns that say nothing are left out, and datasets are called by the last parts of their names."""
        told = [i for i, name in enumerate(self.columns) if not self.rows or any(row[i] not in (None, "", ()) for row in self.rows)]
        named = {i for i in told if self.columns[i] in _NAMED}
        names = brief(name for row in self.rows for i in named for name in _each(row[i]))
        rows = [[_said(tuple(names.get(name, name) for name in _each(row[i])) if i in named else row[i]) for i in told] for row in self.rows]
        return Table([self.columns[i] for i in told], rows, self.notes or ((), ("There are none.",))[not rows], self.title)

    def data(self) -> dict[str, Any]:
        """Ready for JSON, without what is secret; times as ISO 8601."""
        rows = [{name: _plain(value) for name, value in row.items()} for row in self]
        return {"title": masked(self.title), "rows": rows, "notes": list(map(masked, self.notes))}

    def toPandas(self) -> Any:  # noqa: N802 (as PySpark's users type it)
        """The rows as a pandas frame."""
        import pandas

        return pandas.DataFrame.from_records([tuple(map(_listed, row)) for row in self.rows], columns=list(self.columns))

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def told(process: Process) -> Answer:
    """All of a process, a line for each thing."""
    cell = process.cell
    ended = "" if process.ended is None else f" to {when(process.ended)}"
    lines: list[tuple[str, Any]] = [
        ("id", process.id), ("job", process.job), ("sort", process.sort), ("status", process.status), ("error", process.error.strip()),
        ("when", f"{when(process.started)}{ended}"), ("session", process.session), ("run", process.run), ("text", process.text), ("steps not known", process.opaque),
        ("cell", "" if cell is None else f"{cell.notebook} {'' if cell.count is None else f'In[{cell.count}]'}".strip()),
    ]
    lines += [(access.mode, _accessed(access)) for side in (process.reads, process.writes) for access in side]
    lines += [
        ("made of" if edge.column else "rows decided by", f"{edge.output} {edge.column} <- {edge.input} {edge.used} ({edge.how.lower()})")
        for edge in process.columns
    ]
    return Answer(f"Process {process.id}", ("what", "value"), tuple(line for line in lines if line[1]))


def _accessed(access: Access) -> str:
    rows = "" if access.rows is None else f"{access.rows:,} rows"
    size = "" if access.size is None else f"{access.size:,} bytes"
    schema = ", ".join(f"{each.name} {each.type}" for each in access.schema)
    return " ".join(filter(None, (str(access.dataset), rows, size, f"({schema})" if schema else "")))


def when(time: datetime) -> str:
    """A time as people read it, of this machine's zone."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _each(value: Any) -> tuple[str, ...]:
    """The names of a cell."""
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return when(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, str):
        return masked(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

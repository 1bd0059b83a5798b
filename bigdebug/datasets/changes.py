"""Changes: what is different between two runs of a job, or between two schemas. Pure, over what was recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process


class Change(NamedTuple):
    """What is different: of which dataset or column, and what it was and is; None where there was or is none."""

    what: str
    of: str
    before: Any
    after: Any


def changes(before: Process, after: Process) -> list[Change]:
    """What is different between two runs: how they ended, what they read and wrote, with which columns and how many rows, and what columns are made of."""
    return [*_itself(before, after), *_sides(before, after), *_lineage(before.columns, after.columns)]


def schema_change(before: Sequence[Field], after: Sequence[Field]) -> str:
    """What became of a schema, in a line: ``+new int, -old, price: int -> double``. Empty if nothing did, or one is not known."""
    if not before or not after:
        return ""
    old, new = {each.name: each for each in before}, {each.name: each for each in after}
    added = [f"+{name} {new[name].type}" for name in new if name not in old]
    gone = [f"-{name}" for name in old if name not in new]
    changed = [f"{name}: {_typed(old[name])} -> {_typed(new[name])}" for name in new if name in old and _typed(old[name]) != _typed(new[name])]
    kept = [name for name in old if name in new]
    moved = ["columns in another order"] if kept != [name for name in new if name in old] else []
    return ", ".join([*added, *gone, *changed, *moved])


def _typed(field: Field) -> str:
    return f"{field.type}{'' if field.nullable else ' not null'}"


def _itself(before: Process, after: Process) -> Iterator[Change]:
    for what, old, new in (
        ("status", before.status, after.status), ("error", _first_line(before.error), _first_line(after.error)), ("seconds", _seconds(before), _seconds(after)),
        ("text", before.text, after.text), ("steps not known", before.opaque, after.opaque), ("notebook", _notebook(before), _notebook(after)),
    ):
        if old != new and not (what == "seconds" and _alike(old, new)):
            yield Change(what, "", old or None, new or None)


def _sides(before: Process, after: Process) -> Iterator[Change]:
    for side in ("reads", "writes"):
        old, new = _by_dataset(getattr(before, side)), _by_dataset(getattr(after, side))
        for dataset in dict.fromkeys([*old, *new]):
            one, other = old.get(dataset), new.get(dataset)
            if one is None or other is None:
                yield Change(f"{side}", str(dataset), None if one is None else one.mode, None if other is None else other.mode)
                continue
            if one.mode != other.mode:
                yield Change(f"{side}", str(dataset), one.mode, other.mode)
            if said := schema_change(one.schema, other.schema):
                yield Change("columns", str(dataset), f"{len(one.schema)} columns", said)
            for what, was, now in (("rows", one.rows, other.rows), ("bytes", one.size, other.size)):
                if was != now:
                    yield Change(f"{what} {'read' if side == 'reads' else 'written'}", str(dataset), was, now)


def _lineage(before: Sequence[ColumnEdge], after: Sequence[ColumnEdge]) -> Iterator[Change]:
    old, new = _by_column(before), _by_column(after)
    for key in sorted(old.keys() | new.keys(), key=lambda key: (str(key[0]), key[1])):
        was, now = old.get(key, ()), new.get(key, ())
        if was != now:
            dataset, column = key
            yield Change("made of" if column else "rows decided by", f"{dataset}{f' {column}' if column else ''}", ", ".join(was) or None, ", ".join(now) or None)


def _by_dataset(side: Sequence[Access]) -> Mapping[Dataset, Access]:
    return {access.dataset: access for access in side}


def _by_column(edges: Sequence[ColumnEdge]) -> Mapping[tuple[Dataset, str], tuple[str, ...]]:
    found: dict[tuple[Dataset, str], set[str]] = defaultdict(set)
    for edge in edges:
        found[edge.output, edge.column].add(f"{edge.input} {edge.used} ({edge.how})")
    return {key: tuple(sorted(said)) for key, said in found.items()}


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]


def _seconds(process: Process) -> float | None:
    return None if process.ended is None or process.ended < process.started else (process.ended - process.started).total_seconds()


def _alike(one: Any, other: Any) -> bool:
    """Whether times are within half of each other, or both are short: no two runs take the same."""
    return one is not None and other is not None and (max(one, other) < 1 or max(one, other) < 1.5 * min(one, other))


def _notebook(process: Process) -> str:
    return "" if process.cell is None else process.cell.notebook

"""What is wrong with triples in Spark, counted and told by examples as an import into an index tells it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.provgraph.building import circle
from bigdebug.provgraph.cycles import cycles
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.report import EXAMPLES, Findings, triple
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import shown
from bigdebug.spark.provgraph.lookups import few
from bigdebug.spark.provgraph.tables import OTHER, STRANGE, TABLE
from bigdebug.spark.sql.actions import unheard

_MOST = 5_000_000
"""Triples among which cycles are looked for, in the driver: a hundred bytes each, beside texts."""


class Rows:
    """Rows as they were read: how many, which of them are triples, and what is wrong with the others."""

    def __init__(self, read: Any, findings: Findings) -> None:
        self._findings = findings
        texts = [F.col(name) for name, kind in read.dtypes if kind == "string" and name in ("src", "dst", "op")]
        lost = F.col("src").isNull() | F.col("dst").isNull()
        bad = _any(~F.coalesce(F.is_valid_utf8(text), F.lit(True)) for text in texts)
        wrong = {"missing": lost, "malformed": ~lost & bad, "self-loops": ~lost & ~bad & (F.col("src") == F.col("dst"))}
        counts = [F.count(F.when(which, 1)) for which in wrong.values()]
        [[self.count, *found]] = unheard(read.agg(F.count(F.lit(1)), *counts), "collect")
        for (kind, which), count in zip(wrong.items(), found):
            _add(findings, kind, read.where(which), count)
        self.clean = read.where(~_any(wrong.values())) if any(found) else read
        self._triples = self.count - sum(found)

    def repeated(self, edges: int) -> None:
        """Tell of triples that came again, when it is known how many there are."""
        if edges < self._triples:
            again = self.clean.groupBy("src", "dst", "op").count().where("count > 1")
            _add(self._findings, "duplicates", again, self._triples - edges)


def tables_told(items: Any, workflow: Workflow, findings: Findings) -> None:
    """Look at items with the tables that were told of them. Raises ProvenanceError for the name of a table that the workflow does not have."""
    none = F.col(TABLE).isNull()
    [[lost, several, name]] = unheard(items.agg(F.count(F.when(none, 1)), F.count(OTHER), F.max(STRANGE)), "collect")
    if name is not None:
        workflow.place(name)
    if lost:
        rows = unheard(items.where(none).select("item").limit(EXAMPLES), "collect")
        findings.add("no table", lost, (shown(item) for [item] in rows))
    if several:
        rows = unheard(items.where(F.col(OTHER).isNotNull()).select("item", TABLE, OTHER).limit(EXAMPLES), "collect")
        findings.add("two tables", several, (f"{shown(item)} of {_table(workflow, one)} and {_table(workflow, other)}" for item, one, other in rows))


def unlike(triples: Any, items: Any, workflow: Workflow, findings: Findings) -> bool:
    """Look for triples, or operations, that the workflow does not have between their tables. Whether all triples follow it, which has no cycles."""
    if workflow.items is None:
        if len(workflow.operations) == len(workflow.edges) and workflow.edges:
            names = {name for some in workflow.operations.values() for name in some}
            strange = triples.where(~_is_one(triples, names))
            _add(findings, "unknown operations", strange, unheard(strange, "count"))
        return False
    between = _between(triples, items)
    known = F.col("src_place").isNotNull() & F.col("dst_place").isNotNull()
    pair = F.col("src_place").cast("bigint") * len(workflow.tables) + F.col("dst_place")
    made = pair.isin([workflow.pair(*edge) for edge in workflow.edges])
    named = [(workflow.pair(*edge), names) for edge, names in workflow.operations.items()]
    strange = known & _any((pair == number) & ~_is_one(triples, names) for number, names in named)
    odd = {"unmade": known & ~made, "unknown operations": strange}
    [[free, *found]] = unheard(between.agg(*[F.count(F.when(which, 1)) for which in (~known, *odd.values())]), "collect")
    for (kind, which), count in zip(odd.items(), found):
        if count:
            rows = unheard(between.where(which).limit(EXAMPLES), "collect")
            findings.add(kind, count, (f"{triple(*row[:3])} ({_table(workflow, row[3])} -> {_table(workflow, row[4])})" for row in rows))
    return not free and not found[0]


def circles(triples: Any, findings: Findings) -> tuple[str, ...]:
    """Look for cycles among triples that follow no workflow. Returns what was not looked for: ids may leave it open, and the driver take no more."""
    orders = [F.count(F.when(order, 1)) for order in (F.col("src") >= F.col("dst"), F.col("src") <= F.col("dst"))]
    if not all(next(iter(unheard(triples.agg(*orders), "collect")))):
        return ()
    near = few(triples.select("src", "dst"), _MOST)
    if near is None:
        return (f"cycles, for there are more than {_MOST:,} triples, and neither ids nor a workflow show that there are none",)
    index = Index.of_arrays(near["src"], near["dst"])
    found = cycles(index.backward, index.forward)
    findings.add("cycles", found.items, circle(index.ids, found))
    return ()


def _between(triples: Any, items: Any) -> Any:
    """The triples with the places of their tables."""
    for end in ("src", "dst"):
        triples = triples.join(items.select(F.col("item").alias(end), F.col(TABLE).alias(f"{end}_place")), end)
    return triples.select("src", "dst", "op", "src_place", "dst_place")


def _is_one(triples: Any, names: Iterable[Any]) -> Column:
    """Whether the operation is one of these names, None among them; one of another type is none."""
    kind = str if dict(triples.dtypes)["op"] == "string" else int
    told = list(names)
    found = F.coalesce(F.col("op").isin([name for name in told if isinstance(name, kind)]), F.lit(False))
    return found | F.col("op").isNull() if None in told else found


def _any(conditions: Iterable[Column]) -> Column:
    """Whether one of them is true: by halves, for Spark goes down into conditions within conditions by its stack."""
    some = [F.lit(False), *conditions]
    while len(some) > 1:
        some = [one | other for one, other in zip(some[::2], some[1::2])] + (some[-1:] if len(some) % 2 else [])
    return some[0]


def _table(workflow: Workflow, place: int) -> str:
    return shown(workflow.tables[place])


def _add(findings: Findings, kind: str, triples: Any, count: int) -> None:
    if count:
        findings.add(kind, count, (triple(*row[:3]) for row in unheard(triples.limit(EXAMPLES), "collect")))

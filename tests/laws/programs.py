"""Random RDD programs as data: built on any context, and interpreted over lists with the lineage of every record.

The interpreter is the reference: it says what each output was computed from, straight from the meaning of each
operator and independently of how Spark or bigdebug compute it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import strategies as st

Source = tuple[str, int]
Lineage = frozenset[Source]
Traced = list[tuple[Any, Lineage]]


@dataclass(frozen=True)
class Node:
    """One operator: its name, the nodes it reads, and numbers that choose its functions."""

    op: str
    parents: tuple[int, ...]
    a: int = 0
    b: int = 1


@dataclass(frozen=True)
class Program:
    """Sources are lists of small integers, cut into partitions; every other node holds (key, value) pairs."""

    sources: tuple[tuple[tuple[int, ...], int], ...]
    nodes: tuple[Node, ...]

    @property
    def positional(self) -> bool:
        """True if the result depends on where records stand: the interpreter then does not know it."""
        return any(node.op in POSITIONAL for node in self.nodes)

    @property
    def opaque(self) -> bool:
        return any(node.op in OPAQUE for node in self.nodes)


def key(a: int) -> Callable[[Any], Any]:
    """A key from any record: a small integer, a string, None, or a tuple of them."""

    def of(record: Any) -> Any:
        n = weight(record) + a
        return (None, n % 3, f"k{n % 2}", (n % 2, None))[n % 4 if a % 2 else 1]

    return of


def weight(record: Any) -> int:
    """An integer that depends on all of a record; integers stand for themselves."""
    if isinstance(record, int):
        return record
    if record is None:
        return 7
    if isinstance(record, str):
        return sum(map(ord, record))
    return sum((i + 1) * weight(part) for i, part in enumerate(sorted_parts(record))) + 13


def sorted_parts(record: Any) -> list[Any]:
    return list(record) if isinstance(record, tuple) else sorted(record, key=weight)


def total(values: Any) -> int:
    return sum(map(weight, values))


def frozen(value: Any) -> Any:
    """ResultIterables as sorted tuples: the order inside a group is Spark's own affair."""
    return tuple(sorted(value, key=lambda v: (weight(v), repr(v))))


NARROW = ("map", "filter", "flatMap", "mapValues", "flatMapValues", "glom", "each", "eager")
WIDE = ("reduceByKey", "combineByKey", "aggregateByKey", "foldByKey", "groupByKey", "groupBy", "distinct", "partitionBy",
        "repartition", "sortByKey", "sortBy", "repartitionAndSort", "coalesce", "alignedReduce")
BINARY = ("union", "join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin", "cogroup", "subtract", "subtractByKey",
          "intersection", "cartesian", "zip", "alignedUnion", "groupWith", "alignedJoin", "emptyUnion")
POSITIONAL = ("glom", "sample", "zipWithIndex", "zipWithUniqueId", "running", "early", "zip")
OPAQUE = ("running", "early", "each", "eager")
STATEFUL = ("sample", "zipWithIndex", "zipWithUniqueId", "running", "early")


def build(
    program: Program, sc: Any, cached: bool = True, entering: Callable[[Any], Any] = lambda source: source,
) -> tuple[Any, list[Any], list[Any]]:
    """The program on ``sc``: its result, all its RDDs, and its sources, which it reads through ``entering``."""
    sources = [sc.parallelize(list(records), partitions) for records, partitions in program.sources]
    made: list[Any] = [entering(source).map(lambda x: (x % 3, x)) for source in sources]
    for node in program.nodes:
        made.append(apply(node, [made[p] for p in node.parents], cached))
    return made[-1], made, sources


def apply(node: Node, parents: list[Any], cached: bool) -> Any:
    rdd, a, n = parents[0], node.a, node.b
    other = parents[-1]
    of = key(a)
    table: dict[str, Callable[[], Any]] = {
        "map": lambda: rdd.map(lambda r: (of(r), weight(r))),
        "filter": lambda: rdd.filter(lambda r: (weight(r) + a) % 3),
        "flatMap": lambda: rdd.flatMap(lambda r: [(of(r), weight(r) + i) for i in range((weight(r) + a) % 3)]),
        "mapValues": lambda: rdd.mapValues(lambda v: weight(v) + a),
        "flatMapValues": lambda: rdd.flatMapValues(lambda v: [weight(v)] * ((weight(v) + a) % 3)),
        "each": lambda: rdd.mapPartitions(lambda it: ((of(r), weight(r)) for r in it)),
        "eager": lambda: rdd.mapPartitions(lambda it: [(of(r), weight(r)) for r in it]),
        "running": lambda: rdd.mapPartitions(running),
        "early": lambda: rdd.mapPartitions(lambda it: (r for r, _ in zip(it, range(a + 1)))),
        "glom": lambda: rdd.glom().map(lambda rs: (len(rs) % 3, total(rs))),
        "sample": lambda: rdd.sample(False, 0.6, 17 + a),
        "zipWithIndex": lambda: rdd.zipWithIndex().map(lambda ri: (ri[1] % 3, weight(ri[0]))),
        "zipWithUniqueId": lambda: rdd.zipWithUniqueId().map(lambda ri: (ri[1] % 3, weight(ri[0]))),
        "zip": lambda: rdd.map(weight).zip(rdd.map(of)).map(lambda p: (p[1], p[0])),
        "reduceByKey": lambda: rdd.mapValues(weight).reduceByKey(lambda x, y: x + y, n),
        "combineByKey": lambda: rdd.combineByKey(lambda v: [v], lambda vs, v: [*vs, v], lambda x, y: x + y, n).mapValues(total),
        "aggregateByKey": lambda: rdd.aggregateByKey(0, lambda s, v: s + weight(v), lambda x, y: x + y, n),
        "foldByKey": lambda: rdd.mapValues(weight).foldByKey(0, lambda x, y: x + y, n),
        "groupByKey": lambda: rdd.groupByKey(n).mapValues(frozen),
        "groupBy": lambda: rdd.groupBy(of, n).mapValues(total),
        "distinct": lambda: rdd.distinct(n),
        "partitionBy": lambda: rdd.partitionBy(n),
        "repartition": lambda: rdd.repartition(n),
        "coalesce": lambda: rdd.coalesce(n),
        # Not sortByKey(..., weight): PySpark compares keyfunc of a key with keys it has sampled, which may not compare.
        "sortByKey": lambda: rdd.keyBy(weight).sortByKey(a % 2 == 0, n, lambda w: w + 1).values(),
        "sortBy": lambda: rdd.sortBy(weight, a % 2 == 0, n),
        "repartitionAndSort": lambda: rdd.repartitionAndSortWithinPartitions(n, weight, True, weight),
        "union": lambda: rdd.union(other),
        "emptyUnion": lambda: rdd.ctx.union([rdd.ctx.emptyRDD(), rdd.partitionBy(n), other.partitionBy(n)]),
        "alignedUnion": lambda: rdd.partitionBy(n).union(other.partitionBy(n)),
        "alignedReduce": lambda: rdd.partitionBy(n).mapValues(weight).reduceByKey(lambda x, y: x + y, n),
        "alignedJoin": lambda: rdd.partitionBy(n).join(other.partitionBy(n).mapValues(weight), n),
        "join": lambda: rdd.join(other, n), "leftOuterJoin": lambda: rdd.leftOuterJoin(other, n),
        "rightOuterJoin": lambda: rdd.rightOuterJoin(other, n), "fullOuterJoin": lambda: rdd.fullOuterJoin(other, n),
        "cogroup": lambda: rdd.cogroup(other, n).mapValues(lambda g: tuple(map(frozen, g))),
        "groupWith": lambda: rdd.groupWith(other, rdd).mapValues(lambda g: tuple(map(frozen, g))),
        "subtract": lambda: rdd.subtract(other, n), "subtractByKey": lambda: rdd.subtractByKey(other, n),
        "intersection": lambda: rdd.intersection(other),
        "cartesian": lambda: rdd.cartesian(other).map(lambda p: (of(p[0]), weight(p))),
        "cache": lambda: rdd.map(lambda r: r).cache() if cached else rdd.map(lambda r: r),
    }
    return table[node.op]()


def running(records: Any) -> Any:
    """A black box: running totals, so each output really depends on all that came before."""
    sum_ = 0
    for record in records:
        sum_ += weight(record)
        yield (sum_ % 3, sum_)


def interpret(program: Program) -> Traced:
    """The records of the result with what each was computed from."""
    made: list[Traced] = []
    for number, (records, _) in enumerate(program.sources):
        made.append([((x % 3, x), frozenset([(f"s{number}", i)])) for i, x in enumerate(records)])
    for node in program.nodes:
        made.append(meaning(node, [made[p] for p in node.parents]))
    return made[-1]


def _all(group: Traced) -> Lineage:
    return frozenset().union(*(lineage for _, lineage in group))


def _groups(records: Traced) -> dict[Any, Traced]:
    found: dict[Any, Traced] = {}
    for record, lineage in records:
        found.setdefault(record[0], []).append((record[1], lineage))
    return found


def meaning(node: Node, parents: list[Traced]) -> Traced:
    records, other, of, a = parents[0], parents[-1], key(node.a), node.a
    op = node.op
    if op in ("map", "each", "eager"):
        return [((of(r), weight(r)), s) for r, s in records]
    if op == "filter":
        return [(r, s) for r, s in records if (weight(r) + a) % 3]
    if op == "flatMap":
        return [((of(r), weight(r) + i), s) for r, s in records for i in range((weight(r) + a) % 3)]
    if op == "mapValues":
        return [((r[0], weight(r[1]) + a), s) for r, s in records]
    if op == "flatMapValues":
        return [((r[0], weight(r[1])), s) for r, s in records for _ in range((weight(r[1]) + a) % 3)]
    if op in ("reduceByKey", "combineByKey", "aggregateByKey", "foldByKey", "alignedReduce"):
        return [((k, total(v for v, _ in group)), _all(group)) for k, group in _groups(records).items()]
    if op == "groupByKey":
        return [((k, frozen([v for v, _ in group])), _all(group)) for k, group in _groups(records).items()]
    if op == "groupBy":
        groups = _groups([((of(r), r), s) for r, s in records])
        return [((k, total(v for v, _ in group)), _all(group)) for k, group in groups.items()]
    if op == "distinct":
        groups = _groups([((r, None), s) for r, s in records])
        return [(r, _all(group)) for r, group in groups.items()]
    if op in ("partitionBy", "repartition", "coalesce", "sortByKey", "sortBy", "repartitionAndSort", "cache"):
        return records
    if op in ("union", "alignedUnion", "emptyUnion"):
        return records + other
    if op == "cartesian":
        return [((of(x), weight((x, r))), s | t) for (x, s), (r, t) in product(records, other)]
    if op == "alignedJoin":
        other, op = [((k, weight(v)), s) for (k, v), s in other], "join"
    left, right = _groups(records), _groups(other)
    keys = list(dict.fromkeys([*left, *right]))
    none: Traced = [(None, frozenset())]
    if op in ("join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin"):
        lefts = {k: left.get(k, none if op in ("rightOuterJoin", "fullOuterJoin") else []) for k in keys}
        rights = {k: right.get(k, none if op in ("leftOuterJoin", "fullOuterJoin") else []) for k in keys}
        return [((k, (v, w)), s | t) for k in keys for (v, s), (w, t) in product(lefts[k], rights[k])]
    if op in ("cogroup", "groupWith"):
        sides = (left, right) if op == "cogroup" else (left, right, left)
        return [
            ((k, tuple(frozen([v for v, _ in side.get(k, [])]) for side in sides)), _all(left.get(k, []) + right.get(k, [])))
            for k in keys
        ]
    if op == "subtractByKey":
        return [((k, v), s) for k, group in left.items() if k not in right for v, s in group]
    values = {r for r, _ in other}
    if op == "subtract":
        return [(r, s) for r, s in records if r not in values]
    assert op == "intersection", op
    mine, theirs = _groups([((r, None), s) for r, s in records]), _groups([((r, None), s) for r, s in other])
    return [(r, _all(mine[r] + theirs[r])) for r in mine if r in theirs]


OPS = (*(o for o in NARROW if o != "glom"), *WIDE, *(o for o in BINARY if o != "zip"), "cache")


@st.composite
def programs(draw: st.DrawFn, ops: tuple[str, ...] = OPS, most: int = 5) -> Program:
    """Programs of up to ``most`` operators over one or two sources; parents are drawn anew, so diamonds are common."""
    sources = tuple(
        (tuple(draw(st.lists(st.integers(0, 9), max_size=14))), draw(st.integers(1, 5)))
        for _ in range(draw(st.integers(1, 2)))
    )
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, most))):
        op = draw(st.sampled_from(ops))
        last = len(sources) + len(nodes) - 1
        near = st.integers(max(0, last - 2), last)
        parents = (draw(near), draw(st.integers(0, last))) if op in BINARY else (draw(near),)
        nodes.append(Node(op, parents, draw(st.integers(0, 3)), draw(st.integers(1, 4))))
    # The result is the last node; give it everything by ending on it.
    return Program(sources, tuple(nodes))

"""Random SQL over small random tables; and a part of it as data, interpreted over lists with the lineage of every row.

Queries of ``queries()`` give the same rows at each execution: what Spark leaves open (rand, ties, limits without an order, lists
in order of arrival) is not drawn. Some are refused by Spark's analysis all the same; whoever runs them has to expect that.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

# ---- tables ---------------------------------------------------------------------------------------------------------

SCHEMAS = {
    "t": "id int, a int, b int, s string",
    "u": "id int, a int, s string, d double",
    "v": "id int, a int, xs array<int>",
    "w": "a int, b int",
}
"""All but ``w`` have a column that tells their rows apart."""


@dataclass(frozen=True)
class Table:
    """Rows of one of the ``SCHEMAS``; ``kept`` says where: in memory, or in this many Parquet or CSV files."""

    name: str
    rows: tuple[tuple[Any, ...], ...]
    kept: str = "memory"
    files: int = 1

    def frame(self, spark: Any, folder: Path) -> Any:
        """The table as a DataFrame of its own source."""
        schema = SCHEMAS[self.name]
        if self.kept == "memory":
            return spark.createDataFrame(list(self.rows), schema)
        folder.mkdir(parents=True)
        for number in range(self.files):
            part = self.rows[number * len(self.rows) // self.files : (number + 1) * len(self.rows) // self.files]
            _write(folder / f"part-{number}.{self.kept}", self.name, part)
        reader = spark.read.schema(schema)
        return reader.parquet(str(folder)) if self.kept == "parquet" else reader.csv(str(folder), header=True)


def _write(path: Path, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    names = [field.split()[0] for field in SCHEMAS[table].split(", ")]
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([names, *([str(v).replace("nan", "NaN") if isinstance(v, float) else v for v in row] for row in rows)])
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"s": pa.string(), "d": pa.float64(), "xs": pa.list_(pa.int32())}
    columns = {n: pa.array([row[i] for row in rows], kinds.get(n, pa.int32())) for i, n in enumerate(names)}
    pq.write_table(pa.table(columns), path)


SMALL = st.sampled_from([1, 2, 0, 3, 1, 2, 4, None])
TEXT = st.sampled_from(["p", "q", "pq", "p", None])
DOUBLE = st.sampled_from([0.0, -0.0, 1.5, float("nan"), None])
"""Spark takes zeros for equal, and what is no number for equal to itself."""

VALUES = {
    "t": st.tuples(SMALL, SMALL, TEXT), "u": st.tuples(SMALL, TEXT, DOUBLE),
    "v": st.tuples(SMALL, st.lists(SMALL, max_size=3) | st.lists(SMALL, min_size=2, max_size=3) | st.none()), "w": st.tuples(SMALL, SMALL),
}
_BIT = st.integers(0, 1)


@st.composite
def tables(draw: st.DrawFn, names: Sequence[str] = tuple(SCHEMAS), most: int = 7, files: bool = True) -> tuple[Table, ...]:
    made = []
    for name in names:
        values = draw(st.lists(VALUES[name], min_size=0 if draw(st.integers(0, 7)) == 7 else most // 2, max_size=most))
        rows = [value if name == "w" else (i, *value) for i, value in enumerate(values)]
        kept, number = "memory", 1
        if files and draw(st.integers(0, 5)) == 5:
            kept = draw(st.sampled_from(["parquet"] if name == "v" else ["parquet", "csv"]))
            number = draw(st.integers(1, 2))
        made.append(Table(name, tuple(rows), kept, number))
    return tuple(made)


@dataclass(frozen=True)
class Query:
    sql: str
    tables: tuple[Table, ...]


# ---- queries --------------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """How a column is written where it is known, and its type: int, string, double or array."""

    text: str
    kind: str


class Relation(NamedTuple):
    """What stands behind FROM: a name, or a query. ``unique`` are columns that tell its rows apart, if any are known to."""

    body: str
    columns: tuple[Column, ...]
    unique: tuple[str, ...] = ()
    named: bool = False

    @property
    def query(self) -> str:
        return f"select * from {self.body}" if self.named else self.body


_BASES = tuple(
    Relation(
        name,
        tuple(Column(n, "array" if kind.startswith("array") else kind) for n, kind in (f.split() for f in schema.split(", "))),
        () if name == "w" else ("id",),
        named=True,
    )
    for name, schema in SCHEMAS.items()
)

Scope = tuple[Column, ...]


@st.composite
def queries(draw: st.DrawFn, depth: int = 3, files: bool = True) -> Query:
    made = tables(files=files)
    return Query(_Maker(draw).result(draw(st.integers(1, depth))), draw(made))


class _Maker:
    """Draws the parts of one query. ``depth`` is how many blocks may still stand inside of each other."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._count = 0
        self._ctes: list[Relation] = []

    def result(self, depth: int) -> str:
        return self.block(depth).query

    # ---- choices ----------------------------------------------------------------------------------------------

    def one(self, options: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(options))

    def upto(self, most: int) -> int:
        return int(self._draw(st.integers(0, most)))

    def maybe(self, of: int = 2) -> bool:
        return self.upto(of) == of

    def fresh(self, letter: str = "q") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    # ---- relations --------------------------------------------------------------------------------------------

    def relation(self, depth: int) -> Relation:
        if depth <= 0 or self.maybe(3):
            return self.one([*_BASES, *self._ctes, *self._ctes])
        return self.block(depth)

    def block(self, depth: int) -> Relation:
        kinds = (
            self.filtered, self.projected, self.joined, self.grouped, self.joined, self.grouped, self.combined, self.kept,
            self.windowed, self.limited, self.exploded, self.distinct, self.grouping_sets, self.with_cte, self.lateral, self.using,
        )
        made: Relation = self.one(kinds)(depth - 1)
        return made

    def source(self, depth: int, given: Relation | None = None) -> tuple[str, Scope, Relation]:
        """What to write behind FROM, and the columns that are known by it."""
        relation = given or self.relation(depth)
        text, scope = self.named(relation)
        return text, scope, relation

    def named(self, relation: Relation) -> tuple[str, Scope]:
        alias = self.fresh()
        text = relation.body if relation.named else f"({relation.body})"
        return f"{text} {alias}", tuple(Column(f"{alias}.{c.text}", c.kind) for c in relation.columns)

    def filtered(self, depth: int) -> Relation:
        text, scope, below = self.source(depth)
        return below._replace(body=f"select * from {text} where {self.predicate(scope, 2, depth + 1)}", named=False)

    def projected(self, depth: int) -> Relation:
        text, scope, below = self.source(depth)
        chosen = [self.one(scope) for _ in range(1 + self.upto(2))]
        made = [Column(self.value(scope, kind, 2, depth), kind) for kind in ("int", "string") if self.maybe(1)]
        if below.unique and self.maybe(1):
            chosen = [*(c for c in scope if _last(c.text) in below.unique), *chosen]
        where = self.where(scope, depth)
        return self.selected([*chosen, *made], f"{text}{where}", below.unique, below.columns, scope)

    def selected(self, columns: Sequence[Column], rest: str, unique: Sequence[str], known: Sequence[Column], scope: Scope) -> Relation:
        """``select columns from rest``, under names c0, c1, ...; it is unique if all columns are there that were."""
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        names = {scope[i].text: known[i].text for i in range(len(scope))}
        at = {names.get(column.text): f"c{i}" for i, column in reversed(list(enumerate(columns)))}
        kept = tuple(at[name] for name in unique) if all(name in at for name in unique) else ()
        return Relation(f"select {items} from {rest}", tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns)), kept)

    def where(self, scope: Scope, depth: int) -> str:
        return f" where {self.predicate(scope, 1, depth)}" if self.maybe(2) else ""

    def joined(self, depth: int, given: Relation | None = None) -> Relation:
        (left, mine, one), (right, theirs, other) = self.source(depth, given), self.source(depth)
        if self.maybe(4):
            other = one
            right, theirs = self.named(one)
        scope = (*mine, *theirs)
        kind = self.one(["join", "left join", "right join", "full join", "cross join"])
        on = "" if kind == "cross join" else f" on {self.condition(mine, theirs)}"
        columns = [*self.some(mine), *self.some(theirs)] if self.maybe(1) else list(scope)
        text = f"{left} {kind} {right}{on}"
        if self.maybe(4):
            text += f" where {self.predicate(scope, 1, depth)}"
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        tells = [f"{c.text}" for s, r in ((mine, one), (theirs, other)) for c in s if _last(c.text) in r.unique]
        at = {column.text: f"c{i}" for i, column in reversed(list(enumerate(columns)))}
        unique = tuple(at[text] for text in tells) if one.unique and other.unique and all(text in at for text in tells) else ()
        return Relation(f"select {items} from {text}", tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns)), unique)

    def using(self, depth: int) -> Relation:
        (left, mine, one), (right, theirs, other) = self.source(depth), self.source(depth)
        shared = sorted({c for c in one.columns if c.kind != "array"} & {c for c in other.columns if c.kind != "array"})
        if not shared:
            return one if not one.named else self.filtered(depth)
        key = self.one(shared)
        kind = self.one(["join", "left join", "right join", "full join"])
        columns = [Column(key.text, key.kind), *(c for c in (*mine, *theirs) if _last(c.text) != key.text)]
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        return Relation(
            f"select {items} from {left} {kind} {right} using ({key.text})", tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns)),
        )

    def kept(self, depth: int) -> Relation:
        """Semi and anti joins, spelled as joins."""
        (left, mine, one), (right, theirs, _) = self.source(depth), self.source(depth)
        kind = self.one(["left semi join", "left anti join"])
        items = ", ".join(f"{c.text} as {_last(c.text)}" for c in mine)
        return one._replace(body=f"select {items} from {left} {kind} {right} on {self.condition(mine, theirs)}", named=False)

    def condition(self, mine: Scope, theirs: Scope) -> str:
        """A join's condition: mostly with an equality."""
        parts = []
        kind = self.one(["int", "int", "string"])
        if not self.maybe(4):
            parts.append(f"{self.column(mine, kind)} {self.one(['=', '=', '<=>'])} {self.column(theirs, kind)}")
        if not parts or self.maybe(2):
            parts.append(self.predicate((*mine, *theirs), 1, 0))
        return " and ".join(parts)

    def grouped(self, depth: int) -> Relation:
        text, scope, _ = self.source(depth)
        keys = [self.key(scope) for _ in range(self.upto(2))]
        keys = list(dict.fromkeys(keys))
        aggregates = [self.aggregate(scope) for _ in range(1 + self.upto(2))]
        columns = [*keys, *aggregates]
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        sql = f"select {items} from {text}{self.where(scope, depth)}"
        if keys:
            sql += " group by " + ", ".join(key.text for key in keys)
        if self.maybe(3):
            sql += f" having {self.comparison(self.aggregate(scope).text, 'int')}"
        names = tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns))
        return Relation(sql, names, tuple(f"c{i}" for i in range(len(keys))))

    def grouping_sets(self, depth: int) -> Relation:
        text, scope, _ = self.source(depth)
        keys = [c for c in dict.fromkeys(self.one(scope) for _ in range(3)) if c.kind != "array"] or [self.one(scope)]
        sets = {
            "rollup": lambda: f"rollup({', '.join(k.text for k in keys)})",
            "cube": lambda: f"cube({', '.join(k.text for k in keys)})",
            "sets": lambda: f"grouping sets (({keys[0].text}), ({', '.join(k.text for k in keys)}), ())",
        }[self.one(["rollup", "cube", "sets"])]()
        columns = [*keys, Column("cast(grouping_id() as int)", "int"), self.aggregate(scope)]
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        sql = f"select {items} from {text}{self.where(scope, depth)} group by {sets}"
        return Relation(sql, tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns)))

    def distinct(self, depth: int) -> Relation:
        text, scope, _ = self.source(depth)
        columns = self.some(scope)
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        names = tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns))
        return Relation(f"select distinct {items} from {text}{self.where(scope, depth)}", names, tuple(n.text for n in names))

    def combined(self, depth: int) -> Relation:
        kinds = [self.one(["int", "int", "string"]) for _ in range(1 + self.upto(1))]
        operator = self.one(["union all", "union", "except", "intersect", "except all", "intersect all"])
        sides = []
        for _ in range(2):
            text, scope, _ = self.source(depth)
            items = ", ".join(f"{self.column(scope, kind)} as c{i}" for i, kind in enumerate(kinds))
            sides.append(f"(select {items} from {text}{self.where(scope, depth)})")
        names = tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds))
        unique = () if operator.endswith("all") else tuple(n.text for n in names)
        return Relation(f" {operator} ".join(sides), names, unique)

    def windowed(self, depth: int) -> Relation:
        text, scope, below = self.source(depth)
        kept = self.some(scope)
        if below.unique:
            kept = list(dict.fromkeys([*(c for c in scope if _last(c.text) in below.unique), *kept]))
        made = [Column(self.window(scope, below), "int") for _ in range(1 + self.upto(1))]
        return self.selected([*kept, *made], f"{text}{self.where(scope, depth)}", below.unique, below.columns, scope)

    def window(self, scope: Scope, below: Relation) -> str:
        n = self.column(scope, "int")
        by = f"partition by {self.key(scope).text}" if self.maybe(1) else ""
        direction = self.one(["", " desc", " nulls last"])
        kind = self.upto(2 if below.unique else 1)
        if kind == 0:
            function = self.one([f"sum({n})", f"count({n})", "count(*)", f"max({n})"])
            return f"cast({function} over ({by}) as int)"
        if kind == 1:
            function = self.one([f"sum({n})", "rank()", "dense_rank()", f"min({n})", "cast(10 * cume_dist() as int)"])
            function, wrap = ("cume_dist()", "10 * ") if "cume" in function else (function, "")
            frame = "" if function[-2] == "(" else self.one(
                ["", " range between 1 preceding and current row", " range between 1 following and unbounded following"]
            )
            return f"cast({wrap}{function} over ({by} order by {n}{direction}{frame}) as int)"
        order = ", ".join(f"{c.text}{direction}" for c in scope if _last(c.text) in below.unique)
        if self.maybe(1):
            function = self.one(["row_number()", "ntile(2)", f"lag({n}, 1)", f"lead({n}, 2, -1)", "rank()"])
            return f"{function} over ({by} order by {order})"
        function = self.one([f"sum({n})", f"first_value({n})", f"last_value({n})", f"count({n})", f"nth_value({n}, 2)"])
        frame = self.one([
            "rows between unbounded preceding and current row", "rows between 1 preceding and 1 following",
            "rows between 2 preceding and 1 preceding", "rows between current row and unbounded following",
        ])
        return f"cast({function} over ({by} order by {order} {frame}) as int)"

    def limited(self, depth: int) -> Relation:
        text, scope, below = self.source(depth)
        if not below.unique:
            return self.filtered(depth)
        direction = self.one(["", " desc"])
        order = ", ".join(f"{c.text}{direction}" for c in scope if _last(c.text) in below.unique)
        if self.maybe(2):
            order = f"{self.column(scope, 'int')}, {order}"
        offset = f" offset {self.upto(3)}" if self.maybe(2) else ""
        return below._replace(body=f"select * from {text}{self.where(scope, depth)} order by {order} limit {1 + self.upto(4)}{offset}", named=False)

    def exploded(self, depth: int) -> Relation:
        text, scope, _ = self.source(depth)
        arrays = [c.text for c in scope if c.kind == "array"]
        array = self.one(arrays) if arrays else f"array({self.column(scope, 'int')}, {self.column(scope, 'int')})"
        outer = self.one(["", "outer "])
        alias = self.fresh()
        kept = self.some(scope)
        if self.maybe(1):
            columns = [*kept, Column(f"{alias}.e", "int")]
            call = f"explode({array}) {alias} as e"
        else:
            columns = [*kept, Column(f"{alias}.p", "int"), Column(f"{alias}.e", "int")]
            call = f"posexplode({array}) {alias} as p, e"
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        sql = f"select {items} from {text} lateral view {outer}{call}{self.where((*scope, *columns), depth)}"
        return Relation(sql, tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns)))

    def with_cte(self, depth: int) -> Relation:
        inner = self.block(max(depth, 1))
        name = self.fresh("cte")
        self._ctes.append(Relation(name, inner.columns, inner.unique, named=True))
        # Spark loses its way among CTEs that nothing refers to, so one side of the join is this one.
        outer = self.joined(depth, self._ctes[-1])
        self._ctes.pop()
        return outer._replace(body=f"with {name} as ({inner.query}) {outer.body}")

    def lateral(self, depth: int) -> Relation:
        (left, mine, _), (right, theirs, _) = self.source(depth), self.source(depth)
        alias = self.fresh()
        n = self.column(theirs, "int")
        match = f"{self.column(theirs, 'int')} {self.one(['=', '=', '>='])} {self.column(mine, 'int')}"
        what = self.one([f"{n} as z", f"max({n}) as z", "cast(count(*) as int) as z"])
        columns = [*self.some(mine), Column(f"{alias}.z", "int")]
        items = ", ".join(f"{column.text} as c{i}" for i, column in enumerate(columns))
        kind = self.one(["join lateral", "left join lateral"])
        sql = f"select {items} from {left} {kind} (select {what} from {right} where {match}) {alias}"
        return Relation(sql, tuple(Column(f"c{i}", c.kind) for i, c in enumerate(columns)))

    # ---- columns and expressions ------------------------------------------------------------------------------

    def some(self, scope: Scope) -> list[Column]:
        return list(dict.fromkeys(self.one(scope) for _ in range(1 + self.upto(2))))

    def column(self, scope: Scope, kind: str) -> str:
        """A column of that type; a literal if there is none."""
        known = [c.text for c in scope if c.kind == kind]
        return str(self.one(known)) if known else {"int": "1", "string": "'p'"}[kind]

    def key(self, scope: Scope) -> Column:
        if self.maybe(2):
            return Column(f"{self.column(scope, 'int')} % 2", "int") if self.maybe(1) else Column(self.column(scope, "string"), "string")
        return self.one([c for c in scope if c.kind != "array"] or [Column("coalesce(1, 2)", "int")])

    def aggregate(self, scope: Scope) -> Column:
        n, s = self.column(scope, "int"), self.column(scope, "string")
        call = self.one([
            "count(*)", f"sum({n})", f"max({n})", f"count({n})", f"count(distinct {n})", f"sum(distinct {n})", f"min({n})", f"avg({n})",
            f"count(distinct {n}, {s})", f"size(collect_set({n}))", f"max_by({n}, struct({n}, {s}))", f"bool_or({n} > 1)",
        ])
        if self.maybe(4) and "size" not in call:
            call += f" filter (where {self.predicate(scope, 0, 0)})"
        return Column(f"cast({call} as int)", "int")

    def value(self, scope: Scope, kind: str, size: int, depth: int) -> str:
        if size <= 0:
            return self.column(scope, kind)
        if kind == "string":
            return str(self.one([
                self.column(scope, "string"), f"coalesce({self.column(scope, 'string')}, 'r')", f"concat({self.column(scope, 'string')}, 'x')",
                f"cast({self.column(scope, 'int')} as string)",
            ]))
        pick = self.upto(6)
        n, m = self.value(scope, "int", size - 1, depth), self.column(scope, "int")
        if pick == 6 and depth > 0:
            return self.scalar(scope, depth)
        return [
            n, f"({n} + {m})", f"coalesce({n}, 0)", f"nullif({n}, {m})", f"abs({n} - {m})",
            f"case when {self.predicate(scope, 0, 0)} then {n} else {m} end", f"length({self.column(scope, 'string')})",
        ][pick]

    def predicate(self, scope: Scope, size: int, depth: int) -> str:
        pick = self.upto(9)
        if size <= 0 or pick < 3:
            return self.simple(scope)
        if pick >= 6 and depth > 0:
            return self.asking(scope, depth)
        a, b = self.predicate(scope, size - 1, depth), self.predicate(scope, size - 1, depth)
        return [f"({a} and {b})", f"({a} or {b})", f"not ({a})"][pick % 3]

    def simple(self, scope: Scope) -> str:
        kind = self.one(["int", "int", "string"])
        left = self.column(scope, kind)
        pick = self.upto(5)
        if pick == 0:
            return self.comparison(left, kind)
        if pick == 1:
            return f"{left} is {self.one(['', 'not '])}null"
        if pick == 2:
            return f"{left} {self.one(['', 'not '])}in " + {"int": "(1, 2, null)", "string": "('p', 'pq')"}[kind]
        return f"{left} {self.one(['=', '<', '>=', '<>', '<=>'])} {self.column(scope, kind)}"

    def comparison(self, left: str, kind: str) -> str:
        literal = {"int": str(self.upto(4)), "string": "'p'"}[kind]
        return f"{left} {self.one(['>', '=', '<', '<>'])} {literal}"

    def asking(self, scope: Scope, depth: int) -> str:
        """A predicate with a subquery, correlated or not, at times below a NOT with another."""
        if self.maybe(4):
            return f"not ({self.asking(scope, depth - 1)} {self.one(['and', 'or'])} {self.simple(scope)})"
        text, inner, _ = self.source(depth - 1)
        kind = self.one(["int", "int", "string"])
        how = self.one(["in", "not in", "exists", "not exists", "scalar"])
        if how == "scalar":
            return f"{self.column(scope, 'int')} {self.one(['=', '>', '<='])} {self.scalar(scope, depth)}"
        parts = []
        if self.maybe(1) or (how.endswith("exists") and not self.maybe(3)):
            parts.append(f"{self.column(inner, kind)} = {self.column(scope, kind)}")
        if self.maybe(2):
            parts.append(self.predicate(inner, 1, depth - 1))
        elif self.maybe(4) and parts:
            parts.append(self.simple((*inner, *scope)))
        where = f" where {' and '.join(parts)}" if parts else ""
        if how.endswith("exists"):
            return f"{how} (select 1 from {text}{where})"
        return f"{self.column(scope, kind)} {how} (select {self.column(inner, kind)} from {text}{where})"

    def scalar(self, scope: Scope, depth: int) -> str:
        if self.maybe(3):  # a row, or none
            text, inner = self.named(self.one(_BASES[:3]))
            also = f" and {self.simple(inner)}" if self.maybe(1) else ""
            return f"(select {self.column(inner, 'int')} from {text} where {inner[0].text} = {self.column(scope, 'int')}{also})"
        text, inner, _ = self.source(depth - 1)
        compared = self.one(["=", "=", "<"])
        where = f" where {self.column(inner, 'int')} {compared} {self.column(scope, 'int')}" if self.maybe(1) else ""
        if self.maybe(2):
            where += f"{' and' if where else ' where'} {self.simple(inner)}"
        return f"(select {self.aggregate(inner).text} from {text}{where})"


def _last(text: str) -> str:
    return text.rsplit(".", 1)[-1]


# ---- filters, inner joins and groups, as data -----------------------------------------------------------------------

Values = tuple[Any, ...]
Lineage = frozenset[tuple[str, int]]
Traced = list[tuple[Values, Lineage]]
Condition = tuple[Any, ...]
"""``("and", c, d)``, ``("or", c, d)``, ``("not", c)``, ``("null", i)``, or ``(comparison, i, j)`` of two columns."""


@dataclass(frozen=True)
class Step:
    """An operator over integers: ``table`` (its name), ``filter``, ``join``, ``semi`` (an EXISTS), ``explode`` (an array of
    columns), ``group`` (how many keys, what to compute).
    """

    op: str
    parents: tuple[Step, ...] = ()
    condition: Condition = ()
    columns: tuple[int, ...] = ()
    computed: tuple[tuple[str, int], ...] = ()
    table: str = ""

    @property
    def width(self) -> int:
        if self.op == "table":
            return len(_INTEGERS[self.table])
        if self.op == "join":
            return sum(parent.width for parent in self.parents)
        if self.op == "group":
            return len(self.columns) + len(self.computed)
        return self.parents[0].width + (self.op == "explode")


_INTEGERS = {"t": ("id", "a", "b"), "u": ("id", "a"), "w": ("a", "b")}


@st.composite
def exact_programs(draw: st.DrawFn) -> tuple[Step, tuple[Table, ...]]:
    """Programs of filters, inner and semi joins, explodes and groups whose lineage ``meaning`` knows, and their tables."""
    return draw(_steps(draw(st.integers(0, 4)))), draw(tables(tuple(_INTEGERS), 6))


@st.composite
def _steps(draw: st.DrawFn, depth: int) -> Step:
    if depth == 0:
        return Step("table", table=draw(st.sampled_from(list(_INTEGERS))))
    op = draw(st.sampled_from(["filter", "join", "semi", "explode", "group"]))
    below = draw(_steps(depth - 1))
    if op == "filter":
        return Step(op, (below,), draw(_conditions(below.width, 2)))
    if op == "explode":
        return Step(op, (below,), columns=tuple(draw(st.lists(st.integers(0, below.width - 1), min_size=1, max_size=2))))
    if op in ("join", "semi"):
        other = draw(_steps(draw(st.integers(0, min(depth - 1, 1)))))
        equal = ("=", draw(st.integers(0, below.width - 1)), below.width + draw(st.integers(0, other.width - 1)))
        condition = equal if draw(_BIT) else ("and", equal, draw(_conditions(below.width + other.width, 1)))
        return Step(op, (below, other), condition)
    columns = tuple(draw(st.lists(st.integers(0, below.width - 1), max_size=2, unique=True)))
    call = st.tuples(st.sampled_from(["count", "sum", "max", "count distinct"]), st.integers(0, below.width - 1))
    return Step(op, (below,), columns=columns, computed=tuple(draw(st.lists(call, min_size=1, max_size=2))))


@st.composite
def _conditions(draw: st.DrawFn, width: int, size: int) -> Condition:
    column = st.integers(0, width - 1)
    op = draw(st.sampled_from(["=", "<", "null", "not", "and", "or"] if size else ["=", "<", "null"]))
    if op == "null":
        return op, draw(column)
    if op in ("=", "<"):
        return op, draw(column), draw(column)
    inner = [draw(_conditions(width, size - 1)) for _ in range(1 if op == "not" else 2)]
    return (op, *inner)


def sql_of(step: Step, names: Iterator[int] | None = None) -> str:
    names = iter(range(1000)) if names is None else names
    if step.op == "table":
        return f"select {', '.join(f'{n} as c{i}' for i, n in enumerate(_INTEGERS[step.table]))} from {step.table}"
    aliases = [f"q{next(names)}" for _ in step.parents]
    columns = [f"{alias}.c{i}" for alias, parent in zip(aliases, step.parents) for i in range(parent.width)]
    text = [f"({sql_of(parent, names)}) {alias}" for alias, parent in zip(aliases, step.parents)]
    if step.op == "filter":
        return f"select * from {text[0]} where {_text(step.condition, columns)}"
    if step.op == "join":
        items = ", ".join(f"{column} as c{i}" for i, column in enumerate(columns))
        return f"select {items} from {text[0]} join {text[1]} on {_text(step.condition, columns)}"
    if step.op == "semi":
        return f"select * from {text[0]} where exists (select 1 from {text[1]} where {_text(step.condition, columns)})"
    if step.op == "explode":
        array = ", ".join(columns[i] for i in step.columns)
        return f"select * from {text[0]} lateral view explode(array({array})) {aliases[0]}e as c{len(columns)}"
    keys = [columns[i] for i in step.columns]
    calls = [f"{'count(distinct' if how == 'count distinct' else how + '('} {columns[i]})" for how, i in step.computed]
    items = ", ".join(f"{text} as c{i}" for i, text in enumerate([*keys, *calls]))
    return f"select {items} from {text[0]}" + (f" group by {', '.join(keys)}" if keys else "")


def _text(condition: Condition, columns: Sequence[str]) -> str:
    op, *rest = condition
    if op == "null":
        return f"{columns[rest[0]]} is null"
    if op in ("=", "<"):
        return f"{columns[rest[0]]} {op} {columns[rest[1]]}"
    inner = [f"({_text(part, columns)})" for part in rest]
    return f"not {inner[0]}" if op == "not" else f" {op} ".join(inner)


def meaning(step: Step, given: dict[str, Table]) -> Traced:
    """The rows of the result with the rows of the tables that each was computed from."""
    if step.op == "table":
        rows = [row[:3] if step.table == "t" else row[:2] for row in given[step.table].rows]
        return [(row, frozenset([(step.table, i)])) for i, row in enumerate(rows)]
    below = [meaning(parent, given) for parent in step.parents]
    if step.op == "filter":
        return [(row, lineage) for row, lineage in below[0] if _holds(step.condition, row)]
    if step.op == "join":
        return [
            ((*left, *right), one | other)
            for (left, one), (right, other) in product(*below) if _holds(step.condition, (*left, *right))
        ]
    if step.op == "semi":
        matched = [(left, one, [other for right, other in below[1] if _holds(step.condition, (*left, *right))]) for left, one in below[0]]
        return [(left, one.union(*others)) for left, one, others in matched if others]
    if step.op == "explode":
        return [((*row, row[i]), lineage) for row, lineage in below[0] for i in step.columns]
    groups: dict[Values, Traced] = {} if step.columns else {(): []}
    for row, lineage in below[0]:
        groups.setdefault(tuple(row[i] for i in step.columns), []).append((row, lineage))
    return [
        (
            (*key, *(_computed(how, [row[i] for row, _ in group if row[i] is not None]) for how, i in step.computed)),
            frozenset().union(*(lineage for _, lineage in group)),
        )
        for key, group in groups.items()
    ]


def _computed(how: str, values: list[int]) -> int | None:
    if how.startswith("count"):
        return len(set(values) if "distinct" in how else values)
    return (sum if how == "sum" else max)(values) if values else None


def _holds(condition: Condition, row: Values) -> bool | None:
    """In three-valued logic; None is unknown."""
    op, *rest = condition
    if op == "null":
        return row[rest[0]] is None
    if op in ("=", "<"):
        left, right = row[rest[0]], row[rest[1]]
        return None if left is None or right is None else left == right if op == "=" else left < right
    inner = [_holds(part, row) for part in rest]
    if op == "not":
        return None if inner[0] is None else not inner[0]
    decided = op == "or"
    return decided if decided in inner else None if None in inner else not decided

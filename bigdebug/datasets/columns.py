"""Columns: which columns of its sources each column of a query is made of, and which decide over all of them. Pure, over plans as Spark writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from bigdebug.datasets.plans import Tree
from bigdebug.datasets.uses import (
    FILTER,
    GROUP_BY,
    JOIN,
    NOTHING,
    SORT,
    TRANSFORMATION,
    Reader,
    Use,
    Uses,
    done_to,
    union,
)

MODEL = "Model"
"""What the leaf is called that stands for a model."""

VARIABLE = "Variable"
"""And what the leaf is called that stands for a variable of the session."""

_NO_MODELS: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class Made:
    """A column of a result: its number in the plan, its name, and what it is made of."""

    id: int
    name: str
    uses: Uses


@dataclass(frozen=True)
class ColumnLineage:
    """Of a plan: its ``columns``, what decides over all of them (``whole``), its ``leaves`` by the numbers that uses name them by, and the
    names of nodes that are not known (``opaque``). A column that such a node makes is said to be made of all that goes in; where it makes
    none, what it uses is said to decide over all rows. ``views`` says whether the plan reads any.
    """

    columns: tuple[Made, ...]
    whole: Uses
    leaves: tuple[Tree, ...]
    opaque: tuple[str, ...]
    views: bool = False


def columns_of(plan: Tree, to_views: bool = False, models: Mapping[int, str] = _NO_MODELS, variables: Collection[str] = ()) -> ColumnLineage:
    """The lineage of a plan's columns. With ``to_views`` a view is a leaf, and not what it is made of. Columns whose numbers ``models`` has are made by the
    model with that name, too: a leaf ``Model`` with one column without a name. ``variables`` of the session are leaves with a column of their name. Costs some 10 us for each of its nodes and expressions, whatever the data.
    """
    reading = _Reading(to_views, models, variables)
    rows = reading.rows(plan, {})
    return ColumnLineage(rows.columns, rows.whole, tuple(reading.leaves), tuple(dict.fromkeys(reading.opaque)), reading.views)


@dataclass(frozen=True)
class _Rows:
    columns: tuple[Made, ...]
    whole: Uses = NOTHING

    def made(self, columns: Sequence[Made]) -> _Rows:
        return _Rows(tuple(columns), self.whole)

    def decided(self, uses: Uses, how: str) -> _Rows:
        """The same where what is used decides which rows there are, or where they stand."""
        return _Rows(self.columns, self.whole | done_to(uses, how))


@dataclass
class _Reading:
    to_views: bool = False
    models: Mapping[int, str] = field(default_factory=dict)
    variables: Collection[str] = ()
    views: bool = False
    leaves: list[Tree] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    leaf_of: dict[tuple[str, str], int] = field(default_factory=dict)
    """Of models and variables, by what they are and their names."""
    shared: dict[int, _Rows] = field(default_factory=dict)
    """Common table expressions, by number."""

    def __post_init__(self) -> None:
        self.used = Reader(self._subquery, self._variable)

    def rows(self, plan: Tree, outer: Mapping[int, Uses]) -> _Rows:
        """What a plan gives; ``outer`` is what columns mean around a subquery."""
        return plan.folded(lambda tree, below: self._node(tree, below, outer))

    def _subquery(self, plan: Tree, known: Mapping[int, Uses]) -> tuple[list[Uses], Uses]:
        rows = self.rows(plan, known)
        return [made.uses for made in rows.columns], rows.whole

    def _node(self, tree: Tree, below: list[_Rows], outer: Mapping[int, Uses]) -> _Rows:
        known = {**outer, **{made.id: made.uses for rows in below for made in rows.columns}}
        rule = _RULES.get(tree.name)
        if rule is not None:
            return rule(self, tree, below, known)
        if not below:
            return self._leaf(tree)
        self.opaque.append(tree.name)
        return self.opaquely(tree, below, known)

    def _leaf(self, tree: Tree) -> _Rows:
        return self.source(tree, [(each.id, each.fields["name"]) for each in tree.output if each.id is not None])

    def source(self, tree: Tree, named: Iterable[tuple[int, str]]) -> _Rows:
        """What a leaf gives, by the numbers and names of its columns."""
        number = len(self.leaves)
        self.leaves.append(tree)
        return _Rows(tuple(Made(i, name, frozenset({Use(number, name)})) for i, name in named))

    def opaquely(self, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
        """Of a function over rows: each column that it makes is made of all that go in. What makes none may leave rows out, or put them together, by all that
        its expressions use.
        """
        made = [each for name in ("output", "outputAttrs", "resultAttrs", "outputObjAttr") for each in tree.trees(name) if each.id is not None]
        joined = _side_by_side(below)
        if not made:
            return joined.decided(self.used.every(tree.expressions, known), JOIN if len(below) > 1 else FILTER)
        everything = done_to(union(each.uses for each in joined.columns), TRANSFORMATION)
        return joined.made([Made(each.id or 0, each.fields["name"], everything) for each in made])

    def named(self, expressions: Sequence[Tree], known: Mapping[int, Uses]) -> list[Made]:
        return [Made(each.id or 0, each.fields["name"], self._by_model(each, self.used(each, known))) for each in expressions]

    def _by_model(self, expression: Tree, uses: Uses) -> Uses:
        """What is used, and the model that makes a column of it, where it is made."""
        name = self.models.get(expression.id or 0)
        if name is None or expression.name != "Alias":
            return uses
        return uses | {Use(self._leaf_of(MODEL, name), "", TRANSFORMATION)}

    def _variable(self, name: str) -> Uses:
        return frozenset({Use(self._leaf_of(VARIABLE, name), name)}) if name in self.variables else NOTHING

    def _leaf_of(self, kind: str, name: str) -> int:
        if (kind, name) not in self.leaf_of:
            self.leaf_of[kind, name] = len(self.leaves)
            self.leaves.append(Tree(kind, {"name": name}, ()))
        return self.leaf_of[kind, name]


def _side_by_side(below: Sequence[_Rows]) -> _Rows:
    return _Rows(tuple(made for rows in below for made in rows.columns), union(rows.whole for rows in below))


_Rule = Callable[[_Reading, Tree, list[_Rows], Mapping[int, Uses]], _Rows]


def _as_it_is(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[-1]


def _view(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    reading.views = True
    return reading.source(tree, [(made.id, made.name) for made in below[0].columns]) if reading.to_views else below[0]


def _deserialized(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    """Rows as objects of Java's: each is made of what its reader reads."""
    uses = reading.used.every(tree.trees("deserializer"), known)
    return below[0].made([Made(each.id or 0, each.fields["name"], uses) for each in tree.trees("outputObjAttr")])


def _serialized(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[0].made(reading.named(tree.trees("serializer"), known))


def _project(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[0].made(reading.named(tree.trees("projectList"), known))


def _filter(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[0].decided(reading.used.every(tree.trees("condition"), known), FILTER)


def _aggregate(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    grouped = reading.used.every(tree.trees("groupingExpressions"), known)
    return below[0].made(reading.named(tree.trees("aggregateExpressions"), known)).decided(grouped, GROUP_BY)


def _join(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    joined = _side_by_side(below).decided(reading.used.every(tree.trees("condition"), known), JOIN)
    kind = tree.fields.get("joinType") or {}
    name = str(kind.get("object") or kind.get("product-class") or "").rsplit(".", 1)[-1]
    if name.startswith(("LeftSemi", "LeftAnti")):
        return joined.made(below[0].columns)
    if name.startswith("ExistenceJoin"):
        there = done_to(union(made.uses for made in below[1].columns), TRANSFORMATION)
        exists = [Made(each.id or 0, each.fields["name"], there) for each in Tree(name, kind, ()).trees("exists")]
        return joined.made([*below[0].columns, *exists])
    return joined


def _lateral_join(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    right = [reading.rows(each.subquery, known) for each in tree.trees("right") if each.subquery is not None]
    return _side_by_side([*below, *right]).decided(reading.used.every(tree.trees("condition"), known), JOIN)


def _set(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    """Columns of a union are those at the same place."""
    return _Rows(
        tuple(Made(first.id, first.name, union(made.uses for made in each)) for first, *each in zip(below[0].columns, *(rows.columns for rows in below))),
        union(rows.whole for rows in below),
    )


def _compared(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    """Of INTERSECT and EXCEPT: rows of the left side, that are there or not on the right one."""
    both = union(made.uses for rows in below for made in rows.columns)
    return _side_by_side(below).made(below[0].columns).decided(both, FILTER)


def _distinct(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    keys = tree.trees("keys")
    uses = reading.used.every(keys, known) if keys else union(made.uses for made in below[0].columns)
    return below[0].decided(uses, GROUP_BY)


def _sort(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[0].decided(reading.used.every(tree.trees("order"), known), SORT)


def _window(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[0].made([*below[0].columns, *reading.named(tree.trees("windowExpressions"), known)])


def _generate(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    given = done_to(reading.used.every(tree.trees("generator"), known), TRANSFORMATION)
    outputs = tree.trees("generatorOutput")
    parts = [done_to(reading.used.every(each, known), TRANSFORMATION) for each in _generated(tree.trees("generator"), len(outputs))] or [given] * len(outputs)
    rows = below[0].made([*below[0].columns, *(Made(each.id or 0, each.fields["name"], uses) for each, uses in zip(outputs, parts))])
    return rows if tree.fields.get("outer") else rows.decided(given, FILTER)


def _generated(generators: Sequence[Tree], count: int) -> list[Sequence[Tree]]:
    """The expressions that each of so many columns is made of which a generator makes; none if each may be made of all."""
    if len(generators) != 1:
        return []
    (generator,) = generators
    values = generator.below
    if generator.name == "Stack":  # how many rows, then row by row
        return [values[1 + i :: count] for i in range(count)]
    if generator.name not in ("Explode", "PosExplode", "Inline") or len(values) != 1:
        return []
    place: list[Sequence[Tree]] = [()] if generator.name == "PosExplode" else []
    (of,) = values
    if of.name == "CreateMap" and len(place) + 2 == count:
        return [*place, of.below[::2], of.below[1::2]]
    if generator.name == "Inline" and of.name == "CreateArray" and all(each.name == "CreateNamedStruct" and len(each.below) == 2 * count for each in of.below):
        return [[each.below[1 + 2 * i] for each in of.below] for i in range(count)]
    return []


def _expand(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    output, projections = tree.trees("output"), tree.trees("projections")
    if not projections:  # Spark writes none of UNPIVOT's; columns that go through it keep their numbers
        reading.opaque.append(tree.name)
        everything = done_to(union(made.uses for made in below[0].columns), TRANSFORMATION)
        return below[0].made([Made(each.id or 0, each.fields["name"], known.get(each.id or 0, everything)) for each in output])
    given = [reading.used.every(projections[i :: len(output)], known) for i in range(len(output))]
    return below[0].made([Made(each.id or 0, each.fields["name"], uses) for each, uses in zip(output, given)])


def _shared(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    reading.shared[int(tree.fields["id"])] = below[0]
    return below[0]


def _sharing(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    rows = reading.shared.get(int(tree.fields["cteId"]))
    if rows is None:
        return reading.opaquely(tree, [], known)
    return rows.made([Made(each.id or 0, each.fields["name"], made.uses) for each, made in zip(tree.trees("output"), rows.columns)])


def _recursion(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    """Each column is said to be made of all that goes in: one may become another from round to round."""
    reading.opaque.append(tree.name)
    everything = done_to(union(made.uses for rows in below for made in rows.columns), TRANSFORMATION)
    ids = [int(each["id"]) for each in tree.fields["outputAttrIds"]]
    return _side_by_side(below).made([Made(number, made.name, everything) for number, made in zip(ids, below[0].columns)])


def _round(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    """What a recursion gave before: made of what goes into the whole of it."""
    return _Rows(tuple(Made(each.id or 0, each.fields["name"], NOTHING) for each in tree.trees("output")))


def _near_join(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    conditions = [each for name in ("asOfCondition", "orderExpression", "toleranceAssertion", "rankingExpression") for each in tree.trees(name)]
    return _join(reading, tree, below, known).decided(reading.used.every(conditions, known), JOIN)


def _typed_filter(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    return below[0].decided(reading.used.every(tree.trees("deserializer"), known), FILTER)


_FIRST = (("leftGroupingLen", "rightGroupingLen"), ("groupingAttributesLen", "initGroupingAttrsLen"))
"""Of what goes in on either side, how many of the first columns it is grouped by: of cogroups, and of states with those that they begin with."""


def _over_rows(reading: _Reading, tree: Tree, below: list[_Rows], known: Mapping[int, Uses]) -> _Rows:
    keys = [each for name in ("groupingAttributes", "leftGroup", "rightGroup") for each in tree.trees(name)]
    first = [made.uses for names in _FIRST for name, side in zip(names, below) for made in side.columns[: int(tree.fields.get(name) or 0)]]
    rows = reading.opaquely(tree, below, known)
    return rows.decided(reading.used.every(keys, known).union(*first), GROUP_BY) if keys or first else rows


_RULES: dict[str, _Rule] = {
    **dict.fromkeys((
        "SubqueryAlias", "GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample", "Repartition", "RepartitionByExpression", "RebalancePartitions",
        "ResolvedHint", "UnresolvedHint", "WithCTE", "EventTimeWatermark", "CollectMetrics", "LimitAll", "ReturnAnswer", "WithWindowDefinition",
        "PipeOperator", "SQLFunctionNode",
    ), _as_it_is),
    **dict.fromkeys((
        "MapInPandas", "MapInArrow", "PythonMapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow",
        "ScriptTransformation", "AttachDistributedSequence", "FlatMapGroupsInPandasWithState", "TransformWithStateInPySpark", "MapElements", "MapPartitions",
        "MapGroups", "CoGroup", "FlatMapGroupsWithState", "TransformWithState",
    ), _over_rows),
    "View": _view, "DeserializeToObject": _deserialized, "SerializeFromObject": _serialized, "Project": _project, "Filter": _filter, "Aggregate": _aggregate, "Join": _join, "LateralJoin": _lateral_join, "Union": _set, "Intersect": _compared,
    "Except": _compared, "Distinct": _distinct, "Deduplicate": _distinct, "DeduplicateWithinWatermark": _distinct, "Sort": _sort, "Window": _window,
    "Generate": _generate, "Expand": _expand, "CTERelationDef": _shared, "CTERelationRef": _sharing,
    "UnionLoop": _recursion, "UnionLoopRef": _round, "AsOfJoin": _near_join, "NearestByJoin": _near_join, "TypedFilter": _typed_filter,
}

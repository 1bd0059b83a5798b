"""Rules: what each kind of node that Spark's plans have does with the rows that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bigdebug.datasets.noderows import Made, Reading, Rows, Rule, side_by_side
from bigdebug.datasets.plans import Tree
from bigdebug.datasets.uses import FILTER, GROUP_BY, JOIN, NOTHING, SORT, TRANSFORMATION, Uses, done_to, union


def _as_it_is(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[-1]


def _view(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    reading.views = True
    return reading.source(tree, [(made.id, made.name) for made in below[0].columns]) if reading.to_views else below[0]


def _deserialized(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    """Rows as objects of Java's: each is made of what its reader reads."""
    uses = reading.used.every(tree.trees("deserializer"), known)
    return below[0].made([Made(each.id or 0, each.fields["name"], uses) for each in tree.trees("outputObjAttr")])


def _serialized(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[0].made(reading.named(tree.trees("serializer"), known))


def _project(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[0].made(reading.named(tree.trees("projectList"), known))


def _filter(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[0].decided(reading.used.every(tree.trees("condition"), known), FILTER)


def _aggregate(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    grouped = reading.used.every(tree.trees("groupingExpressions"), known)
    return below[0].made(reading.named(tree.trees("aggregateExpressions"), known)).decided(grouped, GROUP_BY)


def _join(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    joined = side_by_side(below).decided(reading.used.every(tree.trees("condition"), known), JOIN)
    kind = tree.fields.get("joinType") or {}
    name = str(kind.get("object") or kind.get("product-class") or "").rsplit(".", 1)[-1]
    if name.startswith(("LeftSemi", "LeftAnti")):
        return joined.made(below[0].columns)
    if name.startswith("ExistenceJoin"):
        there = done_to(union(made.uses for made in below[1].columns), TRANSFORMATION)
        exists = [Made(each.id or 0, each.fields["name"], there) for each in Tree(name, kind, ()).trees("exists")]
        return joined.made([*below[0].columns, *exists])
    return joined


def _lateral_join(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    right = [reading.rows(each.subquery, known) for each in tree.trees("right") if each.subquery is not None]
    return side_by_side([*below, *right]).decided(reading.used.every(tree.trees("condition"), known), JOIN)


def _set(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    """Columns of a union are those at the same place."""
    return Rows(
        tuple(Made(first.id, first.name, union(made.uses for made in each)) for first, *each in zip(below[0].columns, *(rows.columns for rows in below))),
        union(rows.whole for rows in below),
    )


def _compared(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    """Of INTERSECT and EXCEPT: rows of the left side, that are there or not on the right one."""
    both = union(made.uses for rows in below for made in rows.columns)
    return side_by_side(below).made(below[0].columns).decided(both, FILTER)


def _distinct(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    keys = tree.trees("keys")
    uses = reading.used.every(keys, known) if keys else union(made.uses for made in below[0].columns)
    return below[0].decided(uses, GROUP_BY)


def _sort(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[0].decided(reading.used.every(tree.trees("order"), known), SORT)


def _window(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[0].made([*below[0].columns, *reading.named(tree.trees("windowExpressions"), known)])


def _generate(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
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


def _expand(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    output, projections = tree.trees("output"), tree.trees("projections")
    if not projections:  # Spark writes none of UNPIVOT's; columns that go through it keep their numbers
        reading.opaque.append(tree.name)
        everything = done_to(union(made.uses for made in below[0].columns), TRANSFORMATION)
        return below[0].made([Made(each.id or 0, each.fields["name"], known.get(each.id or 0, everything)) for each in output])
    given = [reading.used.every(projections[i :: len(output)], known) for i in range(len(output))]
    return below[0].made([Made(each.id or 0, each.fields["name"], uses) for each, uses in zip(output, given)])


def _shared(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    reading.shared[int(tree.fields["id"])] = below[0]
    return below[0]


def _sharing(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    rows = reading.shared.get(int(tree.fields["cteId"]))
    if rows is None:
        return reading.opaquely(tree, [], known)
    return rows.made([Made(each.id or 0, each.fields["name"], made.uses) for each, made in zip(tree.trees("output"), rows.columns)])


def _recursion(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    """Each column is said to be made of all that goes in: one may become another from round to round."""
    reading.opaque.append(tree.name)
    everything = done_to(union(made.uses for rows in below for made in rows.columns), TRANSFORMATION)
    ids = [int(each["id"]) for each in tree.fields["outputAttrIds"]]
    return side_by_side(below).made([Made(number, made.name, everything) for number, made in zip(ids, below[0].columns)])


def _round(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    """What a recursion gave before: made of what goes into the whole of it."""
    return Rows(tuple(Made(each.id or 0, each.fields["name"], NOTHING) for each in tree.trees("output")))


def _near_join(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    conditions = [each for name in ("asOfCondition", "orderExpression", "toleranceAssertion", "rankingExpression") for each in tree.trees(name)]
    return _join(reading, tree, below, known).decided(reading.used.every(conditions, known), JOIN)


def _typed_filter(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    return below[0].decided(reading.used.every(tree.trees("deserializer"), known), FILTER)


_FIRST = (("leftGroupingLen", "rightGroupingLen"), ("groupingAttributesLen", "initGroupingAttrsLen"))
"""Of what goes in on either side, how many of the first columns it is grouped by: of cogroups, and of states with those that they begin with."""


def _over_rows(reading: Reading, tree: Tree, below: list[Rows], known: Mapping[int, Uses]) -> Rows:
    keys = [each for name in ("groupingAttributes", "leftGroup", "rightGroup") for each in tree.trees(name)]
    first = [made.uses for names in _FIRST for name, side in zip(names, below) for made in side.columns[: int(tree.fields.get(name) or 0)]]
    rows = reading.opaquely(tree, below, known)
    return rows.decided(reading.used.every(keys, known).union(*first), GROUP_BY) if keys or first else rows


RULES: dict[str, Rule] = {
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

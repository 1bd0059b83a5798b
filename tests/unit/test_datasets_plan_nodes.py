"""Column lineage of nodes that few queries have, over plans that are written here as Spark writes them."""

from __future__ import annotations

import json
from typing import Any

from bigdebug.datasets.columns import columns_of
from bigdebug.datasets.plans import plan_of

Node = list[dict[str, Any]]


def column(number: int, name: str, kind: str = "long") -> Node:
    return [{"class": "x.AttributeReference", "num-children": 0, "name": name, "dataType": kind, "exprId": {"id": number}}]


def over(node: str, /, *below: Node, **fields: Any) -> Node:
    """A node over others; expressions in its fields are lists of nodes, as below."""
    return [{"class": f"x.{node}", "num-children": len(below), **fields}, *(one for each in below for one in each)]


def alias(number: int, name: str, of: Node) -> Node:
    return over("Alias", of, name=name, exprId={"id": number})


SOURCE = over("Relation", output=[column(1, "a"), column(2, "b", "string")])


def told(plan: Node, **options: Any) -> tuple[dict[str, set[str]], set[str], tuple[str, ...]]:
    found = columns_of(plan_of(json.dumps(plan)), **options)
    return {made.name: {f"{use.column} {use.how}" for use in made.uses} for made in found.columns}, {f"{use.column} {use.how}" for use in found.whole}, found.opaque


def test_a_cast_to_the_same_type_changes_nothing() -> None:
    project = over("Project", SOURCE, projectList=[
        alias(3, "same", over("Cast", column(1, "a"), dataType="long")), alias(4, "other", over("Cast", column(1, "a"), dataType="string")),
    ])
    assert told(project) == ({"same": {"a IDENTITY"}, "other": {"a TRANSFORMATION"}}, set(), ())


def test_exists_asks_for_a_row_and_in_for_its_values() -> None:
    inner = over("Project", over("Filter", over("Relation", output=[column(7, "x"), column(8, "y")]), condition=column(8, "y")), projectList=[column(7, "x")])
    for name, uses in (("Exists", {"y FILTER"}), ("ListQuery", {"x FILTER", "y FILTER"}), ("ScalarSubquery", {"x FILTER", "y FILTER"})):
        assert told(over("Filter", SOURCE, condition=over(name, plan=inner)))[1] == uses


def test_columns_of_a_recursion_are_made_of_all_that_goes_in() -> None:
    again = over("Project", over("UnionLoopRef", loopId=0, output=[column(5, "n"), column(6, "m")]), projectList=[alias(9, "m", column(6, "m")), alias(10, "n", column(5, "n"))])
    loop = over("UnionLoop", SOURCE, again, id=0, outputAttrIds=[{"id": 11}, {"id": 12}])
    assert told(loop) == ({"a": {"a TRANSFORMATION", "b TRANSFORMATION"}, "b": {"a TRANSFORMATION", "b TRANSFORMATION"}}, set(), ("UnionLoop",))


def test_functions_over_objects() -> None:
    read = over("DeserializeToObject", SOURCE, deserializer=over("NewInstance", column(1, "a")), outputObjAttr=column(3, "obj"))
    mapped = over("MapElements", read, outputObjAttr=column(4, "obj"))
    written = over("SerializeFromObject", mapped, serializer=[alias(5, "c", over("Invoke", column(4, "obj")))])
    assert told(written) == ({"c": {"a TRANSFORMATION"}}, set(), ())
    assert told(over("TypedFilter", SOURCE, deserializer=over("NewInstance", column(2, "b"))))[1] == {"b FILTER"}


def test_a_field_of_a_struct_that_the_query_makes_is_made_of_what_was_put_there() -> None:
    made = alias(3, "s", over("CreateNamedStruct", over("Literal", value="x"), column(1, "a"), over("Literal", value="y"), over("Upper", column(2, "b"))))
    inner = over("Filter", over("Project", SOURCE, projectList=[made]), condition=over("Literal", value="true"))

    def field(number: int, name: str, of: Node) -> Node:
        return alias(10 + number, name, over("GetStructField", of, ordinal=number))

    both = over("If", column(1, "a"), column(3, "s"), column(3, "s"))
    taken = over("Project", inner, projectList=[field(0, "x", column(3, "s")), field(1, "y", column(3, "s")), column(3, "s"), field(2, "z", both)])
    whole = {"a TRANSFORMATION", "b TRANSFORMATION"}
    assert told(taken)[0] == {"x": {"a IDENTITY"}, "y": {"b TRANSFORMATION"}, "s": whole, "z": whole}


def test_an_expansion_that_spark_does_not_write_is_not_known() -> None:
    unpivoted = over("Expand", SOURCE, projections=None, output=[column(1, "a"), column(3, "name"), column(4, "value")])
    everything = {"a TRANSFORMATION", "b TRANSFORMATION"}
    assert told(unpivoted) == ({"a": {"a IDENTITY"}, "name": everything, "value": everything}, set(), ("Expand",))


def test_a_join_by_nearness_is_decided_by_what_it_compares() -> None:
    other = over("Relation", output=[column(3, "c")])
    joined = over("AsOfJoin", SOURCE, other, asOfCondition=column(1, "a"), orderExpression=column(3, "c"), joinType={"object": "x.LeftOuter$"})
    assert told(joined)[1] == {"a JOIN", "c JOIN"}


def test_a_join_to_the_nearest_rows_is_decided_by_what_ranks_them() -> None:
    other = over("Relation", output=[column(3, "c")])
    joined = over("NearestByJoin", SOURCE, other, joinType={"object": "x.Inner$"}, rankingExpression=over("Subtract", column(1, "a"), column(3, "c")))
    assert told(joined) == ({"a": {"a IDENTITY"}, "b": {"b IDENTITY"}, "c": {"c IDENTITY"}}, {"a JOIN", "c JOIN"}, ())


def test_a_node_that_is_not_known_and_makes_no_column_decides_over_all_rows_by_what_it_uses() -> None:
    odd = over("Odd", SOURCE, test=over("Add", column(1, "a")), others=[over("Literal", value="1")])
    assert told(odd) == ({"a": {"a IDENTITY"}, "b": {"b IDENTITY"}}, {"a FILTER"}, ("Odd",))
    other = over("Relation", output=[column(3, "c")])
    assert told(over("Odd", SOURCE, other, test=column(3, "c")))[1] == {"c JOIN"}


def test_views_are_leaves_where_that_is_asked() -> None:
    view = over("View", over("Project", SOURCE, projectList=[alias(3, "c", over("Add", column(1, "a")))]), desc={})
    assert told(view) == ({"c": {"a TRANSFORMATION"}}, set(), ())
    assert told(view, to_views=True) == ({"c": {"c IDENTITY"}}, set(), ())
    assert [columns_of(plan_of(json.dumps(plan))).views for plan in (view, SOURCE)] == [True, False]


def test_names_that_look_like_markup_or_go_from_right_to_left_stay_as_they_are() -> None:
    names = ["<script>alert(1)</script>", "\u202eabc", "a\x00b", "", "ä" * 1_000]
    plan = over("Relation", output=[column(i, name) for i, name in enumerate(names)])
    assert [made.name for made in columns_of(plan_of(json.dumps(plan))).columns] == names


def test_each_column_that_a_generator_makes_is_made_of_what_goes_into_it() -> None:
    one, two = over("Literal", value="1"), over("Literal", value="2")

    def generated(generator: Node, *names: str) -> dict[str, set[str]]:
        plan = over("Generate", SOURCE, generator=generator, outer=True, generatorOutput=[column(10 + i, name) for i, name in enumerate(names)])
        return {name: uses for name, uses in told(plan)[0].items() if name in names}

    apart = {"x": {"a TRANSFORMATION"}, "y": {"b TRANSFORMATION"}}
    assert generated(over("Stack", two, column(1, "a"), column(2, "b"), one, column(2, "b")), "x", "y") == apart
    assert generated(over("Explode", over("CreateMap", column(1, "a"), column(2, "b"), one, two)), "x", "y") == apart
    assert generated(over("PosExplode", over("CreateMap", column(1, "a"), column(2, "b"))), "at", "x", "y") == {"at": set(), **apart}
    struct = over("CreateNamedStruct", one, column(1, "a"), two, column(2, "b"))
    assert generated(over("Inline", over("CreateArray", struct, struct)), "x", "y") == apart
    both = {"a TRANSFORMATION", "b TRANSFORMATION"}
    assert generated(over("Inline", over("Concat", over("CreateArray", struct))), "x", "y") == {"x": both, "y": both}


def test_a_list_is_made_of_what_is_listed_in_an_order() -> None:
    listed = over("ListAgg", column(1, "a"), over("Literal", value=","), over("SortOrder", column(2, "b")))
    listed[0]["class"] = "x.aggregate.ListAgg"
    assert told(over("Aggregate", SOURCE, groupingExpressions=[], aggregateExpressions=[alias(3, "l", listed)]))[0] == {"l": {"a AGGREGATION", "b SORT"}}


def test_a_cogroup_is_grouped_by_the_first_columns_of_both() -> None:
    other = over("Relation", output=[column(3, "c"), column(4, "d")])
    for name in ("FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"):
        assert told(over(name, SOURCE, other, leftGroupingLen=1, rightGroupingLen=1, output=[column(5, "e")]))[1] == {"a GROUP_BY", "c GROUP_BY"}
    typed = over("CoGroup", SOURCE, other, leftGroup=[column(2, "b")], rightGroup=[column(4, "d")], outputObjAttr=column(5, "e"))
    assert told(typed)[1] == {"b GROUP_BY", "d GROUP_BY"}


def test_states_are_kept_by_the_first_columns_of_what_comes_and_of_what_they_begin_with() -> None:
    first = over("Relation", output=[column(3, "c"), column(4, "d")])
    plan = over("TransformWithStateInPySpark", SOURCE, first, groupingAttributesLen=2, initGroupingAttrsLen=1, outputAttrs=[column(5, "e")])
    assert told(plan)[1] == {"a GROUP_BY", "b GROUP_BY", "c GROUP_BY"}


def test_variables_that_are_made_of_data_are_leaves() -> None:
    used = over("Project", SOURCE, projectList=[alias(3, "c", over("Add", column(1, "a"), over("VariableReference", originalNameParts="[session, Most]")))])
    assert told(used) == ({"c": {"a TRANSFORMATION"}}, set(), ())
    assert told(used, variables=("most",)) == ({"c": {"a TRANSFORMATION", "most TRANSFORMATION"}}, set(), ())


def test_a_function_of_python_over_a_group_is_an_aggregation() -> None:
    project = over("Aggregate", SOURCE, groupingExpressions=[], aggregateExpressions=[alias(3, "m", over("AggregateExpression", over("PythonUDAF", column(1, "a"))))])
    assert told(project) == ({"m": {"a AGGREGATION"}}, set(), ())


def test_ranks_are_decided_by_the_order_and_made_of_no_value() -> None:
    spec = over("WindowSpecDefinition", column(2, "b"), over("SortOrder", column(1, "a")))
    for rank in ("Rank", "DenseRank", "PercentRank"):  # Spark puts what is ordered by below them
        ranked = over("Window", SOURCE, windowExpressions=[alias(3, "r", over("WindowExpression", over(rank, column(1, "a")), spec))])
        assert told(ranked)[0]["r"] == {"a WINDOW", "b WINDOW"}


def test_what_a_pivot_turns_into_columns_selects_their_values() -> None:
    first = over("PivotFirst", column(2, "b"), column(1, "a"))
    first[0]["class"] = "x.aggregate.PivotFirst"
    pivoted = over("Aggregate", SOURCE, groupingExpressions=[], aggregateExpressions=[alias(3, "p", over("AggregateExpression", first))])
    assert told(pivoted)[0] == {"p": {"a AGGREGATION", "b CONDITIONAL"}}

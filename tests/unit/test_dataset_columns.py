"""Column lineage of plans as Spark wrote them. Their queries stand above the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bigdebug.datasets.columns import columns_of
from bigdebug.datasets.plans import plan_of
from bigdebug.errors import DatasetsError

PLANS = Path(__file__).resolve().parents[1] / "golden" / "plans"

ANSWERS = {
    # with a as (select k+1 kk, v from p) select x.kk, y.v from a x join a y on x.kk = y.kk
    "cte": ({"kk": {"k TRANSFORMATION"}, "v": {"v IDENTITY"}}, {"k JOIN"}),
    # select p.k, l.m from p, lateral (select max(t.v) m from t where t.k = p.k) l     -- t: select id % 10 k, id * 2 v from range(1000)
    "lateral": ({"k": {"k IDENTITY"}, "m": {"id AGGREGATION"}}, {"k FILTER", "id FILTER"}),
    # select k, sum(v) over (partition by k order by v) s from p
    "window": ({"k": {"k IDENTITY"}, "s": {"v AGGREGATION", "k WINDOW", "v WINDOW"}}, set()),
    # select case when k > 1 then v else 0 end c, sha2(cast(v as string), 256) h from p order by k limit 5
    "case": ({"c": {"v TRANSFORMATION", "k CONDITIONAL"}, "h": {"v TRANSFORMATION masking"}}, {"k SORT"}),
    # select k, v, count(*) c from p group by rollup(k, v)
    "rollup": ({"k": {"k IDENTITY"}, "v": {"v IDENTITY"}, "c": set()}, {"k GROUP_BY", "v GROUP_BY"}),
    # select k from p where exists (select 1 from t where t.k = p.k and t.v > p.v)
    "exists": ({"k": {"k IDENTITY"}}, {"k FILTER", "v FILTER", "id FILTER"}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_column_has_the_columns_that_it_is_made_of(name: str) -> None:
    found = columns_of(plan_of((PLANS / f"{name}.json").read_text(encoding="utf-8")))
    told = {made.name: {f"{use.column} {use.how}{' masking' * use.masking}" for use in made.uses} for made in found.columns}
    assert (told, {f"{use.column} {use.how}" for use in found.whole}) == ANSWERS[name]
    assert found.opaque == ()


def test_a_plan_of_thousands_of_steps_is_read() -> None:
    step = '{"class": "x.Filter", "num-children": 1, "condition": []}'
    leaf = '{"class": "x.Relation", "num-children": 0, "output": [[{"class": "x.AttributeReference", "num-children": 0, "name": "a", "exprId": {"id": 1}}]]}'
    (made,) = columns_of(plan_of(f"[{', '.join([step] * 5_000)}, {leaf}]")).columns
    assert [use.column for use in made.uses] == ["a"]


def test_what_is_not_known_is_named_and_uses_all_that_goes_in() -> None:
    plan = [
        '{"class": "x.Odd", "num-children": 1, "output": [[{"class": "x.AttributeReference", "num-children": 0, "name": "z", "exprId": {"id": 9}}]]}',
        ('{"class": "x.Relation", "num-children": 0, "output": [[{"class": "x.AttributeReference", "num-children": 0, "name": "a", "exprId": {"id": 1}}], '
        '[{"class": "x.AttributeReference", "num-children": 0, "name": "b", "exprId": {"id": 2}}]]}'),
    ]
    found = columns_of(plan_of(f"[{', '.join(plan)}]"))
    assert found.opaque == ("Odd",)
    assert {use.column for use in found.columns[0].uses} == {"a", "b"}


@pytest.mark.parametrize("text", ["", "[]", "{}", "[{}]", '[{"class": "x.Filter", "num-children": 1}]', "null", '[{"class": 1, "num-children": 0}]'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(DatasetsError, match="cannot be read"):
        plan_of(text)

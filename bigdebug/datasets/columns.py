"""Columns: which columns of its sources each column of a query is made of, and which decide over all of them. Pure, over plans as Spark writes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bigdebug.datasets.noderows import Made, Reading
from bigdebug.datasets.noderules import RULES
from bigdebug.datasets.plans import Tree
from bigdebug.datasets.uses import Uses

_NO_MODELS: Mapping[int, str] = MappingProxyType({})


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
    reading = Reading(RULES, to_views, models, variables)
    rows = reading.rows(plan, {})
    return ColumnLineage(rows.columns, rows.whole, tuple(reading.leaves), tuple(dict.fromkeys(reading.opaque)), reading.views)

"""Groups as marks: a result that is one group-by, the rows that its groups are made of, and what is added up of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as F

from bigdebug.model import Rids
from bigdebug.spark.sql.brushing.following import Derived, Stays, following
from bigdebug.spark.sql.brushing.recomputed import Recomputed
from bigdebug.spark.sql.brushing.result import Result
from bigdebug.spark.sql.extended import Extended
from bigdebug.spark.sql.keys import all_of, frame_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import group_of
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.python_values import has_all
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.crossfilter.aggregates import Aggregate
from bigdebug.trace.crossfilter.outputs import NO_RECORD, Followed, Outputs, Together
from bigdebug.trace.names import array_of

_ABOVE = {"Project", "Sort", "Filter", "Limit", "ResolvedHint", "Repartition", "RepartitionByExpression", "RebalancePartitions"}
"""Operators above a group-by of which each row is one of its groups."""

_CHOOSING = {"Filter": "HAVING", "Limit": "LIMIT"}
"""Those of them that leave groups out for what is in them."""

_CODES = (("TINYINT", pa.int8(), 1 << 7), ("SMALLINT", pa.int16(), 1 << 15), ("INT", pa.int32(), 1 << 31))
"""Types of codes, and how many marks each has numbers for."""


@dataclass(frozen=True)
class Groups:
    """A result that is a group-by, before anybody knows which rows its groups took: the columns, and the ``keys`` of the groups beside them.

    ``measured`` are the columns that are no keys, ``follows`` says which of them are computed anew of which expressions over the rows.
    """

    steps: Steps
    group: PlanOperator
    sources: frozenset[int]
    columns: Mapping[str, pa.Array]
    keys: Sequence[pa.Array]
    measured: frozenset[str]
    follows: Mapping[str, Recomputed | Derived]
    notes: tuple[str, ...]

    @property
    def arguments(self) -> list[Expr]:
        return [part.argument for how in self.follows.values() for part in _parts(how) if part.argument is not None]

    @property
    def rows(self) -> PlanOperator:
        """The rows that are grouped."""
        return self.group.inputs[0]

    def takes_rows_of(self, other: Groups) -> bool:
        """Whether both group the same rows, in the same columns, and are asked in the same session."""
        mine, others = self.rows.node, other.rows.node
        same_session = self.steps.catalyst.jsession.equals(other.steps.catalyst.jsession)
        return bool(same_session and mine.output().equals(others.output()) and mine.sameResult(others))

    def outputs(self, codes: npt.NDArray[Any], takes: Sequence[Rids], values: Sequence[tuple[Expr, pa.Array]]) -> Outputs:
        followed: dict[str, Followed | Together | Aggregate] = {}
        notes = list(self.notes)
        for label, how in self.follows.items():
            found = [_values_of(part, values) for part in _parts(how)]
            if why := self._kept_for(how, found):
                notes.append(f"{label} stays as it is: {why}.")
                continue
            followed[label] = how.followed(found, self.keys) if isinstance(how, Derived) else how.followed(found[0])
            if isinstance(how, Derived) and not how.certain:
                notes.append(f"{label} has no value where the query would fail on the rows that are left.")
        if not self.group.node.groupingExpressions().length():
            notes.append("There is one row also of no records: it is there when its mark is not lit.")
        return Outputs(self.columns, len(self.keys[0]), codes, takes, followed, tuple(notes), self.measured - {*followed})

    def _kept_for(self, how: Recomputed | Derived, found: Sequence[pa.Array | None]) -> str:
        """Why a column is not computed of these values of its arguments, if it is not."""
        keys = [self.keys[number] for number in how.keys] if isinstance(how, Derived) else []
        if not all(has_all(each) for each in (*found, *keys) if each is not None):
            return "some of its values are text of other bytes than UTF-8's, or moments after the year 9999"
        if not all(each is None or part.fits(each) for part, each in zip(_parts(how), found)):
            return f"Spark might not have room for {'a sum that it is computed of' if isinstance(how, Derived) else 'its sum'}"
        return ""


def _parts(how: Recomputed | Derived) -> Sequence[Recomputed]:
    """The aggregates that a column is, or is computed of."""
    return how.parts if isinstance(how, Derived) else (how,)


def _values_of(part: Recomputed, values: Sequence[tuple[Expr, pa.Array]]) -> pa.Array | None:
    """The values of an aggregate's argument among those of all arguments; None if it has none."""
    return None if part.argument is None else next(array for argument, array in values if argument.semanticEquals(part.argument))


def group_by(root: PlanOperator) -> tuple[PlanOperator | None, tuple[PlanOperator, ...]]:
    """The group-by that a result is, if it is one, and the operators above it, the highest first."""
    above, operator = [], root
    while operator.name in _ABOVE and operator.kept is None:
        above.append(operator)
        [operator] = operator.inputs
    return (operator, tuple(above)) if operator.name == "Aggregate" and operator.kept is None else (None, ())


def groups_of(steps: Steps, group: PlanOperator, above: Sequence[PlanOperator], sources: frozenset[int]) -> Groups:
    """A result that is a group-by; a job. Raises TooLargeError for more than a million rows."""
    c, result = steps.catalyst, Result(steps)
    hows = measured(c, group, above, result)
    follows, notes = _follows(c, group, above, hows)
    plan, name = steps.rows(steps.root.id, None)
    for operator in above:
        if operator.id in steps.levels:  # whose names are those of the level below, in a struct
            name = c.field(name, 0)
    columns, keys = result.read(plan, {f"k{i}": c.field(name, i) for i in range(len(group_of(c, group)))})
    return Groups(steps, group, sources, columns, list(keys.values()), frozenset(hows), follows, tuple(notes))


def measured(catalyst: Catalyst, group: PlanOperator, above: Sequence[PlanOperator], result: Result) -> dict[str, Recomputed | Derived | Stays]:
    """The columns of a result that say something of the rows of its groups, and how each follows; the others are keys."""
    every = {label: following(catalyst, above, group, column) for label, column in zip(result.labels, result.outputs)}
    return {label: how for label, how in every.items() if how != Stays()}


def _follows(
    catalyst: Catalyst, group: PlanOperator, above: Sequence[PlanOperator], hows: Mapping[str, Recomputed | Derived | Stays],
) -> tuple[dict[str, Recomputed | Derived], list[str]]:
    """The columns that are computed anew, and why others are not."""
    chosen = dict.fromkeys(_CHOOSING[operator.name] for number, operator in enumerate(above) if _chooses(catalyst, group, operator, above[number + 1:]))
    if chosen:
        return {}, [f"Marks are only lit: {' and '.join(chosen)} would choose others of some of the records."]
    follows = {label: how for label, how in hows.items() if not isinstance(how, Stays)}
    return follows, [f"{label} stays as it is: {how.why}." for label, how in hows.items() if isinstance(how, Stays)]


def _chooses(catalyst: Catalyst, group: PlanOperator, operator: PlanOperator, below: Sequence[PlanOperator]) -> bool:
    """Whether an operator above a group-by leaves groups out for more than their keys."""
    if operator.name != "Filter":
        return operator.name in _CHOOSING
    asked = catalyst.items(operator.node.condition().references().toSeq())
    return any(following(catalyst, below, group, column) != Stays() for column in asked)


# ---- links ----------------------------------------------------------------------------------------------------------


def with_links(several: Sequence[Groups]) -> list[Outputs]:
    """The groups with the rows that each took; a job for all that group the same rows."""
    made: dict[int, Outputs] = {}
    for first, groups in enumerate(several):
        if first not in made:
            alike = [at for at in range(first, len(several)) if at == first or (at not in made and several[at].takes_rows_of(groups))]
            made.update(zip(alike, _linked([several[at] for at in alike])))
    return [made[at] for at in range(len(several))]


def _linked(alike: Sequence[Groups]) -> list[Outputs]:
    """Of groups of the same rows: the mark of each row in each, the records that it was made of, and the values that are added up of it."""
    steps = alike[0].steps
    c = steps.catalyst
    rows, takes = extended(steps, alike[0].rows, alike[0].sources)
    arguments = _each_once(c, [argument for groups in alike for argument in groups.arguments])
    plan, codes = rows.plan, {}
    for number, groups in enumerate(alike):
        plan, codes[f"code{number}"] = _coded(c, plan, group_of(c, groups.group), groups.keys, number, alone=len(alike) == 1)
    table = c.table(plan, takes | codes | {f"v{i}": argument for i, argument in enumerate(arguments)}).combine_chunks()
    values = [(argument, array_of(table[f"v{i}"])) for i, argument in enumerate(arguments)]
    rids = [rids_of(array_of(table[take])) for take in takes]
    return [groups.outputs(array_of(table[code]).fill_null(-1).to_numpy(zero_copy_only=False), rids, values) for groups, code in zip(alike, codes)]


def _each_once(catalyst: Catalyst, arguments: Iterable[Expr]) -> list[Expr]:
    found: list[Expr] = []
    for argument in arguments:
        if not any(known.semanticEquals(argument) for known in found):
            found.append(argument)
    return found


def _coded(catalyst: Catalyst, plan: Node, parts: Sequence[Expr], keys: Sequence[pa.Array], number: int, alone: bool) -> tuple[Node, Expr]:
    """The rows of a plan with the number of the group that each is in, in as few bytes as it fits; without the others, if ``alone``."""
    count = len(keys[0])
    kind, code = next((kind, code) for kind, code, most in _CODES if count <= most)
    names = [f"__bigdebug_key_{number}_{i}" for i in range(len(parts))]
    known = frame_of(catalyst, [*keys, pa.array(range(count), code)], [*names, f"__bigdebug_code_{number}"], [*(part.dataType().sql() for part in parts), kind])
    # As columns: Spark joins by no function of Python where it keeps rows without a match.
    plan = catalyst.extended(plan, [catalyst.alias(part, name) for part, name in zip(parts, names)])
    own = catalyst.items(plan.output())[-len(parts):]
    same = all_of([catalyst.column(part).eqNullSafe(known[name]) for part, name in zip(own, names)])
    joined = catalyst.plan(catalyst.frame(plan).join(F.broadcast(known), same, "inner" if alone else "left"))
    return joined, joined.output().last()


def extended(steps: Steps, operator: PlanOperator, sources: frozenset[int]) -> tuple[Extended, dict[str, Expr]]:
    """The rows of an operator as they are, and the columns that name records of the sources in them."""
    naming = steps.naming
    rows = naming.extend(operator, witnesses=False) if operator.id in sources else naming.within(operator, witnesses=False)
    return rows, {f"r{name.level}": name.column for name in rows.names if name.level in sources}


def rids_of(names: pa.Array) -> Rids:
    """The records that a column names; -1 for none."""
    rids: Rids = names.fill_null(NO_RECORD).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return rids

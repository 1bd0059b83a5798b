"""Guarding: guards in the place of the user's Python functions in a plan, of the same kind (DESIGN 4.3).

A guard is shipped as the function itself was, with its broadcasts; but without the user's accumulators, which count a run once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.cloudpickle import dumps
from pyspark.sql.types import BinaryType, DataType, StructType
from pyspark.util import PythonEvalType

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.code import Code, Fitting, anything
from bigdebug.agents.guards.columns import GuardedBatches, GuardedColumns, GuardedStream
from bigdebug.agents.guards.groups import GuardedAggregate, GuardedGroup, LenientAggregate, LenientGroup
from bigdebug.agents.guards.row_batches import GuardedRows
from bigdebug.agents.guards.rows import GuardedCall, PickledCall
from bigdebug.agents.guards.streams import LenientStream, StreamingAggregate, StreamingGroup
from bigdebug.agents.guards.tables import TableCode, guarded_table
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.code import KINDS, ROWS, chain, command, is_named, returned
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.fits import (
    arrow_column,
    arrow_value,
    arrow_values,
    certain_column,
    certain_value,
    certain_values,
    doubtful,
    internal,
)
from bigdebug.spark.sql.plans.given_frames import fitting_frames
from bigdebug.spark.sql.plans.sent import array, frame, no_frame, no_table, series, table, taking
from bigdebug.spark.sql.plans.tablefunctions import gives_at_end

_GUARD = "__bigdebug_guard"
"""The name of guards that stand apart."""

_ARROW = {value for name, value in KINDS.items() if "ARROW" in name} - ROWS
_STREAMS = {value for name, value in KINDS.items() if name in ("SQL_SCALAR_PANDAS_ITER_UDF", "SQL_SCALAR_ARROW_ITER_UDF")}
_IN_BATCHES = {value: KINDS[name.replace("_ITER", "")] for name, value in KINDS.items() if name.startswith("SQL_GROUPED") and name.endswith("_ITER_UDF")}
"""Functions of groups in batches, and those of the same groups as a whole."""

_OF_ARROW = KINDS.get("SQL_SCALAR_ARROW_UDF")
_PLAIN = {"string", "byte", "short", "integer", "long", "float", "double", "boolean"}
"""Types whose values are the same in Arrow and in Python."""
_UNUSUAL = ("spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled", "spark.sql.execution.pythonUDF.arrow.concurrency.level")
"""Settings of how Spark calls functions of a row on Arrow's batches: where they are set, it may bring other values, or call in threads."""


class Guarding(NamedTuple):
    """How functions are run under guard: with ``strict``, what they give has to fit their types; with ``confined``, in cells, for they end workers."""

    strict: bool = False
    confined: bool = False
    sized: tuple[Expr, ...] = ()
    """Functions of which it is also told whether they gave a number that is not small."""
    doubting: bool = False
    """Whether it is also told that they gave something of which it has to be looked at whether it fits."""
    sparing: Expr | None = None
    """A condition of rows on which functions of a row are not called."""

    def code(self, *commands: bytes) -> Code:
        """Functions, each called on what the one before it gives."""
        return Code(commands, self.crossing)

    @property
    def crossing(self) -> Dumps | None:
        """How what crosses to a cell is pickled; None where there is none."""
        return dumps if self.confined else None


def has_guard(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether a guard of ours is somewhere in an expression: it gives the same each time, though Spark is told that it does not."""
    if expression.nodeName() == "PythonUDF" and expression.name() == _GUARD:
        return True
    return any(has_guard(catalyst, part) for part in catalyst.children(expression))


def tells_sizes(function: Expr) -> bool:
    """Whether the guard of a function of a row knows what numbers that gives."""
    return function.evalType() not in _STREAMS


def guarded(catalyst: Catalyst, function: Expr, how: Guarding) -> Expr:
    """What is told of the crash of a function of a row, on each row; NULL where it does not crash."""
    codes, inputs = chain(catalyst, function)
    code, kind = how.code(*codes), function.evalType()
    sized = any(function.resultId().equals(each.resultId()) for each in how.sized)  # its arguments may have been tamed since
    column = array() if kind in _ARROW else series()
    guard: Any
    if _takes_batches(catalyst, function, inputs, how):
        guard = GuardedRows(code, array(), arrow_values(), sized, certain_values() if how.doubting else None)
        function = catalyst.with_arguments(function, {"evalType": _OF_ARROW})
    elif kind in ROWS:
        named = is_named(catalyst, inputs)
        pickles = kind == PythonEvalType.SQL_BATCHED_UDF
        fitting = internal() if pickles else arrow_value() if how.strict else anything
        certain = certain_value() if how.doubting and not pickles else None
        guard = GuardedCall(code, fitting, sized, named, len(inputs) == 1 and not named, certain, how.sparing is not None)
        inputs = inputs if how.sparing is None else [how.sparing, *inputs]
    elif kind in _STREAMS:
        guard = GuardedStream(code, column)
    else:
        guard = GuardedColumns(
            code, column, arrow_column() if how.strict else anything, sized, function.udfDeterministic(), certain_column() if how.doubting else None,
        )
    return _apart(catalyst, _changed(catalyst, function, guard, inputs))


def pickled(catalyst: Catalyst, function: Expr) -> Expr | None:
    """What a function of a row gives as a pickle, on each row, where it is doubtful whether Spark can read it; None if it gives no pickles."""
    if function.evalType() != PythonEvalType.SQL_BATCHED_UDF:
        return None
    codes, inputs = chain(catalyst, function)
    return _apart(catalyst, _changed(catalyst, function, PickledCall(Code(codes), doubtful()), inputs))


def guarded_frames(catalyst: Catalyst, function: Expr, columns: Sequence[Expr], how: Guarding) -> Expr:
    """As ``guarded``, of a function of an iterator of DataFrames with these columns."""
    guard = GuardedStream(how.code(command(catalyst, function)), series(), _frames(catalyst, how, True, more=True))
    changed = _changed(catalyst, function, guard, [catalyst.named_struct(columns)])
    return _apart(catalyst, catalyst.with_arguments(changed, {"evalType": PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF}))


def guarded_batches(catalyst: Catalyst, function: Expr, columns: Sequence[Expr], returns: StructType, how: Guarding) -> Expr:
    """A function of an iterator of Arrow's batches that gives them again, with what is told of each row."""
    guard = GuardedBatches(GuardedStream(how.code(command(catalyst, function)), array(), _frames(catalyst, how, False, more=True)))
    return _changed(catalyst, function, guard, columns, returns)


def guarded_groups(catalyst: Catalyst, function: Expr, names: Sequence[Expr], groups: int, how: Guarding) -> Expr:
    """A function that gives what is told of groups, or of pairs of groups, whose last columns are the names of their rows."""
    made = table() if function.evalType() in _ARROW else frame()
    whole = _whole(catalyst, function, StreamingGroup, how)
    guard = taking(GuardedGroup(whole, made, _of_groups(catalyst, how)), groups)
    returns = StructType().add("told", BinaryType())
    return _as_whole(catalyst, _changed(catalyst, function, guard, [*catalyst.children(function), *names], returns))


def lenient_groups(catalyst: Catalyst, function: Expr, groups: int, how: Guarding) -> Expr:
    """The function, which gives nothing for groups that it crashes on."""
    guard: Any
    code = _whole(catalyst, function, StreamingGroup, how)
    if function.evalType() in _IN_BATCHES:
        guard = LenientStream(code, _of_groups(catalyst, how))
    else:
        guard = LenientGroup(code, no_table() if function.evalType() in _ARROW else no_frame(), _of_groups(catalyst, how))
    return _changed(catalyst, function, taking(guard, groups), catalyst.children(function), returned(function))


def guarded_aggregate(catalyst: Catalyst, function: Expr, names: Sequence[Expr], how: Guarding) -> Expr:
    """What is told of the rows that an aggregating function is given, which have these names; NULL where it does not crash."""
    guard = GuardedAggregate(_whole(catalyst, function, StreamingAggregate, how))
    return _as_whole(catalyst, _changed(catalyst, function, guard, [*names, *catalyst.children(function)]))


def lenient_aggregate(catalyst: Catalyst, function: Expr, how: Guarding) -> Expr:
    """The function, which gives NULL where it crashes."""
    guard = LenientAggregate(_whole(catalyst, function, StreamingAggregate, how))
    return _as_whole(catalyst, _changed(catalyst, function, guard, catalyst.children(function), returned(function)))


def table_function(catalyst: Catalyst, function: Expr, telling: bool, how: Guarding) -> Expr:
    """A table function that gives, for each row that one crashes on, what is told of that; or else what that gives of the other rows."""
    code = TableCode(command(catalyst, function), function.pickledAnalyzeResult().isDefined(), how.crossing)
    width = int(function.elementSchema().length()) if how.strict else None
    guard = guarded_table(code, telling, gives_at_end(catalyst, function), width)
    kind = catalyst.kind(StructType().add("told", BinaryType())) if telling else function.elementSchema()
    return catalyst.with_arguments(catalyst.anew(function), {"func": _shipped(catalyst, function, guard), "elementSchema": kind})


def _of_groups(catalyst: Catalyst, how: Guarding) -> Fitting:
    """As ``_frames``, of functions of groups: the session says whether their columns have names."""
    return _frames(catalyst, how, bool(catalyst.jsession.sessionState().conf().pandasGroupedMapAssignColumnsByName()))


def _frames(catalyst: Catalyst, how: Guarding, by_name: bool, more: bool = False) -> Fitting:
    """What raises where a frame does not fit that a function gave."""
    return fitting_frames(by_name, more, bool(catalyst.jsession.sessionState().conf().arrowSafeTypeConversion())) if how.strict else anything


def _whole(catalyst: Catalyst, function: Expr, streaming: type[Code], how: Guarding) -> Code:
    """A function of groups, or of their columns, as one of them as a whole."""
    kind = streaming if function.evalType() in _IN_BATCHES else Code
    return kind((command(catalyst, function),), how.crossing)


def _as_whole(catalyst: Catalyst, function: Expr) -> Expr:
    """The function as Spark calls those of a whole group."""
    kind = _IN_BATCHES.get(int(function.evalType()))
    return function if kind is None else catalyst.with_arguments(function, {"evalType": kind})


def _takes_batches(catalyst: Catalyst, function: Expr, inputs: Sequence[Expr], how: Guarding) -> bool:
    """Whether a guard may call a function of a row on all rows of a batch: Spark would hand it what is in Arrow's columns, and one row after the other."""
    if function.evalType() != PythonEvalType.SQL_ARROW_BATCHED_UDF or _OF_ARROW is None or how.strict or how.confined or how.sparing is not None:
        return False
    if not inputs or not all(each.dataType().typeName() in _PLAIN for each in inputs) or is_named(catalyst, inputs):
        return False
    settings = catalyst.jsession.sessionState().conf()
    return not any(settings.contains(name) for name in _UNUSUAL)


def _apart(catalyst: Catalyst, guard: Expr) -> Expr:
    """A guard that Spark calls once for a row, before anything that is written above it: it leaves alone what is not deterministic."""
    return catalyst.with_arguments(guard, {"udfDeterministic": False, "name": _GUARD})


def _changed(catalyst: Catalyst, function: Expr, guard: Any, inputs: Sequence[Expr], returns: DataType | None = None) -> Expr:
    """Another function in the place of one."""
    returns = BinaryType() if returns is None else returns
    return catalyst.with_arguments(catalyst.anew(function), {
        "func": _shipped(catalyst, function, (guard, returns)), "dataType": catalyst.kind(returns), "children": catalyst.seq(inputs),
    })


def _shipped(catalyst: Catalyst, function: Expr, command: Any) -> Any:
    """What Spark ships to workers, with what else it ships for the function."""
    func = function.func()
    return catalyst.jvm.org.apache.spark.api.python.SimplePythonFunction(
        bytearray(dumps(command)),  # type: ignore[no-untyped-call]
        func.envVars(), func.pythonIncludes(), func.pythonExec(), func.pythonVer(), func.broadcastVars(), None,
    )

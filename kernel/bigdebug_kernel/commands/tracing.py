"""Commands that follow records and run programs on some of them: ``trace``, ``replay``, ``compare``."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError

from bigdebug.errors import UnknownOperatorError
from bigdebug.mining.cleaned import Cleaned
from bigdebug.shown import plain
from bigdebug_kernel.asking import Asking
from bigdebug_kernel.commands.command import Command
from bigdebug_kernel.expressions import condition, function, key
from bigdebug_kernel.words import Words, at_least

STEPS = ("back", "next", "goBack", "goNext", "goBackAll", "goNextAll")
_SHORT = {"back": "goBack", "next": "goNext"}

OF_RECORDS = "a function, an expression over r, or, of a DataFrame, SQL"


class Trace(Command):
    """Show records, and those that they came from or went to.

    %lineage trace errors --where "r[1] > 1000" goBackAll
    %lineage trace totals --where "total > 1000" goBackAll orders
    """

    name = "trace"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.subjects, help="a run by name or id, or a variable that holds an RDD, a DataFrame, a trace or a run")
        words.takes(
            "steps", metavar="STEP", nargs="*", offers=lambda asking: STEPS, help=f"where to go from there: {', '.join(STEPS)}, or one input of several by its name",
        )
        words.takes("--where", metavar="EXPR", help=f"only these records: {OF_RECORDS}")
        words.takes("-n", metavar="N", type=at_least(1, "a number of records"), default=20, help="how many records to show (20)")

    def answer(self, given: Any, asking: Asking) -> Any:
        trace = narrowed(asking.trace(given.what), given.where, asking)
        for step in given.steps:
            trace = _gone(trace, step)
        return trace.table(given.n)


class Replay(Command):
    """Run the program once more on what some outputs were made of, or without it, and show what differs from the run.

    %lineage replay totals --where "total < 0"              on the lineage of these rows alone: they come out again
    %lineage replay totals --where "total < 0" --exclude    without all that they were made of
    %lineage replay suspects --exclude                      without the records of a trace
    %lineage replay suspects --exclude --edit "abs(r)"      with these records changed, and all others as they are
    """

    name = "replay"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.subjects, help="a run, a variable that holds an RDD or a DataFrame, or a trace over any of its records")
        words.takes("--where", metavar="EXPR", help=f"only these records: {OF_RECORDS}")
        words.takes("--exclude", action="store_true", help="without these records and what they were made of, on everything else")
        words.takes("--edit", metavar="FUNCTION", offers=Asking.functions, help="with another record in the place of each: a function, or an expression over r; with --exclude, all others run with them")
        words.takes("--at", metavar="OP", offers=Asking.subjects, help="where records are chosen, left out or edited: a variable, or an operator's name or number; the sources if none")

    def answer(self, given: Any, asking: Asking) -> Any:
        trace = narrowed(asking.trace(given.what), given.where, asking)
        edit = None if given.edit is None else function(given.edit, asking.names, "--edit")
        return trace.replay(given.exclude, None if given.at is None else operator(trace.run, given.at, asking), edit).compare()


class Compare(Command):
    """Two results side by side: outputs that were added, removed or changed, with the inputs behind each change.

    %lineage compare yesterday today --key city
    """

    name = "compare"

    def takes(self, words: Words) -> None:
        words.takes("before", metavar="BEFORE", offers=Asking.results, help="a run, or a variable that holds an RDD, a DataFrame, a trace, a replay, or what was cleaned")
        words.takes("after", metavar="AFTER", offers=Asking.results, help="the other one")
        words.takes("--key", metavar="KEY", help="what outputs are told apart by: fields by name or number, a,b for several, or an expression over r; the first field if none")
        words.takes("-n", metavar="N", type=at_least(1, "a number of changes"), default=20, help="behind how many changes to look (20)")

    def answer(self, given: Any, asking: Asking) -> Any:
        before, after = _result(given.before, asking), _result(given.after, asking)
        return asking.session.compare(before, after, key=None if given.key is None else key(given.key, asking.names, "--key"), most=given.n)


def narrowed(trace: Any, where: str | None, asking: Asking) -> Any:
    """Those of the records of a trace that ``--where`` says."""
    return trace if where is None else trace.where(condition(trace, where, asking.names, "--where"))


def operator(run: Any, what: str, asking: Asking) -> Any:
    """The operator that a variable stands for, or the one of a run with a number or a name. Raises UsageError if there is none, or several."""
    if what in asking.names:
        return asking.names[what]
    if what.isdecimal():
        return run.graph[int(what)]
    named = [each for each in run.graph if what in (each.name, f"{each.name}#{each.id}")]
    if len(named) != 1:
        there = ", ".join(f"{each.name}#{each.id}" for each in named or run.graph if "internal" not in each.detail)
        raise UsageError(plain(f"{what!r} is {'several operators' if named else 'no operator'} of {run.name}; it has {there}"))
    return named[0]


def _result(what: str, asking: Asking) -> Any:
    """What ``dbg.compare`` takes: a variable's value, or the outputs of a run."""
    value = asking.names.get(what)
    if isinstance(value, Cleaned):
        return value.replay
    return value if _is_replay(value) else asking.trace(what)


def _is_replay(value: Any) -> bool:
    from bigdebug.spark.rdd.replay import Replay as OfRecords
    from bigdebug.spark.sql.replay import FrameReplay

    return isinstance(value, OfRecords | FrameReplay)


def _gone(trace: Any, step: str) -> Any:
    """``trace`` one step further: to other operators, or to one of the inputs that it stands at."""
    if step in STEPS:
        return getattr(trace, _SHORT.get(step, step))()
    try:
        return trace[step]
    except UnknownOperatorError:
        raise UsageError(plain(f"a step is one of {', '.join(STEPS)}, or after goBackAll one of the inputs {', '.join(trace.inputs)}; not {step!r}")) from None

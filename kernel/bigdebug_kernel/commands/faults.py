"""Commands that say what is to blame: ``culprits``, ``localize``, ``explain``, ``mine``, ``clean``."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError

from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.model import SourceRecord
from bigdebug.shown import plain
from bigdebug.trace.culprits import Culprits as Found
from bigdebug.trace.sourced import Sourced
from bigdebug_kernel.asking import Asking, is_trace
from bigdebug_kernel.commands.command import Command
from bigdebug_kernel.commands.tracing import OF_RECORDS, narrowed, operator
from bigdebug_kernel.expressions import condition, function, key, meant
from bigdebug_kernel.words import Words, at_least, real


class Culprits(Command):
    """Show the records that a run crashed on, all of them, by cause.

    %lineage culprits           of the latest run that crashed
    %lineage culprits nightly

    What is not known yet is looked for, which runs again what crashed; an interruption shows those that are known by then.
    """

    name = "culprits"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="RUN", nargs="?", offers=Asking.crashed, help="a run by name or id, or a variable that holds one; the latest that crashed, if none is named")

    def answer(self, given: Any, asking: Asking) -> Any:
        run = _latest(asking) if given.what is None else asking.run(given.what)
        try:
            len(run.culprits)
        except KeyboardInterrupt:  # what was found stays, and says that it is not all
            if not run.culprits.known:
                raise
        return run.culprits


class Localize(Command):
    """Say which source records make outputs wrong, by running the program on some of those that they were made of.

    %lineage localize totals "total < 0"                a row is wrong if this is true of it
    %lineage localize report "r[1] < 0" --seconds 30
    %lineage localize report checks.at_most(60)         what comes with bigdebug: bigdebug.checks
    %lineage localize report --expected known --key r[0]
    %lineage localize boom --raises                     of a run that crashed: what makes it crash

    An interruption ends it, and shows what is known by then; so does Stop in what a notebook shows of it after a second.
    """

    name = "localize"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.subjects, help="a run by name or id, or a variable that holds an RDD, a DataFrame, a trace or a run")
        words.takes("test", metavar="TEST", nargs="?", offers=Asking.functions, help=f"what is true of a wrong output: {OF_RECORDS}; or a check")
        words.takes("--where", metavar="EXPR", help=f"look only at these outputs: {OF_RECORDS}")
        words.takes("--whole", metavar="EXPR", offers=Asking.functions, help="what is true of all outputs together if they are wrong: a function of a list, or an expression over rs")
        words.takes("--expected", metavar="NAME", offers=Asking.variables, help="a variable that holds what the outputs were to be: a list, an RDD or a DataFrame, or a dict by key")
        words.takes("--key", metavar="KEY", help="with --expected: what outputs are told apart by, a field by number or an expression over r")
        words.takes("--raises", action="store_true", help="exceptions of the program are failures, too")
        words.takes("--seconds", metavar="N", type=real, help="take so many seconds at most")
        words.takes("--tests", metavar="N", type=at_least(0, "a number of tests"), help="run the program so many times at most")

    def answer(self, given: Any, asking: Asking) -> Diagnosis:
        said = [text for text, value in (("a TEST", given.test), ("--whole", given.whole), ("--expected", given.expected)) if value is not None]
        if len(said) > 1 or not (said or given.raises):
            raise UsageError(f"%lineage localize takes one of TEST, --whole and --expected, or --raises; not {' and '.join(said) or 'none of them'}")
        if given.key is not None and given.expected is None:
            raise UsageError("--key goes with --expected; a TEST is about the whole output r")
        trace, names = narrowed(asking.trace(given.what), given.where, asking), asking.names
        diagnosis: Diagnosis = asking.session.localize(
            trace, None if given.test is None else condition(trace, given.test, names, "TEST"),
            key=None if given.key is None else _function_of(key(given.key, names, "--key")),
            whole=None if given.whole is None else function(given.whole, names, "--whole", "rs"),
            expected=None if given.expected is None else asking.variable(given.expected, "what the outputs were to be"),
            raises=given.raises, tests=given.tests, seconds=given.seconds,
        )
        return diagnosis


class Explain(Command):
    """Say what records have in common that few others of the same source have.

    %lineage explain found --among report      found = %lineage localize report "r[1] < 0"
    %lineage explain boom                      of the records that a run crashed on
    """

    name = "explain"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.blamed, help="a variable that holds a diagnosis, culprits, source records or a trace; or a run that crashed")
        words.takes("--among", metavar="NAME", offers=Asking.subjects, help="what they are compared with: a run, an RDD or a DataFrame, for all records of its sources, or a trace")

    def answer(self, given: Any, asking: Asking) -> Any:
        value = asking.names.get(given.what)
        among = None if given.among is None else asking.names.get(given.among)
        if given.among is not None and not asking.session.traceable(among):
            among = asking.run_called(given.among)
        if is_trace(value):
            return asking.session.explain(value, among)
        if not _blames(value):
            run = asking.run(given.what)
            if not run.culprits:
                raise UsageError(plain(f"no record crashed in {run.name}, so there is none to explain; name a diagnosis or a trace"))
            value, among = run.culprits, run if among is None else among
        if among is None:
            raise UsageError(f"say with --among what is asked about: the run, RDD or DataFrame that {given.what} is of")
        return asking.session.explain(value, among)


class Mine(Command):
    """Show what is unusual in a run: inputs with many outputs or few, outputs of many inputs, partitions unlike others.

    %lineage mine report
    %lineage mine totals --bad "total < 0"      and what is behind these, and behind few others
    """

    name = "mine"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.subjects, help="a run by name or id, or a variable that holds an RDD, a DataFrame, a trace or a run")
        words.takes("--bad", metavar="EXPR", help=f"outputs that are wrong: {OF_RECORDS}; or a variable with a trace, or a list of keys")
        words.takes("--good", metavar="EXPR", help="outputs that are right, in the same words; all others if none are named")
        words.takes("--names", metavar="HEADER", help="names of fields, as a header line has them: id,city,total")
        words.takes("-n", metavar="N", type=at_least(1, "a number of suspects"), default=20, help="how many suspects to show (20)")

    def answer(self, given: Any, asking: Asking) -> Any:
        trace, names = asking.trace(given.what), asking.names
        bad, good = (None if text is None else meant(trace, text, names, said) for text, said in ((given.bad, "--bad"), (given.good, "--good")))
        return asking.session.mine(trace, bad, good, names=given.names, most=given.n)


class Clean(Command):
    """Run the program without the records that make its worst outputs bad, again and again while that helps.

    %lineage clean report --quality "-abs(r[1])" --enough -60

    Nothing of the data is touched: the answer says which records were left out, and has the outputs without them.
    """

    name = "clean"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.subjects, help="a run by name or id, or a variable that holds an RDD, a DataFrame or a run")
        words.takes("--quality", metavar="EXPR", required=True, offers=Asking.functions, help="a number for an output, higher for a better one, in the words of --where")
        words.takes("--enough", metavar="X", type=real, help="outputs below are bad; those of unusually low quality, if it is not said")
        words.takes("--rounds", metavar="N", type=at_least(1, "a number of rounds"), default=5, help="how many times at most (5)")
        words.takes("--suspects", choices=("localize", "lineage"), default="localize", help="by what records are suspected: by running the program (localize), or all that only bad outputs were made of")
        words.takes("--at", metavar="OP", offers=Asking.subjects, help="where records are left out: a variable, or an operator's name or number; the sources if none")

    def answer(self, given: Any, asking: Asking) -> Any:
        trace = asking.trace(given.what)
        quality = condition(trace, given.quality, asking.names, "--quality")
        at = None if given.at is None else operator(trace.run, given.at, asking)
        return asking.session.clean(trace, quality, enough=given.enough, rounds=given.rounds, suspects=given.suspects, at=at)


def _latest(asking: Asking) -> Any:
    """The latest run that crashed, or left out what did. Raises UsageError if there is none."""
    for run in reversed(asking.session.runs):
        if run.status == "failed" or run.culprits.known:
            return run
    raise UsageError(f"no run has crashed; {asking.known()}")


def _function_of(found: Any) -> Any:
    """A key as a function of an output."""
    if callable(found):
        return found
    fields = found if isinstance(found, list) else [found]
    return lambda record: record[fields[0]] if len(fields) == 1 else tuple(record[field] for field in fields)


def _blames(value: Any) -> bool:
    """Whether a value says which records are to blame."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, SourceRecord | Sourced) for each in value)
    return isinstance(value, Diagnosis | Found | SourceRecord | Sourced)

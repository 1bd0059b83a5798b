"""The magics. Thin: they parse, call the session, and show what it gives."""

from __future__ import annotations

import ast
import inspect
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.utils.process import arg_split  # type: ignore[attr-defined]

from bigdebug.errors import BigdebugError, PredicateError, UnknownColumnError, UnknownOperatorError
from bigdebug.shown import plain
from bigdebug.trace.watch import Watch
from bigdebug_kernel.live import show_live

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension

STRATEGIES = ("auto", "lazy", "defer", "inject")
ON_CRASH = ("fail", "skip", "decide", "repair")
STEPS = ("back", "next", "goBack", "goNext", "goBackAll", "goNextAll")
COMMANDS = ("trace", "watch", "on", "off")

_SHORT = {"back": "goBack", "next": "goNext"}

_MISTAKES: tuple[type[BigdebugError], ...] = (PredicateError, UnknownColumnError, UnknownOperatorError)
"""What is wrong with a question, and not with a run or its inputs."""


def _some(text: str) -> int:
    """A number of records to show, as argparse wants its types."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"a number of records from 1, not {text!r}")
    return int(text)


@magics_class
class LineageMagics(Magics):
    """``%lineage`` and ``%%lineage``."""

    shell: Any  # Magics says that it can be None; one that is registered has a shell.

    def __init__(self, shell: Any, extension: Extension) -> None:
        super().__init__(shell)
        self._extension = extension

    def withdraw(self) -> None:
        """Take the magics out of the shell again."""
        manager = self.shell.magics_manager
        for kind in ("line", "cell"):
            manager.magics[kind].pop("lineage", None)
        manager.registry.pop(type(self).__name__, None)
        self.shell.configurables.remove(self)  # where Magics itself enters every instance

    # ---- %lineage ---------------------------------------------------------------------------------------------

    @no_var_expand
    @line_magic
    @magic_arguments("lineage")
    @argument("command", nargs="?", help=f"none, or one of: {', '.join(COMMANDS)}")
    @argument("what", nargs="?", help="trace: the name or id of a run, or a variable that holds an RDD, a DataFrame, a trace or a run; watch: a variable that holds a watch")
    @argument("steps", nargs="*", help=f"trace: where to go from there: {', '.join(STEPS)}, or one input of several by its name")
    @argument("--where", metavar="EXPR", help="trace: narrow the records before going: a function, an expression over r, or, for a DataFrame, SQL")
    @argument("-n", type=_some, default=20, help="trace: how many records to show (default: 20)")
    def lineage(self, line: str) -> Any:
        """Look at what was captured.

        ``%lineage`` lists the runs. ``%lineage on`` captures all cells that follow, ``%lineage off`` ends that.
        ``%lineage trace errors --where "r[1] > 1000" goBackAll`` shows the records that a run's, or an RDD's, came from;
        ``%lineage trace totals --where "total > 1000" goBackAll orders`` those of one input that a DataFrame's came from.
        ``%lineage watch w`` shows what a watch is told of while jobs of other cells run; without a name, what all watches are.
        """
        arguments = _parsed(self.lineage, line)
        if arguments.command in ("on", "off") and arguments.what is None:
            return self._all(arguments.command == "on")
        session = self._extension.session() or self._extension.latest
        if session is None:
            raise UsageError("no Spark session is running; make one first: spark = SparkSession.builder.getOrCreate()")
        if arguments.command is None:
            return session.runs_table()
        if arguments.command == "trace":
            return self._trace(session, arguments)
        if arguments.command == "watch":
            return self._watch(session, arguments.what)
        raise UsageError(f"%lineage knows on, off, trace WHAT and watch, not {line.strip()}; see %lineage?")

    def _all(self, on: bool) -> None:
        if self._extension.cells.capturing:
            raise UsageError("this cell is under %%lineage, which captures until its end; say on or off in another one")
        self._extension.capture_all(on)

    def _watch(self, session: Any, what: str | None) -> Any:
        watches = session.watches if what is None else [self.shell.user_ns.get(_unquoted(what))]
        if not watches:
            raise UsageError("no watch is on; w = dbg.watch(rdd, lambda record: ...) begins one")
        if not all(isinstance(watch, Watch) for watch in watches):
            raise UsageError(f"{what!r} is no variable with a watch; w = dbg.watch(rdd, lambda record: ...) makes one")
        return show_live(self.shell, watches)

    def _trace(self, session: Any, arguments: Any) -> Any:
        if arguments.what is None:
            raise UsageError(f"%lineage trace needs a run or a variable to begin with; runs: {_names(session)}")
        trace = self._subject(session, _unquoted(arguments.what))
        try:
            if arguments.where is not None:
                trace = trace.where(_condition(trace, _unquoted(arguments.where), self.shell.user_ns))
            for step in arguments.steps:
                trace = _gone(trace, _unquoted(step))
            return trace.table(arguments.n)
        except _MISTAKES as problem:
            raise UsageError(plain(str(problem))) from None

    def _subject(self, session: Any, what: str) -> Any:
        """The trace to begin with: a variable's, or the latest run's of that name or id."""
        if session.traceable(value := self.shell.user_ns.get(what)):
            return session.lineage(value)
        for run in reversed(session.runs):
            if what in (run.name, run.id):
                return session.lineage(run)
        raise UsageError(f"{what!r} is neither a run nor a variable with lineage; runs: {_names(session)}")

    # ---- %%lineage --------------------------------------------------------------------------------------------

    @no_var_expand
    @cell_magic("lineage")
    @magic_arguments("%lineage")  # the first % is IPython's
    @argument("name", nargs="?", help="a name for the runs; their action's if none is given")
    @argument("--strategy", choices=STRATEGIES, default="auto", help="where lineage lives; see dbg.capture")
    @argument("--on-crash", choices=ON_CRASH, default="fail", help="what becomes of records that crash; see dbg.capture")
    @argument("--with", dest="repair", help="for --on-crash repair: a function that gives another record for one that crashed")
    def lineage_cell(self, line: str, cell: str) -> Any:
        """Run the cell with lineage captured: each action in it becomes a run."""
        # Cells.transform takes such cells before they come here. What does come here is a call of run_cell_magic.
        code = self.shell.transform_cell(cell)
        filename = self.shell.compile.cache(code)
        tree = self.shell.transform_ast(self.shell.compile.ast_parse(code, filename=filename))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";") else None
        program = self.shell.compile(tree, filename, "exec")
        value = self.shell.compile(ast.Expression(last.value), filename, "eval") if last is not None else None
        if any(part is not None and part.co_flags & inspect.CO_COROUTINE for part in (program, value)):
            raise UsageError("await needs %%lineage in the first line of a cell, not called from elsewhere")
        capture = self._extension.cells.opened(*self.cell_arguments(line))
        try:
            exec(program, self.shell.user_ns)
            return None if value is None else eval(value, self.shell.user_ns)
        finally:
            self._extension.cells.close(capture)

    def cell_arguments(self, line: str) -> tuple[str | None, str, Any]:
        """Name, strategy, and what becomes of records that crash. Raises UsageError for what cannot be done."""
        arguments = _parsed(self.lineage_cell, line)
        on_crash = arguments.on_crash
        if (on_crash == "repair") != (arguments.repair is not None):
            raise UsageError("--on-crash repair and --with FUNCTION go together: the function gives another record for one that crashed")
        if on_crash == "repair":
            on_crash = self.shell.user_ns.get(arguments.repair)
            if not callable(on_crash):
                raise UsageError(f"{arguments.repair!r} is no function of this notebook")
        return (None if arguments.name is None else _unquoted(arguments.name)), arguments.strategy, on_crash


def _parsed(magic: Any, line: str) -> Any:
    """As IPython's parse_argstring, with options anywhere between the words."""
    try:
        return magic.parser.parse_intermixed_args(arg_split(line))
    except ValueError as problem:  # a quotation without an end
        raise UsageError(f"{line.strip()}: {problem}") from None
    except UsageError as problem:  # argparse's own words, which name neither the magic nor where help is
        called = f"%{magic.parser.prog}"
        raise UsageError(f"{called}: {problem}; see {called}?") from None


def _names(session: Any) -> str:
    """The runs of a session, for a sentence."""
    return ", ".join(dict.fromkeys(run.name for run in session.runs)) or "none"


def _unquoted(word: str) -> str:
    """IPython splits a magic's line at blanks outside of quotation marks, and leaves these on."""
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


def _gone(trace: Any, step: str) -> Any:
    """``trace`` one step further: to other operators, or to one of the inputs that it stands at."""
    if step in STEPS:
        return getattr(trace, _SHORT.get(step, step))()
    try:
        return trace[step]
    except UnknownOperatorError:
        inputs = ", ".join(trace.inputs)
        raise UsageError(
            f"a step is one of {', '.join(STEPS)}, or after goBackAll one of the inputs {inputs}; not {step!r}"
        ) from None


def _of_a_frame(trace: Any) -> bool:
    from bigdebug.spark.sql.lineage_frame import LineageFrame

    return isinstance(trace, LineageFrame)


def _condition(trace: Any, text: str, names: dict[str, Any]) -> Callable[[Any], Any] | str:
    """What ``where`` takes: for rows of a DataFrame the text is SQL, unless it speaks of ``r`` or names a function."""
    if not _of_a_frame(trace):
        return _predicate(text, names)
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return text
    called = isinstance(body, ast.Lambda) or (isinstance(body, ast.Name) and callable(names.get(body.id)))
    return _predicate(text, names) if called or _over_r(body) else text


def _over_r(body: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "r" for node in ast.walk(body))


def _predicate(text: str, names: dict[str, Any]) -> Callable[[Any], Any]:
    """The test that ``text`` says: a function of the user's, or an expression over the record ``r``."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise UsageError(f"--where {text}: {problem.msg}") from None
    if not isinstance(body, ast.Lambda) and _over_r(body):
        text = f"lambda r: ({text})"
    try:
        function = eval(compile(text.strip(), f"<--where {text.strip()}>", "eval"), names)
    except Exception as problem:  # it is the user's expression
        raise UsageError(f"--where {text}: {type(problem).__name__}: {problem}") from None
    if not callable(function):
        raise UsageError(f"--where {text} is the same for every record: write an expression over r, or name a function")
    return function  # type: ignore[no-any-return]

"""The magics. Thin: they parse, call the session, and show what it gives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

_STEPS = ("goBack", "goBackAll", "goNext", "goNextAll")


@magics_class
class LineageMagics(Magics):
    """``%lineage`` and ``%%lineage``."""

    def __init__(self, shell: Any, session: Callable[[], Any]) -> None:
        super().__init__(shell)
        self._session = session

    @magic_arguments()
    @argument("words", nargs="*", help="cell: a name for the runs. line: nothing, on, off, or trace WHAT [STEP ...]")
    @argument("--strategy", choices=("auto", "lazy", "inject", "defer"), default="auto", help="where lineage lives")
    @argument("--on-crash", choices=("fail", "skip", "repair"), default="fail", help="what a crashing record does")
    @argument("--where", help="trace: a Python expression over `r` that narrows the records first")
    @argument("-n", type=int, default=20, help="trace: how many records to show")
    @line_cell_magic
    def lineage(self, line: str, cell: str | None = None) -> Any:
        """Capture the lineage of a cell's actions, or look at what was captured.

        ``%%lineage NAME`` runs the cell under capture. ``%lineage`` lists the runs, ``%lineage on`` and ``off`` capture
        all that follows, ``%lineage trace report goBackAll`` shows a trace of a run, or of an RDD by its variable.
        """
        arguments = parse_argstring(self.lineage, line)
        if arguments.on_crash != "fail":
            raise UsageError(f"--on-crash {arguments.on_crash} is not there yet; only fail, which is what Spark does")
        if arguments.strategy == "defer":
            raise UsageError("--strategy defer is for DataFrames, which are not captured yet; use auto, inject or lazy")
        session = self._session()
        if session is None:
            raise UsageError("no Spark session is running; make one first: spark = SparkSession.builder.getOrCreate()")
        words = arguments.words
        if cell is not None:
            if len(words) > 1:
                raise UsageError(f"%%lineage takes one name, not {' '.join(words)}")
            return self._captured(session, words[0] if words else None, arguments.strategy, cell)
        if not words:
            return session.runs_table()
        if words[0] in ("on", "off") and len(words) == 1:
            session.context.setCaptureLineage(words[0] == "on")
            return None
        if words[0] == "trace" and len(words) > 1:
            return self._trace(session, words[1], words[2:], arguments)
        raise UsageError(f"%lineage knows on, off and trace, not {' '.join(words)}; see %lineage?")

    def _captured(self, session: Any, name: str | None, strategy: str, cell: str) -> Any:
        """Run a cell as IPython would, under capture; the value of its last expression is its result."""
        code = self.shell.transform_cell(cell)
        tree = self.shell.transform_ast(self.shell.compile.ast_parse(code, filename=self.shell.compile.cache(code)))
        filename = self.shell.compile.cache(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";") else None
        names = self.shell.user_ns
        value = None
        with session.capture(name, strategy) as capture:
            exec(self.shell.compile(tree, filename, "exec"), names)
            if last is not None:
                value = eval(self.shell.compile(ast.Expression(last.value), filename, "eval"), names)
        for run in capture.runs:
            print(run.summary())
            for reason in run.incomplete:
                print(f"    incomplete: {reason}")
        if not capture.runs:
            print("no action of an RDD with lineage ran in this cell")
        return value

    def _trace(self, session: Any, what: str, steps: list[str], arguments: Any) -> Any:
        subject = self.shell.user_ns.get(what)
        if subject is None:
            found = [run for run in session.runs if what in (run.name, run.id)]
            if not found:
                known = ", ".join(dict.fromkeys(run.name for run in session.runs)) or "none"
                raise UsageError(f"there is neither a variable nor a run {what!r}; runs: {known}")
            subject = found[-1]
        trace = subject if hasattr(subject, "goBackAll") else session.lineage(subject)
        if arguments.where:
            trace = trace.where(eval(f"lambda r: {arguments.where}", self.shell.user_ns))
        for step in steps:
            if step not in _STEPS:
                raise UsageError(f"a step is one of {', '.join(_STEPS)}, not {step!r}")
            trace = getattr(trace, step)()
        return trace.table(arguments.n)

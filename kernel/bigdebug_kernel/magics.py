"""The magics. Thin: they choose a command, or begin a capture; what is asked goes to the session, and what it gives is shown."""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from bigdebug.trace.capture import STRATEGIES
from bigdebug_kernel.asking import Asking
from bigdebug_kernel.commands import COMMANDS
from bigdebug_kernel.words import Words

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension

ON_CRASH = ("fail", "skip", "decide", "repair")

_HELP = re.compile(r"(?P<call>\s*%lineage\s+\w+)\s*\?{1,2}\s*$")


def _overview() -> str:
    """The help of ``%lineage``."""
    width = max(map(len, COMMANDS))
    known = "\n".join(f"%lineage {name.ljust(width)}  {command.summary}" for name, command in COMMANDS.items())
    return (
        f"Look at what was captured, and ask about it.\n\n%lineage {' ' * width}  List the runs.\n{known}\n\n"
        "%lineage COMMAND? says what a command takes. What it shows is a value, as of any cell: found = %lineage localize ...\n"
    )


def _cell_words() -> Words:
    words = Words("%%lineage", "Run the cell with lineage captured: each action in it becomes a run.", see="%%lineage?")
    words.takes("name", metavar="NAME", nargs="?", help="a name for the runs; their action's if none is given")
    words.takes("--strategy", choices=STRATEGIES, default="auto", help="where lineage lives; see dbg.capture")
    words.takes("--on-crash", choices=ON_CRASH, default="fail", help="what becomes of records that crash; see dbg.capture")
    words.takes(
        "--with", dest="repair", metavar="FUNCTION", offers=Asking.functions,
        help="for --on-crash repair: a function that gives another record for one that crashed",
    )
    return words


CELL = _cell_words()


def asks_for_help(lines: list[str]) -> list[str]:
    """``%lineage localize?``, alone in a cell, is a question about the command; IPython would look for a variable of that name."""
    asked = _HELP.match(lines[0]) if len([line for line in lines if line.strip()]) == 1 else None
    return lines if asked is None else [f"{asked['call']} --help\n"]


def _says(text: str) -> Any:
    """Makes ``text`` the docstring of a magic: what ``?`` shows."""
    def said(magic: Any) -> Any:
        magic.__doc__ = text
        return magic

    return said


@magics_class
class LineageMagics(Magics):
    """``%lineage`` and ``%%lineage``."""

    shell: Any  # Magics says that it can be None; one that is registered has a shell.

    def __init__(self, shell: Any, extension: Extension) -> None:
        super().__init__(shell)
        self._extension = extension
        self._asking = Asking(shell, extension)

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
    @_says(_overview())
    def lineage(self, line: str) -> Any:
        name, rest = (*line.split(maxsplit=1), "", "")[:2]
        if not name:
            return self._asking.session.runs_table()
        if name in ("--help", "-h"):
            return print(_overview())
        command = COMMANDS.get(name)
        if command is None:
            raise UsageError(f"%lineage knows {', '.join(COMMANDS)}, not {line.strip()}; see %lineage?")
        if rest.strip() in ("--help", "-h"):
            return print(command.help())
        return command.asked(rest, self._asking)

    # ---- %%lineage --------------------------------------------------------------------------------------------

    @no_var_expand
    @cell_magic("lineage")
    @_says(CELL.format_help())
    def lineage_cell(self, line: str, cell: str) -> Any:
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
        given = CELL.parsed(line)
        on_crash = given.on_crash
        if (on_crash == "repair") != (given.repair is not None):
            raise UsageError("--on-crash repair and --with FUNCTION go together: the function gives another record for one that crashed")
        if on_crash == "repair":
            on_crash = self.shell.user_ns.get(given.repair)
            if not callable(on_crash):
                raise UsageError(f"{given.repair!r} is no function of this notebook")
        return given.name, given.strategy, on_crash

    def offered(self, magic: str, before: list[str]) -> list[str]:
        """What can follow the words ``before``, of ``%lineage`` or of a cell's first line."""
        if magic == "%%":
            return CELL.offered(before, self._asking)
        if not before:
            return list(COMMANDS)
        command = COMMANDS.get(before[0])
        return [] if command is None else command.words.offered(before[1:], self._asking)

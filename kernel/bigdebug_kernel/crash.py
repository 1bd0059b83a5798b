"""Crash: how a cell shows that a job crashed. Its own lines, what Spark says, and the culprits, without the frames of Spark's own in between."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from bigdebug.outside import said
from bigdebug.shown import masked, masking

log = logging.getLogger("bigdebug")

_LIBRARIES = ("pyspark", "py4j", "bigdebug", "bigdebug_kernel")

_COLOR = re.compile(r"\x1b\[[\d;]*m")
_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+)')
_OF_SPARK = re.compile(r"pyspark\.zip[/\\]|[/\\](?:site|dist)-packages[/\\](?:pyspark|py4j|bigdebug)[/\\]|[/\\]bigdebug[/\\]agents[/\\]")
"""Files of workers, which may have them elsewhere than this process. A folder of the user's may be called pyspark."""

_OF_JAVA = re.compile(r"\s+(?:at [\w.$/]+[\w$<>]\(.*\)|\.\.\. \d+ (?:more|common frames omitted))\s*$")


Naming = Callable[[str], str | None]
"""What the user calls a file that is a cell's: "Cell In[3]"."""


class CrashDisplay:
    """The display of jobs' crashes in one shell, where no other handler of exceptions is set. The exception stays what it is: ``%tb`` shows all of it, ``%debug`` is where it was raised."""

    def __init__(self, shell: Any, called: Naming) -> None:
        self._shell = shell
        self._called = called
        self._before: Any = None

    def arm(self) -> None:
        """Show crashes from now on; PySpark has been imported."""
        if self._before is not None or self._shell.custom_exceptions:
            return
        from bigdebug.spark.crashes import RAISED

        self._before = self._shell.CustomTB
        self._shell.set_custom_exc(RAISED, self._show)
        self._ours = self._shell.CustomTB

    def disarm(self) -> None:
        """Let IPython show crashes again, unless somebody has set a handler since."""
        if self._before is not None and self._shell.CustomTB is self._ours:
            self._shell.custom_exceptions, self._shell.CustomTB = (), self._before
        self._before = None

    def _show(self, shell: Any, kind: type[BaseException], problem: BaseException, trace: TracebackType | None, tb_offset: int | None = None) -> None:
        """What IPython calls in the place of its own display; a handler that raises would never be called again."""
        lines = self._lines(kind, problem, trace, tb_offset) if crashed(problem) else None
        if lines is None:
            shell.showtraceback((kind, problem, trace), tb_offset=tb_offset, running_compiled_code=True)
            return
        shell._get_exc_info((kind, problem, trace))  # %tb and %debug ask for the latest
        shell._showtraceback(kind, problem if masking() is None else masked(said(problem)), lines)  # a kernel sends what it says, which notebooks keep
        if shell.call_pdb:
            shell.debugger(force=True)

    def _lines(self, kind: type[BaseException], problem: BaseException, trace: TracebackType | None, tb_offset: int | None) -> list[str] | None:
        try:
            whole = self._shell.InteractiveTB.structured_traceback(kind, problem, without_libraries(trace), tb_offset=tb_offset)
            return shortened("\n".join(whole), self._called)
        except Exception:  # the user is to see the exception, in whatever way
            log.debug("bigdebug could not shorten a traceback", exc_info=True)
            return None


def crashed(problem: BaseException) -> bool:
    """Whether an exception tells of culprits."""
    return any(str(note).startswith("bigdebug: ") for note in getattr(problem, "__notes__", ()))


def without_libraries(trace: TracebackType | None) -> TracebackType | None:
    """The frames of the user's own, behind the first, which is IPython's. Those of workers are told by the exception's text."""
    every = []
    while trace is not None:
        every.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for each in reversed([each for at, each in enumerate(every) if at == 0 or not _of_library(each)]):
        made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


def shortened(text: str, called: Naming) -> list[str]:
    """A traceback without frames of Spark's workers and of Java, and without what is secret, cells by the names that they have, and where the whole one is."""
    own = [_masked(_named(line, called)) for line in _own_lines(text.split("\n"))]
    return ["\n".join([*own, "%lineage culprits shows all records that crashed; %tb the whole traceback, with the frames of Spark and bigdebug."])]


def _own_lines(lines: list[str]) -> Iterator[str]:
    """The lines that belong to no frame of a worker or of Java: neither its header, nor the code below that."""
    inside = False
    for line in lines:
        bare = _COLOR.sub("", line)
        frame = _FRAME.match(bare)
        inside = bool(_OF_SPARK.search(frame["file"])) if frame is not None else inside and bare.startswith("    ")
        if not (inside or _OF_JAVA.match(bare) or bare.strip() == "Driver stacktrace:"):
            yield line


def _masked(line: str) -> str:
    """A line without what is secret: then also without colors, of which one may begin within a secret."""
    bare = _COLOR.sub("", line)
    hidden = masked(bare)
    return line if hidden == bare else hidden


def _named(line: str, called: Naming) -> str:
    """A line of a traceback with the name of a cell in the place of its file's."""
    frame = _FRAME.match(line)
    name = None if frame is None else called(frame["file"])
    if frame is None or name is None:
        return line
    return f"  {name}, line {frame['line']}{line[frame.end():]}"


def _of_library(trace: TracebackType) -> bool:
    """Whether a frame is PySpark's, py4j's or bigdebug's; or stands for one of a worker, which PySpark makes up of text."""
    frame = trace.tb_frame
    return "__traceback_maker" in frame.f_code.co_names or str(frame.f_globals.get("__name__", "")).partition(".")[0] in _LIBRARIES

"""Commands about what is captured: ``on``, ``off``, ``watch``."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError

from bigdebug.trace.watch import Watch
from bigdebug_kernel.asking import Asking
from bigdebug_kernel.commands.command import Command
from bigdebug_kernel.live import show_live
from bigdebug_kernel.words import Words


def _capture_all(asking: Asking, on: bool) -> None:
    if asking.extension.cells.capturing:
        raise UsageError("this cell is under %%lineage, which captures until its end; say on or off in another one")
    asking.extension.capture_all(on)


class On(Command):
    """Capture all cells that follow, until %lineage off."""

    name = "on"

    def answer(self, given: Any, asking: Asking) -> None:
        _capture_all(asking, on=True)


class Off(Command):
    """Capture only what %%lineage says, again."""

    name = "off"

    def answer(self, given: Any, asking: Asking) -> None:
        _capture_all(asking, on=False)


class WatchLive(Command):
    """Show what a watch is told of while jobs of other cells run; without a name, what all watches are.

    w = dbg.watch(rdd, lambda record: ...) begins a watch, and w.stop() ends it.
    """

    name = "watch"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="WATCH", nargs="?", offers=Asking.watches, help="a variable that holds a watch")

    def answer(self, given: Any, asking: Asking) -> Any:
        what = given.what
        watches: list[Any] = [*asking.session.watches] if what is None else [asking.names.get(what)]
        if not watches:
            raise UsageError("no watch is on; w = dbg.watch(rdd, lambda record: ...) begins one")
        if not all(isinstance(watch, Watch) for watch in watches):
            raise UsageError(f"{what!r} is no variable with a watch; w = dbg.watch(rdd, lambda record: ...) makes one")
        return show_live(asking.shell, watches)

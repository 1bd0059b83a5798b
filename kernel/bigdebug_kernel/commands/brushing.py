"""``brush``: linked views of several results."""

from __future__ import annotations

from typing import Any

from bigdebug_kernel.asking import Asking
from bigdebug_kernel.commands.command import Command
from bigdebug_kernel.words import Words


class Brush(Command):
    """Draw results over one input as charts that filter each other: what is brushed in one shows in the others.

    %lineage brush carriers days
    %lineage brush totals orders_by_day --over orders
    """

    name = "brush"

    def takes(self, words: Words) -> None:
        words.takes("what", metavar="NAME", offers=Asking.subjects, help="a run, or a variable that holds an RDD or a DataFrame")
        words.takes("others", metavar="NAME", nargs="*", offers=Asking.subjects, help="others over the same input")
        words.takes("--over", metavar="INPUT", help="the input that they share, if there are several")

    def answer(self, given: Any, asking: Asking) -> Any:
        from bigdebug.views.linking import brush  # it loads PySpark, which is the user's to choose

        return brush(*(_result(what, asking) for what in (given.what, *given.others)), over=given.over)


def _result(what: str, asking: Asking) -> Any:
    value = asking.names.get(what)
    return value if asking.session.traceable(value) else asking.run_called(what)

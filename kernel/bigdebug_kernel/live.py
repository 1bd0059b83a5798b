"""Live: what a watch is told of, in the output of a cell, while the cells behind it run."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from IPython.display import display

from bigdebug.trace.watch import Watch

EVERY = 0.25
"""Seconds between two looks."""


def show_live(shell: Any, watches: Sequence[Watch]) -> Any:
    """Show watches until they are off, each in an output of its own. A terminal shows them as they are now: what it has printed stays."""
    if getattr(shell, "kernel", None) is None:
        return watches[0] if len(watches) == 1 else list(watches)
    for watch in watches:
        Live(watch).start()
    return None


class Live(threading.Thread):
    """The output of one watch."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(name="bigdebug live", daemon=True)
        self._watch = watch
        self._shown = dict(watch._repr_mimebundle_())
        self._handle: Any = display(self._shown, raw=True, display_id=True)

    def run(self) -> None:
        on = True
        while on:
            time.sleep(EVERY)
            on = self._watch.on
            now = dict(self._watch._repr_mimebundle_())
            if now != self._shown:
                self._shown = now
                self._handle.update(now, raw=True)

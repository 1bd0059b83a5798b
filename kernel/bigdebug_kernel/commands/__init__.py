"""The words after ``%lineage``, each an object with its arguments, its help, what Tab offers behind it, and its answer."""

from __future__ import annotations

from bigdebug_kernel.commands.brushing import Brush
from bigdebug_kernel.commands.capturing import Off, On, WatchLive
from bigdebug_kernel.commands.command import Command
from bigdebug_kernel.commands.datasets import Datasets
from bigdebug_kernel.commands.faults import Clean, Culprits, Explain, Localize, Mine
from bigdebug_kernel.commands.tracing import Compare, Replay, Trace

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (On(), Off(), Trace(), Culprits(), Localize(), Explain(), Mine(), Replay(), Compare(), Clean(), Brush(), WatchLive(), Datasets())
}

"""Flows: items that one actor gives and another takes without a file between them, found again by equal hashes (Newt 3.2, 3.3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bigdebug.actors.items import Items
from bigdebug.errors import UntraceableError
from bigdebug.trace.across.located import gives_path
from bigdebug.trace.positions import Positions


class Flows:
    """The items that an actor takes from others: ``sources`` are what these give. Items without hashes are matched one by one in their order.

    Raises UntraceableError where that cannot be said: several actors give, or not as many as are taken, or of one side some items have hashes, and others neither hash nor place.
    """

    def __init__(self, inputs: Items, sources: Mapping[str, Items]) -> None:
        self.sources = sources
        self._inputs = inputs
        self._paths = {gives_path(source): items for source, items in sources.items()}

    def gives(self, path: str) -> bool:
        """Whether what has this name comes from an actor that is linked."""
        return path in self._paths

    def count(self, path: str) -> int:
        """How many items a source gave."""
        return self._paths[path].count

    def found(self) -> list[str]:
        """The sources whose outputs are found again by value, also where they stand in files."""
        return [source for source, items in self.sources.items() if self._by_value(items)]

    def given(self, numbers: Positions, nowhere: Positions) -> tuple[dict[str, Positions], Positions]:
        """Of some inputs, and of those of them that stand in no file: the outputs of each source that they are, and those in no file that none of them gave."""
        found, own = {}, nowhere
        for source, items in self.sources.items():
            if self._by_value(items):
                found[source] = items.equal(self._inputs.digests_at(numbers))
                known = self._inputs.equal(items.digests_at(found[source]))
                own = np.setdiff1d(own, known, assume_unique=True)
            elif len(nowhere):
                found[source], own = self._in_order(source, items, nowhere), own[:0]
        return found, own

    def taken(self, path: str, positions: Positions) -> Positions:
        """The inputs that some outputs of a source are."""
        items = self._paths[path]
        numbers = items.check(positions)
        return self._inputs.equal(items.digests_at(numbers)) if self._by_value(items) else self._in_order(path, items, numbers)

    def _by_value(self, given: Items) -> bool:
        return bool(len(given.valued) and len(self._inputs.valued)) and not given.loose and not self._inputs.loose

    def _in_order(self, source: str, given: Items, numbers: Positions) -> Positions:
        mixed = bool(len(given.valued) and len(self._inputs.valued))
        if mixed or len(self.sources) > 1 or given.count != self._inputs.count:
            raise UntraceableError(
                f"What {source} gave ({given.count:,} items) cannot be found among what was taken ({self._inputs.count:,}): not all say what they hold",
                remedy="Give both actors the items: add_output(item) and add_input(item).",
            )
        return numbers



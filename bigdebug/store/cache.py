"""The blocks that a store has read, as many as memory is for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from bigdebug.store.blocks import Block

Key = tuple[str, str, int]
"""A run, a stage and a partition."""


class BlockCache:
    """Blocks with what is made of them, up to ``most`` bytes, and the one that was asked for last; and the facts of all that were read, some hundred bytes each. Who uses it
    locks it.

    An interruption comes at any call, between any two lines that make one: what is kept may be uncounted then, and nothing is counted that is not kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._blocks: OrderedDict[Key, Block] = OrderedDict()
        self._facts: dict[Key, Block] = {}
        self._sizes: dict[Key, int] = {}
        self._bytes = 0
        self._latest: Key | None = None
        """The block that was asked for last: what is made of it meanwhile is counted when another one is."""

    def __contains__(self, key: Key) -> bool:
        return key in self._blocks

    def facts(self, key: Key) -> Block | None:
        """The block without its tables, if it was read."""
        return self._facts.get(key)

    def remember(self, key: Key, read: Block) -> Block:
        """A block that was read, or the one that another question has read meanwhile."""
        if key not in self._blocks:
            size, facts = read.bytes, replace(read, columns={})
            self._blocks[key], self._facts[key] = read, facts
            self._count(key, size)
        return self.block(key)

    def block(self, key: Key) -> Block:
        """A block that is there, and in use from here on; others make room for it."""
        self._blocks.move_to_end(key)
        if key != self._latest:
            if self._latest is not None and self._latest in self._blocks:
                self._count(self._latest, self._blocks[self._latest].bytes)
            self._latest = key
        while self._bytes > self._most and len(self._blocks) > 1:
            self._drop(next(iter(self._blocks)))
        return self._blocks[key]

    def forget(self, run: str) -> None:
        """Let go of what was read of a run."""
        for cached in [key for key in self._blocks if key[0] == run]:
            self._drop(cached)
        for known in [key for key in self._facts if key[0] == run]:
            del self._facts[known]

    def _count(self, key: Key, size: int) -> None:
        self._bytes += size - self._sizes.get(key, 0)
        self._sizes[key] = size

    def _drop(self, key: Key) -> None:
        self._bytes -= self._sizes.get(key, 0)
        self._sizes.pop(key, None)
        del self._blocks[key]

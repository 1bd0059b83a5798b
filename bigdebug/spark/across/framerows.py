"""Frame rows: rows of a DataFrame that was made of a pandas frame which a step gave: each is the row of the frame that stands as far from the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bigdebug.actors.items import Items
from bigdebug.model import POSITION_BITS, POSITION_MASK
from bigdebug.spark.across.leaffiles import rids_of_pieces
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.trace.across.located import Located
from bigdebug.trace.positions import distinct


class FrameRows:
    """The rows of one leaf, which ``items`` are: as the frame had them when the DataFrame was made. Where Spark has them in several partitions, a job counts these, once for the leaf."""

    def __init__(self, catalyst: Catalyst, leaf: Leaf, items: Items) -> None:
        self._catalyst = catalyst
        self._leaf = leaf
        self._items = items

    def located(self, rids: npt.NDArray[np.int64]) -> Sequence[Located]:
        """Where the records with these rids stand: in files, or in what a step gave."""
        if not len(rids) or not self._items.places.files:
            return ()
        partitions = rids >> POSITION_BITS
        return tuple(self._items.places.locate(distinct(self._firsts(int(partitions.max()))[partitions] + (rids & POSITION_MASK))))

    def rids(self, given: Sequence[Located]) -> npt.NDArray[np.int64]:
        """The rids of the records that stand there."""
        numbers = distinct(np.concatenate([np.empty(0, np.int64), *(self._items.places.numbers(one) for one in given)]))
        if not len(numbers):
            return np.empty(0, np.int64)
        firsts = self._firsts(self._leaf.node.rdd().getNumPartitions() - 1 if self._leaf.counts else 0)
        return rids_of_pieces([(first, number) for number, first in enumerate(firsts.tolist())], numbers)

    def _firsts(self, last: int) -> npt.NDArray[np.int64]:
        """By partition, up to the last one, how many rows stand before it."""
        return np.array([first for _, first in self._leaf.whereabouts(self._catalyst, last).places], np.int64)

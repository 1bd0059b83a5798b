"""Reconstructed: associations from the order in which inputs and outputs were noted, after capture (paired capture, Newt 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bigdebug.actors.associations import Intervals
from bigdebug.actors.columns import Column
from bigdebug.store.ranges import spread

INPUT, OUTPUT, RESET, PAIR, LONE = range(5)
"""What an event is: an input, an output, a reset; an input with the one output that was made of it; an input that nothing was made of."""

KINDS = 8
"""An event is its kind, and this many times the number of its set of tags."""

Events = npt.NDArray[np.int64]


def reconstructed(events: Events, tagsets: Sequence[Sequence[int]]) -> Intervals:
    """An output was made of every input of lesser time that has one of its tags, since that tag was last reset.

    ``tagsets`` are the numbers of the tags of each set. Takes a few passes over the events, and sorts them by tag if there are several tags.
    """
    kinds = events % KINDS
    takes, gives = np.isin(kinds, (INPUT, PAIR, LONE)), np.isin(kinds, (OUTPUT, PAIR))
    inputs, outputs = np.cumsum(takes) - 1, np.cumsum(gives) - 1
    paired = np.flatnonzero(kinds == PAIR)
    order, tags = _by_tag(events, kinds, tagsets)
    arrived = kinds[order] == INPUT
    before = np.cumsum(arrived)
    since = _since(before, kinds[order] == RESET, tags)
    left = kinds[order] == OUTPUT
    members = np.concatenate((inputs[order[arrived]], inputs[paired]))
    own = np.arange(len(paired)) + int(arrived.sum())
    made = np.concatenate((outputs[order[left]], outputs[paired]))
    starts, stops = np.concatenate((since[left], own)), np.concatenate((before[left], own + 1))
    if bool((made[1:] < made[:-1]).any()):
        sorted_ = np.argsort(made, kind="stable")
        made, starts, stops = made[sorted_], starts[sorted_], stops[sorted_]
    return Intervals(Column.of(made), Column.of(starts), Column.of(stops), Column.of(members))


def _by_tag(events: Events, kinds: Events, tagsets: Sequence[Sequence[int]]) -> tuple[Events, Events]:
    """The events of paired capture, once for each of their tags: tag by tag, and within a tag as they came; and their tags."""
    paired = np.flatnonzero(kinds <= RESET)
    sets = events[paired] // KINDS
    sizes = np.array([len(tags) for tags in tagsets], np.int64)
    ends = np.cumsum(sizes)
    flat = np.array([tag for tags in tagsets for tag in tags], np.int64)
    order, tags = np.repeat(paired, sizes[sets]), flat[spread((ends - sizes)[sets], sizes[sets])]
    if len(flat) > 1:
        sorted_ = np.argsort(tags, kind="stable")
        order, tags = order[sorted_], tags[sorted_]
    return order, tags


def _since(before: Events, resets: npt.NDArray[np.bool_], tags: Events) -> Events:
    """How many inputs had come, of all tags in this order, when the tag of each event was last empty."""
    if not len(tags):
        return before
    begins = np.concatenate(([True], tags[1:] != tags[:-1]))
    # At its first event a tag is empty, and so it is before that event counts.
    empty = np.where(begins, np.concatenate(([0], before[:-1])), np.where(resets, before, 0))
    return np.maximum.accumulate(empty)

"""Multiplicity: operators that make unusually many, or few, outputs of an input, or make an output of unusually many inputs (Newt 4.1, 7.3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.errors import UnknownRecordError
from bigdebug.mining.grubbs import ALPHA, Outlier, outliers
from bigdebug.model import Origin
from bigdebug.shown import by_fields
from bigdebug.trace.positions import Positions, distinct

Instance = tuple[Any, int]
"""An operator's id (or what else names one) and a partition: Newt's actor instance."""

Multiplicities = Mapping[Instance, npt.NDArray[Any]]
"""By instance, how many outputs each of its inputs has, by position, or how many inputs each output. An input without outputs counts 0."""

Records = Mapping[Instance, Iterable[int]]
"""By instance, positions of what is counted at."""


class Way(Enum):
    """What is counted: the outputs of each input, or the inputs of each output. In words: what has a count, and what is counted."""

    OUTPUTS = "input", "output"
    INPUTS = "output", "input"

    def says(self, count: float) -> str:
        """What one has, in words."""
        counted = f"{count:,.10g} {self.value[1]}{'' if count == 1 else 's'}"
        return f"has {counted}" if self is Way.OUTPUTS else f"was made of {counted}"


FEWEST = 5
"""Fewer inputs, or partitions, are not compared: among three or four, chance makes one the odd one out, and next to equal ones a nearly equal one is an outlier."""


class Made(IntEnum):
    """What is known of the outputs that an input, or any of an instance, has part in; the most suspicious first."""

    BAD = 0
    BOTH = 1
    UNKNOWN = 2
    GOOD = 3


_SAYS = {
    Made.BAD: " Only bad outputs were made of {it}.",
    Made.BOTH: " Bad and good outputs were made of {it}.",
    Made.UNKNOWN: "",
    Made.GOOD: " Only good outputs were made of {it}.",
}


@dataclass(frozen=True, repr=False)
class Suspect:
    """An input of an operator (at ``position`` of ``partition``), or an output if ``way`` says so, or a whole partition (None), with an unusual multiplicity.

    ``multiplicity`` is the outputs of the input, or the inputs of the output, or the mean over those of the partition. ``score``, above 1, is the statistic
    of its test over what chance allows, and not less than that of an outlier which is nearer to the others. ``evidence`` says it in sentences. ``made`` is what is known of the
    outputs that were made of it. Rows of queries have no ``partition``. ``records`` is the record itself, where somebody has looked it up, and ``origins`` where it came from, if it stands at a source.
    """

    operator: Any
    partition: int | None
    position: int | None
    multiplicity: float
    score: float
    evidence: str
    way: Way = Way.OUTPUTS
    made: Made = Made.UNKNOWN
    records: tuple[Any, ...] = ()
    origins: tuple[Origin, ...] = ()

    def __repr__(self) -> str:
        return by_fields(self)


def suspects(
    counts: Multiplicities, bad: Records | None = None, good: Records | None = None, called: Callable[[Instance], str] | None = None,
    alpha: float = ALPHA, most: int = 20, way: Way = Way.OUTPUTS, together: bool = False, numbered: bool = True,
) -> list[Suspect]:
    """Inputs and partitions whose multiplicity is an outlier: first what only bad outputs were made of, then by score.

    Phase 1 compares an input with the others of its instance, phase 2 the mean of an instance with those of the other instances of its
    operator, by ``grubbs.outliers`` at level ``alpha``, up to less than half of them; FEWEST at least. Of each instance the ``most`` first inputs are told.

    ``bad`` and ``good`` are the inputs that known outputs were made of. Given ``bad``, only instances with such inputs are told, and
    no inputs of good outputs alone; inputs of neither are (what has no outputs is in nobody's lineage), but last. Given both, what
    phase 1 compares is the inputs in either, where these are FEWEST at least: of the others, nobody said that they are right (Newt,
    Figure 6). Phase 2 takes the mean over all inputs of an instance, also where it has no bad ones, so that there is something to compare with.

    If ``together``, all instances of an operator are one sample, and there is no phase 2: what a hash of keys puts into a partition is no peer of the others there.

    ``called`` gives instances their names ("partition 0 of flatMap"); positions are told as well, if they are ``numbered``. With another ``way``, all this is of outputs where inputs are said. An instance without inputs has no mean, and is left out. Raises UnknownRecordError for
    inputs in ``bad`` or ``good`` that have no count. Cost: a sort of each instance's counts.
    """
    found: list[Suspect] = []
    instances: dict[int, list[_Instance]] = {}
    for records in (bad or {}, good or {}):
        for unknown in sorted(set(records) - set(counts)):
            _within(records[unknown], 0, unknown)
    samples: dict[Any, list[Instance]] = {}
    for place in sorted(counts):
        if len(counts[place]):
            samples.setdefault(place[0] if together else place, []).append(place)
    for places in samples.values():
        instance = _Instance({place: np.asarray(counts[place]) for place in places}, bad, good, called or _called, way, numbered)
        instances.setdefault(places[0][0], []).append(instance)
        found += sorted(instance.inputs(alpha), key=rank)[:most]
    for peers in instances.values() if not together else ():
        found += _partitions(peers, alpha)
    return sorted(found, key=rank)


class _Instance:
    """The inputs of one operator in one partition, or in several together, how many outputs they have, and what is known of these."""

    def __init__(
        self, parts: Mapping[Instance, npt.NDArray[Any]], bad: Records | None, good: Records | None, called: Callable[[Instance], str], way: Way,
        numbered: bool,
    ) -> None:
        self._numbered = numbered
        self._places, self._ends = list(parts), np.cumsum([0, *map(len, parts.values())])
        self.place, self.outputs, self._called, self.way = self._places[0], np.concatenate(list(parts.values())), called, way
        self._narrowed, self._compared = bad is not None, bad is not None and good is not None
        wrong, right = (
            np.concatenate([_within((records or {}).get(place, ()), len(parts[place]), place) + start for place, start in zip(self._places, self._ends)])
            for records in (bad, good)
        )
        self._made = np.full(len(self.outputs), Made.UNKNOWN, dtype=np.int8)
        self._made[right] = Made.GOOD
        self._made[wrong] = np.where(self._made[wrong] == Made.GOOD, Made.BOTH, Made.BAD)
        self.made = (Made.BOTH if len(right) else Made.BAD) if len(wrong) else Made.GOOD if len(right) else Made.UNKNOWN
        self.told = not self._narrowed or len(wrong) > 0
        self.mean = float(self.outputs.mean())

    @property
    def called(self) -> str:
        return self._called(self.place)

    def at(self, position: int) -> tuple[Instance, int]:
        """The instance that an input is of, and its position there."""
        part = int(np.searchsorted(self._ends, position, side="right")) - 1
        return self._places[part], position - int(self._ends[part])

    def inputs(self, alpha: float) -> Iterator[Suspect]:
        """Phase 1."""
        if not self.told:
            return
        known = np.flatnonzero(self._made != Made.UNKNOWN)
        sample = known if self._compared and len(known) >= FEWEST else np.arange(len(self.outputs))
        unusual = _unusual(self.outputs[sample], alpha)
        usual = np.delete(self.outputs[sample], [each.index for each in unusual])
        mean = float(usual.mean())
        alike = Counter(each.value for each in unusual)
        for each, score in _scored(unusual):
            position = int(sample[each.index])
            made = Made(int(self._made[position]))
            if self._narrowed and made is Made.GOOD:
                continue
            too = _too(alike[each.value] - 1)
            place, at = self.at(position)
            one = self.way.value[0]
            number = f"{one.capitalize()} {at:,}" if self._numbered else f"An {one}"
            evidence = (
                f"{number} of {self._called(place)} {self.way.says(each.value)}{too}, where "
                f"the {len(usual):,} usual {one}s have {mean:,.4g} on average{_grubbs(each)}{_SAYS[made].format(it='it')}"
            )
            yield Suspect(*place, at, each.value, score, evidence, self.way, made)


def _partitions(peers: list[_Instance], alpha: float) -> Iterator[Suspect]:
    """Phase 2."""
    means = np.array([peer.mean for peer in peers])
    unusual = _unusual(means, alpha)
    usual = np.delete(means, [each.index for each in unusual])
    for each, score in _scored(unusual):
        peer = peers[each.index]
        if peer.told:
            one, counted = peer.way.value
            evidence = (
                f"{peer.called[:1].upper()}{peer.called[1:]} has {each.value:,.6g} {counted}s per {one} ({len(peer.outputs):,} {one}s), where "
                f"the {len(usual):,} usual partitions have {float(usual.mean()):,.6g} on average{_grubbs(each)}"
                f"{_SAYS[peer.made].format(it=f'its {one}s')}"
            )
            yield Suspect(*peer.place, None, each.value, score, evidence, peer.way, peer.made)


def _unusual(sample: npt.NDArray[Any], alpha: float) -> list[Outlier]:
    """Its outliers, however many, as long as most are none: that there are none is said of all of them."""
    return outliers(sample, alpha, len(sample)) if len(sample) >= FEWEST else []


def _scored(unusual: list[Outlier]) -> list[tuple[Outlier, float]]:
    """With scores that fall from the most extreme on: what one outlier masks of another's statistic is not in its favour."""
    ratios = accumulate((each.statistic / each.critical for each in reversed(unusual)), max)
    return [*zip(unusual, [*ratios][::-1])]


def rank(suspect: Suspect) -> tuple[Any, ...]:
    """The key by which the most suspicious comes first. Of those that are equal in this, the more extreme stand first already."""
    return suspect.made, -suspect.score, suspect.operator, suspect.partition or 0


def _within(records: Iterable[int], size: int, place: Instance) -> Positions:
    """As positions, all of them below ``size``."""
    positions = distinct(records if isinstance(records, np.ndarray) else np.array([*records], dtype=np.int64))
    if len(positions) and not 0 <= positions[0] <= positions[-1] < size:
        raise UnknownRecordError(
            f"Operator {place[0]} has {size:,} inputs in partition {place[1]}", value=int(positions[0] if positions[0] < 0 else positions[-1]),
            remedy="Bad and good are positions of inputs that have counts.",
        )
    return positions


def _grubbs(outlier: Outlier) -> str:
    off = f": it is {outlier.statistic:,.4g} standard deviations off"
    if outlier.statistic > outlier.critical:
        return f"{off}, and chance allows {outlier.critical:.3g}."
    return f"{off} (chance allows {outlier.critical:.3g}, but one that is nearer to the others is an outlier already)."


def _called(place: Instance) -> str:
    return f"partition {place[1]} of operator {place[0]}"


def _too(others: int) -> str:
    return "" if not others else " (as 1 other has)" if others == 1 else f" (as {others:,} others have)"

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


@dataclass(frozen=True)
class Suspect:
    """An input of an operator (at ``position`` of ``partition``), or an output if ``way`` says so, or a whole partition (None), with an unusual multiplicity.

    ``multiplicity`` is the outputs of the input, or the inputs of the output, or the mean over those of the partition. ``score``, above 1, is the statistic
    of its test over what chance allows, and not less than that of an outlier which is nearer to the others. ``evidence`` says it in sentences.
    """

    operator: Any
    partition: int
    position: int | None
    multiplicity: float
    score: float
    evidence: str
    way: Way = Way.OUTPUTS


def suspects(
    counts: Multiplicities, bad: Records | None = None, good: Records | None = None, called: Callable[[Instance], str] | None = None,
    alpha: float = ALPHA, most: int = 20, way: Way = Way.OUTPUTS,
) -> list[Suspect]:
    """Inputs and partitions whose multiplicity is an outlier: first what only bad outputs were made of, then by score.

    Phase 1 compares an input with the others of its instance, phase 2 the mean of an instance with those of the other instances of its
    operator (three at least), by ``grubbs.outliers`` at level ``alpha``. Of each instance the ``most`` first inputs are told.

    ``bad`` and ``good`` are the inputs that known outputs were made of. Given ``bad``, only instances with such inputs are told, and
    no inputs of good outputs alone; inputs of neither are (what has no outputs is in nobody's lineage), but last. Given both, what
    phase 1 compares is the inputs in either, where these are three at least: of the others, nobody said that they are right (Newt,
    Figure 6). Phase 2 takes the mean over all inputs of an instance, also where it has no bad ones, so that there is something to compare with.

    ``called`` gives instances their names ("partition 0 of flatMap"). With another ``way``, all this is of outputs where inputs are said. An instance without inputs has no mean, and is left out. Raises UnknownRecordError for
    inputs in ``bad`` or ``good`` that have no count. Cost: a sort of each instance's counts.
    """
    found: list[tuple[Made, Suspect]] = []
    instances: dict[int, list[_Instance]] = {}
    for records in (bad or {}, good or {}):
        for unknown in sorted(set(records) - set(counts)):
            _within(records[unknown], 0, unknown)
    for place in sorted(counts):
        if len(counts[place]):
            instance = _Instance(place, np.asarray(counts[place]), bad, good, (called or _called)(place), way)
            instances.setdefault(place[0], []).append(instance)
            found += sorted(instance.inputs(alpha), key=_rank)[:most]
    for peers in instances.values():
        found += _partitions(peers, alpha)
    return [suspect for _, suspect in sorted(found, key=_rank)]


class _Instance:
    """The inputs of one operator in one partition, how many outputs they have, and what is known of these."""

    def __init__(
        self, place: Instance, outputs: npt.NDArray[Any],
        bad: Records | None, good: Records | None, called: str, way: Way,
    ) -> None:
        self.place, self.outputs, self.called, self.way = place, outputs, called, way
        self._narrowed, self._compared = bad is not None, bad is not None and good is not None
        wrong, right = (_within((records or {}).get(place, ()), len(outputs), place) for records in (bad, good))
        self._made = np.full(len(outputs), Made.UNKNOWN, dtype=np.int8)
        self._made[right] = Made.GOOD
        self._made[wrong] = np.where(self._made[wrong] == Made.GOOD, Made.BOTH, Made.BAD)
        self.made = (Made.BOTH if len(right) else Made.BAD) if len(wrong) else Made.GOOD if len(right) else Made.UNKNOWN
        self.told = not self._narrowed or len(wrong) > 0
        self.mean = float(outputs.mean())

    def inputs(self, alpha: float) -> Iterator[tuple[Made, Suspect]]:
        """Phase 1."""
        if not self.told:
            return
        known = np.flatnonzero(self._made != Made.UNKNOWN)
        sample = known if self._compared and len(known) >= 3 else np.arange(len(self.outputs))
        unusual = outliers(self.outputs[sample], alpha)
        usual = np.delete(self.outputs[sample], [each.index for each in unusual])
        alike = Counter(each.value for each in unusual)
        for each, score in _scored(unusual):
            position = int(sample[each.index])
            made = Made(self._made[position])
            if self._narrowed and made is Made.GOOD:
                continue
            too = _too(alike[each.value] - 1)
            one = self.way.value[0]
            evidence = (
                f"{one.capitalize()} {position:,} of {self.called} {self.way.says(each.value)}{too}, where "
                f"the {len(usual):,} usual {one}s have {float(usual.mean()):,.4g} on average{_grubbs(each)}{_SAYS[made].format(it='it')}"
            )
            yield made, Suspect(*self.place, position, each.value, score, evidence, self.way)


def _partitions(peers: list[_Instance], alpha: float) -> Iterator[tuple[Made, Suspect]]:
    """Phase 2."""
    means = np.array([peer.mean for peer in peers])
    unusual = outliers(means, alpha)
    usual = np.delete(means, [each.index for each in unusual])
    for each, score in _scored(unusual):
        peer = peers[each.index]
        if peer.told:
            one, counted = peer.way.value
            evidence = (
                f"{peer.called[:1].upper()}{peer.called[1:]} has {each.value:,.4g} {counted}s per {one} ({len(peer.outputs):,} {one}s), where "
                f"the {len(usual):,} usual partitions have {float(usual.mean()):,.4g} on average{_grubbs(each)}"
                f"{_SAYS[peer.made].format(it=f'its {one}s')}"
            )
            yield peer.made, Suspect(*peer.place, None, each.value, score, evidence, peer.way)


def _scored(unusual: list[Outlier]) -> list[tuple[Outlier, float]]:
    """With scores that fall from the most extreme on: what one outlier masks of another's statistic is not in its favour."""
    ratios = accumulate((each.statistic / each.critical for each in reversed(unusual)), max)
    return [*zip(unusual, [*ratios][::-1])]


def _rank(told: tuple[Made, Suspect]) -> tuple[Any, ...]:
    """Of those that are equal in this, the more extreme come first already."""
    made, suspect = told
    return made, -suspect.score, suspect.operator, suspect.partition


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

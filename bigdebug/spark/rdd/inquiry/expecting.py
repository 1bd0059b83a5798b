"""Expecting: the outputs of a run that differ from what was expected, by their keys; what is lacking is looked for where it was last seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pyspark import RDD

from bigdebug.agents.alike import alike, name
from bigdebug.agents.expected import Among, Apart, Due, Named, side
from bigdebug.agents.partners import beyond
from bigdebug.errors import LocalizeError, TooLargeError
from bigdebug.shown import shown
from bigdebug.spark.predicate import unchanging
from bigdebug.spark.rdd.inquiry.faulty import Faulty, Found, anew, by_rid
from bigdebug.spark.rdd.inquiry.localizing import keyed_by
from bigdebug.trace.places import places_of
from bigdebug.trace.trace import all_records

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

MOST = 1_000_000
"""Outputs that are compared with what was expected, and those that may be expected: the driver holds both."""

_COMPARED = 1_000
"""Outputs without keys, of those not expected and of those lacking, that are compared with each other."""

_TOLD = 3
"""Of several outputs, so many are told."""


class Output(NamedTuple):
    """What there is of a key, or was to be; ``value`` is what of it the key does not say."""

    record: Any
    value: Any
    rid: int = -1


@dataclass
class Key:
    """What there is of one key, and what was expected."""

    got: list[Output] = field(default_factory=list)
    due: list[Output] = field(default_factory=list)

    @property
    def expected(self) -> tuple[Any, ...]:
        return tuple(output.value for output in self.due)

    @property
    def strange(self) -> list[Output]:
        """What was not expected."""
        return [self.got[place] for place in beyond([output.value for output in self.got], self.expected)]

    @property
    def lacking(self) -> list[Output]:
        """What is not there."""
        return [self.due[place] for place in beyond(self.expected, [output.value for output in self.got])]

    @property
    def said(self) -> str:
        """What is wrong, in words."""
        first = shown(self.strange[0].record)
        if lacking := self.lacking:
            return f"{first} was to be {_names(lacking)}"
        return f"{first} was not expected" + (f" beside {_names(self.due)}" if self.due else "")


class Expecting:
    """The outputs of a trace beside what was ``expected``: records, an RDD of them, or values by key. ``key`` gives the key of an output.

    Raises TooLargeError for more than MOST of either, PredicateError for a key that raises, or changes an output.
    """

    def __init__(self, trace: LineageRDD, expected: Any, key: Callable[[Any], Any] | None, raises: bool) -> None:
        self._trace, self._raises, self._apart = trace, raises, Apart(key)
        self._here = Apart(None if key is None else unchanging(key, "key="))
        self._target = trace._only("localize()")
        self._keys: dict[bytes, Key] = defaultdict(Key)
        if trace.count() > MOST:
            raise _too_many(f"The result has {trace.count():,} outputs")
        for rid, record in by_rid(trace).items():
            named, value = self._here(record)
            self._keys[named].got.append(Output(record, value, rid))
        for named, output in self._due(expected):
            self._keys[named].due.append(output)

    def found(self) -> Found:
        """The outputs that are wrong, and what is lacking. Raises LocalizeError if all is as expected."""
        self._take_alike()
        wrong = {named: key for named, key in self._keys.items() if key.strange}
        lacking = {named: key for named, key in self._keys.items() if key.lacking and not key.strange}
        if not wrong and not lacking:
            raise LocalizeError(
                f"The {self._trace.count():,} outputs of {self._trace.run.graph[self._target]} are what was expected",
                remedy="expected= has the outputs as they should be, all of them.",
            )
        missing = self._missing({named: key for named, key in lacking.items() if not key.got})
        lost = [key for named, key in lacking.items() if not key.got and named not in missing]
        few = [key for key in lacking.values() if key.got]
        left = [_told(lost, "are lacking, and nothing is known that was to become of these"), _told(few, "are there less often than that")]
        return Found([*(self._wrong(named, key) for named, key in wrong.items()), *missing.values()], tuple(filter(None, left)))

    def _due(self, expected: Any) -> Iterable[tuple[bytes, Output]]:
        if isinstance(expected, Mapping):
            return [(name(key), Output((key, value), value)) for key, value in expected.items()]
        if isinstance(expected, RDD):
            with self._trace._recorder.plain():
                expected = expected.take(MOST + 1)
        records = list(islice(expected, MOST + 1))
        if len(records) > MOST:
            raise _too_many("More outputs are expected")
        return [(named, Output(record, value)) for record in records for named, value in [self._here(record)]]

    def _wrong(self, named: bytes, key: Key) -> Faulty:
        """An output that is not what was expected: exactly so without some records, or else no longer more (or less) than expected."""
        judge = Due(self._apart, named, key.expected, raises=self._raises, lacking=bool(key.lacking))
        trace = self._trace.at([output.rid for output in key.got])
        nameless = self._apart.is_all(key.strange[0].record)
        if nameless and not key.due:
            among = Among(self._names, self._lacking, self._raises)
            return anew(Faulty(trace, key.strange[0].record, among, self._target, said=f"{key.said}.", nameless=True))
        faulty = anew(Faulty(trace, key.strange[0].record, judge, self._target, said=f"{key.said}.", nameless=nameless))
        far = side(key.got[0].value, key.expected[0]) if len(key.got) == len(key.due) == 1 else 0
        if not far:
            return faulty
        said = f"{key.said}; no records were found whose leaving out makes exactly that of it, so it counts as right when it is no longer {'more' if far > 0 else 'less'}."
        return _last(faulty, anew(replace(faulty, judge=replace(judge, side=far), otherwise=None, absent=True, said=said)))

    # ---- what is all of its key ---------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> frozenset[bytes]:
        return frozenset(name(output.record) for key in self._keys.values() for output in key.due)

    @cached_property
    def _lacking(self) -> tuple[Any, ...]:
        lacking = (output.record for key in self._keys.values() for output in key.lacking)
        return tuple(islice(filter(self._apart.is_all, lacking), _COMPARED))

    def _take_alike(self) -> None:
        """Take outputs that are their own keys for those that were expected, where they differ by no more than numbers may: by that, their keys differ."""
        lacking = [(key, output) for key in self._keys.values() for output in key.lacking if self._apart.is_all(output.record)]
        strange = [(key, output) for key in self._keys.values() for output in key.strange if self._apart.is_all(output.record)] if lacking else []
        for key, output in strange[:_COMPARED]:
            other = next((place for place, (_, each) in enumerate(lacking[:_COMPARED]) if alike(output.value, each.value)), None)
            if other is not None:
                key.got.remove(output)
                where, due = lacking.pop(other)
                where.due.remove(due)

    # ---- what is lacking --------------------------------------------------------------------------------------

    def _missing(self, gone: Mapping[bytes, Key]) -> dict[bytes, Faulty]:
        """Of keys without outputs those that the operator had which groups or joins: an operator behind it has left them out."""
        trace, keyed = self._trace, keyed_by(self._trace.run.graph, self._target)
        if not gone or keyed is None or keyed == self._target:
            return {}
        places = trace._questions.records(keyed, all_records(trace.run, keyed)[keyed], Named(frozenset(gone)))
        standing = {p: np.array(sorted(at), dtype=np.int64) for p, at in places.items() if at}
        last_seen = trace._to([keyed], lambda: {keyed: standing})
        found: dict[bytes, Faulty] = {}
        for rid, pair in by_rid(last_seen).items():
            named = name(pair[0])
            record = gone[named].due[0].record
            at = {keyed: places_of([rid])}
            judge = Due(self._apart, named, gone[named].expected, missing=True, raises=self._raises)
            said = f"{shown(record)} was expected; {shown(pair)} is the last that was seen of it, at {trace.run.graph[keyed]}."
            found[named] = Faulty(trace._to([keyed], at.copy), record, judge, self._target, needs_some=True, said=said)
        return found


def _too_many(what: str) -> TooLargeError:
    return TooLargeError(
        f"{what} than the {MOST:,} which the driver compares with what was expected" if what.startswith("More") else f"{what}, and the driver compares {MOST:,} with what was expected",
        remedy="Choose some of them: localize(report.getLineage().where(...), expected=...), with what is expected of these; or give a test of an output.",
    )


def _last(faulty: Faulty, way: Faulty) -> Faulty:
    """An output with one more way to look at it, behind all others."""
    return replace(faulty, otherwise=way if faulty.otherwise is None else _last(faulty.otherwise, way))


def _names(outputs: Sequence[Output]) -> str:
    """The first of some outputs."""
    return " and ".join(shown(output.record) for output in outputs[:_TOLD]) + (" ..." if len(outputs) > _TOLD else "")


def _told(keys: Sequence[Key], what: str) -> str:
    """How many outputs are what is said of them, and which; nothing, if none is."""
    lacking = [output for key in keys for output in key.lacking]
    return f"{len(lacking):,} of the outputs that were expected {what}: {_names(lacking)}" if lacking else ""

"""Culprits in a saved session: what is not known of them is said, and is no empty answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bigdebug.errors import IncompleteLineageError, StoreError
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import LOOKED_AT, Culprits
from bigdebug.trace.saved.culprits import Names, Saved, dump_culprits, load_culprits
from tests.unit.saved import graph


class Told(Saved):
    """As a live run tells of a crash."""

    def names(self) -> Names:
        if isinstance(self.named, Exception):
            raise self.named
        return self.named


def culprit(names: Any, settled: bool = True) -> CrashCulprit:
    told = Told("x", None, "ValueError", "m", None, {}, "", names, lambda: None, settled=settled)
    return CrashCulprit(told, graph()[2], 0)


def saved(*known: CrashCulprit, old: bool = False) -> list[CrashCulprit]:
    found = Culprits()
    found.known += known
    data = json.loads(json.dumps(dump_culprits(found)))
    for each in data["known"] if old else ():
        del each["unnamed"]
    return load_culprits(data, graph(), lambda names: names)[0]


def test_culprits_whose_sources_are_not_saved_say_why() -> None:
    first, second, third, fourth, fifth = saved(
        culprit([(1, 7)]), culprit([]), culprit(StoreError("The block is gone")), culprit(OSError("no room")), culprit([(1, 7)], settled=False),
    )
    assert first.trace == [(1, 7)]
    assert second.sources == ()
    for known, why in ((third, "The block is gone"), (fourth, "OSError: no room"), (fifth, "had not been looked at")):
        with pytest.raises(IncompleteLineageError, match=why):
            _ = known.sources
        assert f"from where is not known: It was not saved where this culprit came from: {why}"[:70] in known.text()
        assert known.told.names() == []


@pytest.mark.parametrize("old", [False, True])
def test_culprits_behind_the_first_thousand_say_that_they_are(old: bool) -> None:
    found = saved(*[replace(culprit([(1, 7)])) for _ in range(LOOKED_AT + 1)], old=old)
    assert found[LOOKED_AT - 1].trace == [(1, 7)]
    with pytest.raises(IncompleteLineageError, match="first 1,000 culprits"):
        _ = found[LOOKED_AT].sources

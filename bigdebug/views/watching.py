"""A watch as its messages have it, for the panel and for a view of its own: counts, the latest records, and what went wrong. As JSON-ready data.

``labextension/src/watching.ts`` is its other half.
"""

from __future__ import annotations

from typing import Any

from bigdebug.shown import shown
from bigdebug.trace.watch import Watch
from bigdebug.trace.watched import GuardError, HungCall, Seen, SlowRecord, WatchedRecord
from bigdebug.views.payload import maybe, number_of, text

LINES = 5
"""Records, calls and errors of each kind that the panel has."""


def watch_line(watch: Watch, most: int = LINES) -> dict[str, Any]:
    """A watch with ``most`` of each thing that it knows, the latest first, of records that took long the slowest. Costs the pickles of those."""
    records, hangs, slow = watch.records, watch.hangs, watch.slow
    return {
        "id": watch.id, "operator": maybe(watch.operator), "on": watch.on,
        "guarded": watch.guard is not None, "timeout": watch.timeout, "deviations": watch.deviations,
        "matched": watch.matched, "kept": len(records), "left": watch.left_out, "raised": max(watch.failed, len(watch.errors)),
        "disabled": watch.disabled, "hung": len(hangs), "beyond": len(slow),
        "records": [_record(each) for each in records[::-1][:most]],
        "hangs": [_hang(each) for each in hangs[::-1][:most]],
        "slow": [_slow(each) for each in slow[:most]],
        "errors": [_error(each) for each in watch.errors[:most]],
        "missing": [text(why) for why in [*watch.unreached, *watch.unseen]],
    }


def _seen(seen: Seen) -> dict[str, Any]:
    return {"record": text(shown(seen.record)), "operator": text(str(seen.operator)), "partition": seen.partition}


def _record(seen: WatchedRecord) -> dict[str, Any]:
    return {**_seen(seen), "when": seen.when.timestamp()}


def _hang(call: HungCall) -> dict[str, Any]:
    return {**_seen(call), "seconds": number_of(round(call.seconds, 1)), "state": call.state, "line": maybe(call.where or None)}


def _slow(seen: SlowRecord) -> dict[str, Any]:
    return {**_seen(seen), "seconds": number_of(seen.seconds), "deviations": number_of(seen.deviations)}


def _error(error: GuardError) -> dict[str, Any]:
    return {"exception": text(error.why()), "record": text(shown(error.record)), "line": maybe(error.user_line)}

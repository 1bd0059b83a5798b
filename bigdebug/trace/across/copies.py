"""Copies: files that were copied or renamed behind all steps, known by what is in them, or by their size and time (Newt knows data by value, 3.2)."""

from __future__ import annotations

from bigdebug.trace.across.links import Joined, Link
from bigdebug.trace.across.paths import short
from bigdebug.trace.across.stamps import same_content
from bigdebug.trace.across.step import named
from bigdebug.trace.across.uses import Use, Uses, was_before


class Copies:
    """The files that steps wrote, to those who read them under other names."""

    def __init__(self, writes: Uses, reads: Uses) -> None:
        self._writes = writes
        self._reads = reads

    def of(self, read: Use) -> Joined | None:
        """The only file that has this content, or where nobody looked at that, this name, size and time, and was there before: it was copied or renamed. None if there is none.

        What has the same time was renamed, and goes before what has the same content alone; then, what has the same name.
        """
        stamp = read.extent.stamp
        found = [w for w in self._writes.alike(read.extent) if self._may_be(w, read)]
        if not found or stamp is None:
            return None
        timed = [w for w in found if w.extent.stamp is not None and w.extent.stamp.modified == stamp.modified]
        like = [w for w in timed or found if short(w.extent.path) == short(read.extent.path)]
        chosen = like or timed or found
        latest = _latest(chosen)
        name = short(read.extent.path)
        looked = bool(stamp.digest and latest.extent.stamp is not None and latest.extent.stamp.digest)
        if len({w.key for w in chosen}) > 1:
            several = ", ".join(sorted({short(w.extent.path) for w in chosen})[:3])
            what = "content" if looked else "name, size and time"
            why = f"{name} has the {what} of {len({w.key for w in chosen})} files, {several}; pipeline.link(writer, reader, wrote=, read=) says which it is."
            return Joined(broken=why, writer=latest.step, may_be=_named(chosen))
        seen = "its name, size and time are the same" if not looked else "size, first and last MiB are equal" if stamp.digest.startswith("~") else "its content is the same"
        note = f"{read.extent.path} is taken for a copy of {latest.extent.path}, which {named(latest.step)} wrote: {seen}."
        return Joined((Link(latest.step, latest.extent, read.step, read.extent),), note=note, writer=latest.step)

    def maybe(self, read: Use) -> Joined | None:
        """Files of the same size that it may be a copy of, where nobody looked at what both held: one was moved at once, or was gone before the first question, or is large. None if there are none."""
        found = [w for w in self._writes.unseen(read.extent) if w.key != read.key and self._may_be(w, read)]
        if not found:
            return None
        latest = _latest([w for w in found if short(w.extent.path) == short(read.extent.path)] or found)
        why = (
            f"{read.extent.path} may be a copy of {latest.extent.path}, which {named(latest.step)} wrote: its size is the same, and nobody looked at what both held; "
            "pipeline.link(writer, reader, wrote=, read=) says it."
        )
        return Joined(broken=why, writer=latest.step, may_be=_named(found))

    def _may_be(self, write: Use, read: Use) -> bool:
        """A copy is not older than what it is a copy of, and nobody read it before that was there."""
        if write.step.id == read.step.id or not was_before(write, read):
            return False
        mine, others = write.extent.stamp, read.extent.stamp
        ended = write.step.ended
        if mine is None or others is None or ended is None:
            return False
        earlier = (
            r for r in self._reads.of(read.key)
            if r.extent.stamp is not None and same_content(r.extent.stamp, others) and r.step.began is not None
        )
        return others.modified >= mine.modified and not any((r.step.began or 0.0) < ended and not was_before(write, r) for r in earlier)


def _latest(uses: list[Use]) -> Use:
    return max(uses, key=lambda use: (use.step.ended or 0.0, use.rank))


def _named(uses: list[Use]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys((use.step.id, use.key) for use in uses))

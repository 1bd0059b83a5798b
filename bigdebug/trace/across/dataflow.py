"""Dataflow: which step wrote what another read, by the files between them (Newt 3.3). Plain look-ups, each made once and when it is needed."""

from __future__ import annotations

import heapq
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bigdebug.errors import PipelineError
from bigdebug.trace.across.located import ITEMS, Extent, FileStamp
from bigdebug.trace.across.stamps import same_content, stamp_of
from bigdebug.trace.across.step import Step, hashed
from bigdebug.trace.textlines import local_path

_S3 = re.compile("^s3[an]://", re.IGNORECASE)

_TELLING = 64
"""Bytes from which on two files of the same content are taken for copies. Fewer are equal by chance: a header alone, a count."""

_CLOCK = 0.002
"""Seconds that clocks of two steps may differ: Spark's tell milliseconds."""


@dataclass(frozen=True, eq=False)
class Link:
    """A step read what another had written. ``hashed`` if that is told by equal hashes, else it stands at the same positions."""

    writer: Step
    wrote: Extent
    reader: Step
    read: Extent
    hashed: bool = False


@dataclass(frozen=True, eq=False)
class Joined:
    """What a step read comes from: over ``links``, from no known step if there are none. ``broken`` says why a step that wrote it is not linked, ``note`` what is
    assumed where it is; ``writer`` is the step of which either tells.
    """

    links: tuple[Link, ...] = ()
    broken: str = ""
    note: str = ""
    writer: Step | None = None


@dataclass(frozen=True, eq=False)
class Said:
    """What a user said: one step read what another wrote; of these files, or of all that both know (Newt's flow_link)."""

    writer: str
    reader: str
    wrote: str = ""
    read: str = ""


@dataclass(frozen=True, eq=False)
class _Use:
    """A step and a file that it read or wrote."""

    rank: int
    step: Step
    extent: Extent


@lru_cache(1 << 18)
def key_of(path: str) -> str:
    """What two names of the same file have in common: the absolute path of a local one, behind all symbolic links; a URI as it is, but for the names that S3 has."""
    here = local_path(path)
    if here is None or path.startswith(ITEMS):
        return _S3.sub("s3://", path)
    return os.path.realpath(here) if os.path.isabs(here) else os.path.normpath(here)


def short(path: str) -> str:
    """The name of a file as messages have it."""
    return path.removeprefix(ITEMS) if path.startswith(ITEMS) else path.rstrip("/").rpartition("/")[2] or path


class Dataflow:
    """Steps in an order in which each comes after those that it read from. Raises PipelineError for links in a circle.

    A file that was read is what the latest step wrote there that had ended by then, if it still was what that step wrote: same size and time, or same content. Else
    it is a copy of what a step wrote under another name, if one file alone has its content, and that is not little. Cost: an index by paths; a link is looked for when it is asked for.
    """

    def __init__(self, steps: Iterable[Step], said: Sequence[Said] = ()) -> None:
        known = {step.id: step for step in steps}
        self.said = tuple(said)
        self._said = tuple(s for s in said if s.writer in known and s.reader in known)
        self.steps = _in_order(list(known.values()), [*self._said, *_passed_on(list(known.values()))])
        self.rank = {step.id: rank for rank, step in enumerate(self.steps)}
        self._by_id = known
        self._joined: dict[tuple[str, str], Joined] = {}
        self._by_writer: dict[tuple[str, str], dict[tuple[str, str], tuple[Link, ...]]] = {}
        self._writes, self._reads = _index(self.steps, written=True), _index(self.steps, written=False)
        self._written_names, self._read_names = sorted(self._writes), sorted(self._reads)
        self._written_content, self._read_content = _contents(self._writes), _contents(self._reads)

    def paths(self) -> set[str]:
        """The keys of all files that a step read or wrote."""
        return set(self._writes) | set(self._reads)

    def knows(self, key: str) -> bool:
        """Whether a step read or wrote a file, by its key."""
        return key in self._writes or key in self._reads

    def writers(self, path: str) -> list[tuple[Step, Extent]]:
        """Who wrote a file, earliest first."""
        uses = sorted(self._writes.get(key_of(path), ()), key=lambda use: (use.step.ended or 0.0, use.rank))
        return [(use.step, use.extent) for use in uses]

    def readers(self, path: str) -> list[tuple[Step, Extent]]:
        """Who read a file, earliest first."""
        return [(use.step, use.extent) for use in self._reads.get(key_of(path), ())]

    def into(self, reader: Step, read: Extent) -> Joined:
        """Where what a step read comes from."""
        name = (reader.id, key_of(read.path))
        if name not in self._joined:
            self._joined[name] = self._join(_Use(self.rank[reader.id], reader, read))
        return self._joined[name]

    def out_of(self, writer: Step, wrote: Extent) -> Iterator[tuple[Step, Extent, Joined]]:
        """Who read what a step wrote there; also those that would have, had it not been changed. In order."""
        key = key_of(wrote.path)
        uses = [*self._reads.get(key, ()), *self._read_content.get(_content(wrote.stamp), ()), *_near(self._reads, self._read_names, key)]
        uses += [_Use(self.rank[s.reader], self._by_id[s.reader], extent) for s in self._said if s.writer == writer.id for extent in self._by_id[s.reader].reads]
        for use in sorted({(u.step.id, key_of(u.extent.path)): u for u in uses}.values(), key=lambda use: use.rank):
            joined = self.into(use.step, use.extent)
            mine = self._links(use).get((writer.id, key), ())
            told = joined.writer is not None and joined.writer.id == writer.id and joined.broken and key_of(use.extent.path) == key
            if mine or told:
                yield use.step, use.extent, replace(joined, links=mine)

    def _links(self, use: _Use) -> dict[tuple[str, str], tuple[Link, ...]]:
        """The links of a read by who wrote what: of a directory, there are as many as files in it."""
        name = (use.step.id, key_of(use.extent.path))
        if name not in self._by_writer:
            made: dict[tuple[str, str], tuple[Link, ...]] = {}
            for link in self.into(use.step, use.extent).links:
                wrote = (link.writer.id, key_of(link.wrote.path))
                made[wrote] = (*made.get(wrote, ()), link)
            self._by_writer[name] = made
        return self._by_writer[name]

    # ---- one read ---------------------------------------------------------------------------------------------

    def _join(self, use: _Use) -> Joined:
        said = [link for s in self._said if s.reader == use.step.id for link in _said_links(s, self._by_id[s.writer], use)]
        if said:
            return Joined(tuple(said))
        key, name = key_of(use.extent.path), short(use.extent.path)
        others = [w for w in self._writes.get(key, ()) if w.step.id != use.step.id]
        if use.extent.path.startswith(ITEMS):
            return Joined(tuple(Link(w.step, w.extent, use.step, use.extent) for w in others))
        if use.step.began is None:
            why = f"It is not known when {named(use.step)} ran, so which {name} it read; pipeline.link(writer, reader) says it."
            return Joined(broken=why, writer=others[-1].step) if others else Joined()
        before = [w for w in others if self._was_before(w, use)]
        if before:
            latest = max(before, key=lambda w: (w.step.ended, w.rank))
            return self._after(latest, use)
        copy = self._copied(use)
        if copy is not None:
            return copy
        folder = self._of_folder(use)
        if folder is not None:
            return folder
        meanwhile = [w for w in others if w.step.began is None or w.step.began <= (use.step.ended or use.step.began)]
        if meanwhile:
            why = f"{named(meanwhile[-1].step)} had not ended writing {name} when {named(use.step)} began to read it."
            return Joined(broken=why, writer=meanwhile[-1].step)
        return Joined(broken=_elsewhere(use))

    def _was_before(self, write: _Use, read: _Use) -> bool:
        """Whether the one had ended when the other began. Steps that took no time are in the order in which they stand."""
        ended, began = write.step.ended, read.step.began
        return ended is not None and began is not None and ended <= began + _CLOCK and write.rank < read.rank

    def _after(self, write: _Use, read: _Use) -> Joined:
        """What is read where a known step wrote last."""
        link, name = Link(write.step, write.extent, read.step, read.extent), short(read.extent.path)
        mine, others = write.extent.stamp, read.extent.stamp
        if mine is not None and others is not None:
            if same_content(mine, others):
                return Joined((link,))
            why = f"{name} was changed between {named(write.step)} and {named(read.step)}."
            return self._copied(read) or Joined(broken=why, writer=write.step)
        unseen = f"Nobody looked whether {name} was changed between {named(write.step)} and {named(read.step)}."
        return Joined((link,), note=unseen, writer=write.step)

    def _of_folder(self, read: _Use) -> Joined | None:
        """What was written below a directory that a step read as a whole, or a directory that one wrote as a whole. None if there is nothing of both."""
        latest: dict[str, _Use] = {}
        for write in _near(self._writes, self._written_names, key_of(read.extent.path)):
            if write.step.id != read.step.id and self._was_before(write, read):
                key = key_of(write.extent.path)
                latest[key] = max(latest.get(key, write), write, key=lambda w: (w.step.ended or 0.0, w.rank))
        if not latest:
            return None
        links = tuple(Link(write.step, write.extent, read.step, read.extent) for write in latest.values())
        note = f"{named(read.step)} read {short(read.extent.path)} of a directory that is known as a whole, and nobody looked whether it was changed."
        return Joined(links, note=note, writer=links[0].writer)

    def _copied(self, read: _Use) -> Joined | None:
        """The only file that has this content, and was there before: it was copied or renamed. None if there is none."""
        stamp = read.extent.stamp
        found = [w for w in self._written_content.get(_content(stamp), ()) if self._may_be_copied(w, read)]
        if not found or stamp is None:
            return None
        like = [w for w in found if short(w.extent.path) == short(read.extent.path)]
        paths = {key_of(w.extent.path) for w in like or found}
        latest = max(like or found, key=lambda w: (w.step.ended, w.rank))
        name = short(read.extent.path)
        if len(paths) > 1:
            several = ", ".join(sorted(map(short, paths))[:3])
            return Joined(broken=f"{name} has the content of {len(paths)} files, {several}; pipeline.link(writer, reader, wrote=, read=) says which it is.", writer=latest.step)
        seen = ": size, first and last MiB are equal" if stamp.digest.startswith("~") else ": its content is the same"
        note = f"{read.extent.path} is taken for a copy of {latest.extent.path}, which {named(latest.step)} wrote{seen}."
        return Joined((Link(latest.step, latest.extent, read.step, read.extent),), note=note, writer=latest.step)

    def _may_be_copied(self, write: _Use, read: _Use) -> bool:
        """A copy is not older than what it is a copy of, and nobody read it before that was there."""
        if write.step.id == read.step.id or not self._was_before(write, read):
            return False
        mine, others = write.extent.stamp, read.extent.stamp
        ended = write.step.ended
        if mine is None or others is None or ended is None:
            return False
        earlier = (
            r for r in self._reads.get(key_of(read.extent.path), ())
            if r.extent.stamp is not None and r.extent.stamp.digest == others.digest and r.step.began is not None
        )
        return others.modified >= mine.modified and not any((r.step.began or 0.0) < ended and not self._was_before(write, r) for r in earlier)


def named(step: Step) -> str:
    """A step as messages have it."""
    return f"'{step.name or step.id}'"


def linked(said: Said, writer: Step, reader: Step) -> list[Link]:
    """The links that a user says there are; none if these two have nothing that could be joined so."""
    return [link for read in reader.reads for link in _said_links(said, writer, _Use(0, reader, read))]


def _elsewhere(use: _Use) -> str:
    """Why nobody knows which file a symbolic link led to when a step read it: now it leads to another, or to what was changed. Empty if that is known."""
    path, stamp = local_path(use.extent.path), use.extent.stamp
    if path is None or not os.path.isabs(path) or stamp is None or os.path.realpath(path) == os.path.normpath(path):
        return ""
    now = stamp_of(path, digest=False)
    same = now is not None and (now.size, now.modified) == (stamp.size, stamp.modified)
    return "" if same else f"{short(path)} is a link, and what it led to when {named(use.step)} read it is not there any more."


def _said_links(said: Said, writer: Step, use: _Use) -> list[Link]:
    if said.read and key_of(said.read) != key_of(use.extent.path):
        return []
    if said.wrote:
        chosen = [w for w in writer.writes if key_of(w.path) == key_of(said.wrote)]
    else:
        chosen = [w for w in writer.writes if key_of(w.path) == key_of(use.extent.path)]
        by_value = hashed(writer) is not None and hashed(use.step) is not None and use.extent.path.startswith(ITEMS)
        if not chosen and by_value:
            return [Link(writer, w, use.step, use.extent, hashed=True) for w in writer.writes if w.path.startswith(ITEMS)]
    return [Link(writer, w, use.step, use.extent) for w in chosen]


def _index(steps: Sequence[Step], written: bool) -> dict[str, list[_Use]]:
    found: dict[str, list[_Use]] = {}
    for rank, step in enumerate(steps):
        for extent in step.writes if written else step.reads:
            found.setdefault(key_of(extent.path), []).append(_Use(rank, step, extent))
    return found


def _near(uses: dict[str, list[_Use]], names: Sequence[str], key: str) -> Iterator[_Use]:
    """Uses of files below a directory, and of the directories that a file is in. ``names`` are the sorted keys of ``uses``."""
    start = bisect_left(names, f"{key.rstrip('/')}/")
    for name in names[start : bisect_left(names, f"{key.rstrip('/')}0")]:  # 0 comes behind /
        yield from uses[name]
    while "/" in key and not key.startswith(ITEMS):
        key = key.rpartition("/")[0]
        yield from uses.get(key, ())


def _content(stamp: FileStamp | None) -> tuple[int, str] | None:
    """What files of the same content share; None if nobody looked, or if it is so little that others have it, too: nothing, or a header."""
    return (stamp.size, stamp.digest) if stamp is not None and stamp.size >= _TELLING and stamp.digest else None


def _contents(uses: dict[str, list[_Use]]) -> dict[tuple[int, str] | None, list[_Use]]:
    found: dict[tuple[int, str] | None, list[_Use]] = {}
    for use in (use for every in uses.values() for use in every):
        content = _content(use.extent.stamp)
        if content is not None:
            found.setdefault(content, []).append(use)
    return found


def _passed_on(steps: Sequence[Step]) -> Iterator[Said]:
    """Who takes what another step passes on without a file: it may begin before that has ended."""
    givers = {key_of(extent.path): step.id for step in steps for extent in step.writes if extent.path.startswith(ITEMS)}
    for step in steps:
        for extent in step.reads:
            giver = givers.get(key_of(extent.path), step.id)
            if giver != step.id:
                yield Said(giver, step.id, extent.path, extent.path)


def _in_order(steps: list[Step], said: Sequence[Said]) -> tuple[Step, ...]:
    """By when they began, those of which that is not known first; as they were given, where it is the same. One that takes from another comes behind it."""
    readers: dict[str, list[str]] = {}
    waits = {step.id: 0 for step in steps}
    for s in {(s.writer, s.reader) for s in said}:
        readers.setdefault(s[0], []).append(s[1])
        waits[s[1]] += 1
    keys = {step.id: (step.began is not None, step.began or 0.0, step.ended is None, step.ended or 0.0, number) for number, step in enumerate(steps)}
    known = {step.id: step for step in steps}
    ready = [(keys[name], name) for name, count in waits.items() if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        _, name = heapq.heappop(ready)
        found.append(known[name])
        for reader in readers.get(name, ()):
            waits[reader] -= 1
            if not waits[reader]:
                heapq.heappush(ready, (keys[reader], reader))
    if len(found) < len(steps):
        names = ", ".join(named(known[name]) for name, count in waits.items() if count)
        raise PipelineError("Steps are linked in a circle", value=names, remedy="A step reads what was written before it began.")
    return tuple(found)

"""Dataflow: which step wrote what another read, by the files between them (Newt 3.3). Plain look-ups, each made once and when it is needed."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bigdebug.errors import PipelineError
from bigdebug.trace.across.copies import Copies
from bigdebug.trace.across.links import Joined, Link, Said, said_links
from bigdebug.trace.across.located import FOLDER, ITEMS, Extent, FileStamp, takes_path
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.stamps import left_so, same_content, stamp_of
from bigdebug.trace.across.step import Step, named
from bigdebug.trace.across.uses import Use, Uses, was_before
from bigdebug.trace.textlines import local_path


class Dataflow:
    """Steps in an order in which each comes after those that it read from. Raises PipelineError for links in a circle.

    A file that was read is what the latest step wrote there that had ended by then and left it so: same content, same time. If none did, the latest of all, if its content is the same. Else it
    is a copy of what a step wrote under another name, if one file alone has its content or its time (``Copies``). Cost: an index by paths; a link is looked for when it is asked for.
    """

    def __init__(self, steps: Iterable[Step], said: Sequence[Said] = ()) -> None:
        known = {step.id: step for step in steps}
        self.said = tuple(said)
        self._said = tuple(s for s in said if s.writer in known and s.reader in known)
        self.steps = _in_order(list(known.values()), [*self._said, *_passed_on(list(known.values()))])
        self.rank = {step.id: rank for rank, step in enumerate(self.steps)}
        self._by_id = known
        self._joined: dict[_Read, Joined] = {}
        self._by_writer: dict[_Read, dict[tuple[str, str], tuple[Link, ...]]] = {}
        self._writes = Uses(Use(rank, step, extent) for rank, step in enumerate(self.steps) for extent in step.writes)
        self._reads = Uses(Use(rank, step, extent) for rank, step in enumerate(self.steps) for extent in step.reads)
        self._copies = Copies(self._writes, self._reads)

    def led_elsewhere(self) -> bool:
        """Whether a name of a file is now one of another: a symbolic link was led elsewhere. Takes 10 microseconds for each file that was read or written."""
        return self._writes.moved() or self._reads.moved()

    def paths(self) -> set[str]:
        """The keys of all files that a step read or wrote."""
        return {*self._writes.keys, *self._reads.keys}

    def knows(self, key: str) -> bool:
        """Whether a step read or wrote a file, by its key."""
        return key in self._writes or key in self._reads

    def writers(self, path: str) -> list[tuple[Step, Extent]]:
        """Who wrote a file, earliest first."""
        uses = sorted(self._writes.of(key_of(path)), key=lambda use: (use.step.ended or 0.0, use.rank))
        return [(use.step, use.extent) for use in uses]

    def readers(self, path: str) -> list[tuple[Step, Extent]]:
        """Who read a file, earliest first."""
        return [(use.step, use.extent) for use in self._reads.of(key_of(path))]

    def unlisted(self, path: str) -> list[tuple[Step, Extent]]:
        """Who wrote into a folder, or one above a file, while nobody knows which of the files there are his; each with the folder."""
        key = key_of(path)
        return [(use.step, use.extent) for use in (*self._writes.of(key), *self._writes.near(key)) if use.extent.form == FOLDER and not use.key.startswith(f"{key}/")]

    def later_writers(self, writer: Step, wrote: Extent) -> list[Step]:
        """Who wrote there after a step had."""
        uses = self._writes.of(key_of(wrote.path))
        return [use.step for use in uses if use.step.id != writer.id and (use.step.ended or 0.0, use.rank) > (writer.ended or 0.0, self.rank[writer.id])]

    def into(self, reader: Step, read: Extent) -> Joined:
        """Where what a step read comes from."""
        use = Use(self.rank[reader.id], reader, read)
        name = _read(use)
        if name not in self._joined:
            self._joined[name] = self._join(use)
        return self._joined[name]

    def out_of(self, writer: Step, wrote: Extent) -> Iterator[tuple[Step, Extent, Joined]]:
        """Who read what a step wrote there; also those that would have, had it not been changed. In order."""
        key = key_of(wrote.path)
        uses = [*self._reads.of(key), *self._reads.alike(wrote), *self._reads.unseen(wrote), *self._reads.near(key)]
        uses += [Use(self.rank[s.reader], self._by_id[s.reader], extent) for s in self._said if s.writer == writer.id for extent in self._by_id[s.reader].reads]
        for use in sorted({_read(u): u for u in uses}.values(), key=lambda use: use.rank):
            joined = self.into(use.step, use.extent)
            mine = self._links(use).get((writer.id, key), ())
            there = joined.writer is not None and joined.writer.id == writer.id and use.key == key
            if mine or (joined.broken and (there or (writer.id, key) in joined.may_be)):
                yield use.step, use.extent, replace(joined, links=mine)

    def moved(self, writer: Step, path: str) -> list[str]:
        """The other names under which what a step wrote there was read."""
        key = key_of(path)
        links = (link for extent in writer.writes if key_of(extent.path) == key for _, _, joined in self.out_of(writer, extent) for link in joined.links)
        return list(dict.fromkeys(link.read.path for link in links if key_of(link.read.path) != key))

    def _links(self, use: Use) -> dict[tuple[str, str], tuple[Link, ...]]:
        """The links of a read by who wrote what: of a directory, there are as many as files in it."""
        name = _read(use)
        if name not in self._by_writer:
            made: dict[tuple[str, str], tuple[Link, ...]] = {}
            for link in self.into(use.step, use.extent).links:
                wrote = (link.writer.id, key_of(link.wrote.path))
                made[wrote] = (*made.get(wrote, ()), link)
            self._by_writer[name] = made
        return self._by_writer[name]

    # ---- one read ---------------------------------------------------------------------------------------------

    def _join(self, use: Use) -> Joined:
        said = [link for s in self._said if s.reader == use.step.id for link in said_links(s, self._by_id[s.writer], use.step, use.extent)]
        if said:
            return Joined(tuple(said))
        key, name = use.key, short(use.extent.path)
        others = [w for w in self._writes.of(key) if w.step.id != use.step.id]
        if use.extent.path.startswith(ITEMS):
            lost = not others and use.extent.path != takes_path(use.step.id)  # what it took in itself, from nobody who is known
            why = f"What {named(use.step)} took from another step without a file is not followed: that step is not among these. It was forgotten, or pruned, or is of another home."
            return Joined(tuple(Link(w.step, w.extent, use.step, use.extent) for w in others), broken=why if lost else "")
        if use.step.began is None:
            why = f"It is not known when {named(use.step)} ran, so which {name} it read; pipeline.link(writer, reader) says it."
            return Joined(broken=why, writer=others[-1].step) if others else Joined()
        before = [w for w in others if was_before(w, use)]
        if before:
            # A frame may be read long before the step that has it begins: then others wrote there meanwhile.
            left = [w for w in before if left_so(w.extent.stamp, use.extent.stamp)]
            latest = max(left or before, key=lambda w: (w.step.ended, w.rank))
            return self._after(latest, use)
        found = self._unlisted(use) or self._copies.of(use) or self._of_folder(use)
        if found is not None:
            return found
        meanwhile = [w for w in others if w.step.began is None or w.step.began <= (use.step.ended or use.step.began)]
        if meanwhile:
            why = f"{named(meanwhile[-1].step)} had not ended writing {name} when {named(use.step)} began to read it."
            return Joined(broken=why, writer=meanwhile[-1].step)
        if led := _elsewhere(use):
            return Joined(broken=led)
        return self._copies.maybe(use) or Joined()

    def _after(self, write: Use, read: Use) -> Joined:
        """What is read where a known step wrote last."""
        link, name = Link(write.step, write.extent, read.step, read.extent), short(read.extent.path)
        mine, others = write.extent.stamp, read.extent.stamp
        if mine is not None and others is not None:
            if same_content(mine, others):
                return Joined((link,))
            why = f"{name} was changed between {named(write.step)} and {named(read.step)}."
            return self._copies.of(read) or Joined(broken=why, writer=write.step)
        unseen = f"Nobody looked whether {name} was changed between {named(write.step)} and {named(read.step)}."
        return Joined((link,), note=unseen, writer=write.step)

    def _unlisted(self, read: Use) -> Joined | None:
        """What all those wrote, or were writing, of whom nobody knows which files of this folder are theirs: this may be one. None if there is no such step."""
        into = [write for write in self._writes.near(read.key) if write.extent.form == FOLDER and write.step.id != read.step.id and write.rank < read.rank]
        if not into:
            return None
        note = may_be_of([write.step for write in into], into[0].extent, read.extent.path)
        return Joined(tuple(Link(write.step, write.extent, read.step, read.extent) for write in into), note=note, writer=into[0].step)

    def _of_folder(self, read: Use) -> Joined | None:
        """What was written below a directory that a step read as a whole, or a directory that one wrote as a whole. None if there is nothing of both."""
        latest: dict[str, Use] = {}
        for write in self._writes.near(read.key):
            if write.step.id != read.step.id and was_before(write, read):
                key = write.key
                latest[key] = max(latest.get(key, write), write, key=lambda w: (w.step.ended or 0.0, w.rank))
        if not latest:
            return None
        links = tuple(Link(write.step, write.extent, read.step, read.extent) for write in latest.values())
        note = f"{named(read.step)} read {short(read.extent.path)} of a directory that is known as a whole, and nobody looked whether it was changed."
        return Joined(links, note=note, writer=links[0].writer)


def may_be_of(writers: Sequence[Step], folder: Extent, path: str) -> str:
    """What there is to say of a file in a folder that steps wrote into while nobody knows which files there are whose."""
    return f"{', '.join(map(named, writers))} wrote into {short(folder.path)}, and which of the files there are whose is not known: {short(path)} may be one of them."


_Read = tuple[str, str, FileStamp | None]


def _read(use: Use) -> _Read:
    """A file that a step read, as it then was: of two versions of one, others may have written each."""
    return use.step.id, use.key, use.extent.stamp


def _elsewhere(use: Use) -> str:
    """Why nobody knows which file a symbolic link led to when a step read it: now it leads to another, or to what was changed. Empty if that is known."""
    path, stamp = local_path(use.extent.path), use.extent.stamp
    if path is None or not os.path.isabs(path) or stamp is None or os.path.realpath(path) == os.path.normpath(path):
        return ""
    now = stamp_of(path, digest=False)
    same = now is not None and (now.size, now.modified) == (stamp.size, stamp.modified)
    return "" if same else f"{short(path)} is a link, and what it led to when {named(use.step)} read it is not there any more."


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

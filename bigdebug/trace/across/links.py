"""Links: a step read what another wrote, as look-ups find it or as a user says it."""

from __future__ import annotations

from dataclasses import dataclass

from bigdebug.trace.across.located import ITEMS, Extent
from bigdebug.trace.across.paths import key_of
from bigdebug.trace.across.step import Step, hashed


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
    assumed where it is; ``writer`` is the step of which either tells. ``may_be`` are the files that it may be of under other names, each by the id of who wrote it and its key:
    a flow from there is not exact either.
    """

    links: tuple[Link, ...] = ()
    broken: str = ""
    note: str = ""
    writer: Step | None = None
    may_be: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Said:
    """What a user said: one step read what another wrote; of these files, or of all that both know (Newt's flow_link)."""

    writer: str
    reader: str
    wrote: str = ""
    read: str = ""


def said_links(said: Said, writer: Step, reader: Step, read: Extent) -> list[Link]:
    """The links into one read that a user says there are."""
    if said.read and key_of(said.read) != key_of(read.path):
        return []
    if said.wrote:
        chosen = [w for w in writer.writes if key_of(w.path) == key_of(said.wrote)]
    else:
        chosen = [w for w in writer.writes if key_of(w.path) == key_of(read.path)]
        by_value = hashed(writer) is not None and hashed(reader) is not None and read.path.startswith(ITEMS)
        if not chosen and by_value:
            return [Link(writer, w, reader, read, hashed=True) for w in writer.writes if w.path.startswith(ITEMS)]
    return [Link(writer, w, reader, read) for w in chosen]


def linked(said: Said, writer: Step, reader: Step) -> list[Link]:
    """The links that a user says there are; none if these two have nothing that could be joined so."""
    return [link for read in reader.reads for link in said_links(said, writer, reader, read)]

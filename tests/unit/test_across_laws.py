"""Laws of flows, over random pipelines of plain steps: what is found is what an oracle knows that follows every line by itself, both ways."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bigdebug.trace.across.flow import Flow
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.pipelines import Pipeline
from bigdebug.trace.across.stamps import stamp_of
from tests.steps import Place, PlainStep

Atom = tuple[str, str, int]
"""A line that no step wrote: path, digest of the file, number."""

HEADER = (("header", "true"), ("multiLine", "true"), ("escape", '"'))
WAYS: list[tuple[Unit, str, Any]] = [(Unit.LINE, "text", ()), (Unit.ROW, "csv", ()), (Unit.ROW, "text", ()), (Unit.ROW, "csv", HEADER)]


@dataclass
class World:
    """Files, who wrote them, and of each line the sources that it was made of."""

    home: Path
    draw: Any
    units: bool
    now: float = 1.0
    count: int = 0
    steps: list[PlainStep] = field(default_factory=list)
    made: dict[str, list[frozenset[Atom]]] = field(default_factory=dict)
    """What each line of a file that is there was made of."""
    written: dict[tuple[str, str], list[frozenset[Atom]]] = field(default_factory=dict)
    """The same by path and step, also of files that are not there any more."""
    read_sources: set[tuple[str, str, str, int]] = field(default_factory=set)
    """Which source in which version was read by whom, and how many lines it has."""

    def _fresh(self, count: int) -> list[str]:
        self.count += count
        return [f"line {self.count - n:>70}" for n in range(count)]  # so much that a copy is known by it

    def source(self, path: str) -> None:
        """A file of which nobody knows where it came from: a new one, or one that is changed."""
        size = self.draw(st.integers(1, 4))
        Path(path).write_text("".join(f"{line}\n" for line in self._fresh(size)))
        digest = self.digest(path)
        self.made[path] = [frozenset([(path, digest, n)]) for n in range(size)]

    def digest(self, path: str) -> str:
        stamp = stamp_of(path)
        assert stamp is not None
        return stamp.digest

    def copy(self, old: str, new: str, rename: bool) -> None:
        """Behind the back of the pipeline. What is a copy of a source, is a source."""
        (shutil.move if rename else shutil.copy)(old, new)
        made = self.made.pop(old) if rename else self.made[old]
        if all(len(m) == 1 and next(iter(m))[0] == old and next(iter(m))[2] == n for n, m in enumerate(made)) and not self._was_written(old, made):
            made = [frozenset([(new, self.digest(new), n)]) for n in range(len(made))]
        self.made[new] = made

    def _was_written(self, path: str, made: list[frozenset[Atom]]) -> bool:
        return any(m is made for m in self.written.values())

    def step(self, reads: list[str], target: str) -> None:
        """A step that makes each line of a file of some lines of others."""
        self.now += 1
        began, name = self.now, f"s{len(self.steps)}"
        ways = {path: self.draw(st.sampled_from(WAYS)) if self.units else WAYS[0] for path in (*reads, target)}
        before = [self._extent(path, ways[path]) for path in reads]
        seen: list[tuple[Place, frozenset[Atom]]] = []
        for path in reads:
            skip = 1 if ways[path][2] else 0
            seen += [((path, n - skip), made) for n, made in enumerate(self.made[path]) if n >= skip]
            if not self.made[path] or self._is_source(path):
                self.read_sources.add((path, self.digest(path), name, len(self.made[path])))
        size, skip = self.draw(st.integers(0 if not self.units else 1, 4)), 1 if ways[target][2] else 0
        chosen = [self.draw(st.lists(st.integers(0, len(seen) - 1), max_size=2, unique=True)) if seen else [] for _ in range(size)]
        pairs = [((target, n), seen[i][0]) for n, every in enumerate(chosen) for i in every]
        Path(target).write_text("".join(f"{line}\n" for line in self._fresh(size + skip)))
        made = [frozenset[Atom]()] * skip + [frozenset[Atom]().union(*(seen[i][1] for i in every)) for every in chosen]
        self.made[target] = self.written[target, name] = made
        self.now += 1
        self.steps.append(PlainStep(name, before, [self._extent(target, ways[target])], pairs, began, self.now))

    def _is_source(self, path: str) -> bool:
        return all(len(m) == 1 and next(iter(m))[:2] == (path, self.digest(path)) for m in self.made[path])

    def _extent(self, path: str, way: tuple[Unit, str, Any]) -> Extent:
        return Extent(path, way[0], way[1], tuple(way[2]), stamp_of(path))


def build(home: Path, data: st.DataObject, units: bool) -> World:
    world = World(home, data.draw, units)
    names = [str(home / f"{letter}.txt") for letter in "abcdefgh"]
    for path in names[:2]:
        world.source(path)
    for _ in range(data.draw(st.integers(1, 6))):
        there = sorted(world.made)
        # Units are turned by reading the file again, so it stays; else anything may happen to it.
        target = data.draw(st.sampled_from(sorted(set(names) - set(there)) or there)) if units else data.draw(st.sampled_from(names))
        kind = data.draw(st.sampled_from(["step"] * 4 + ([] if units else ["change", "copy", "rename"])))
        if kind == "change":
            target = data.draw(st.sampled_from(there))
        if kind == "step" or (target in world.made and kind != "change"):
            world.step(data.draw(st.lists(st.sampled_from(there), min_size=1, max_size=2, unique=True)), target)
        elif kind == "change":
            world.source(target)
        elif len(there) > 1 or kind == "copy":
            world.copy(data.draw(st.sampled_from(there)), target, kind == "rename")
    return world


def sources_of(flow: Flow) -> set[Atom]:
    """As lines, whatever they were counted in."""
    return {
        (file.extent.path, file.extent.stamp.digest, p + (1 if file.located.unit is Unit.ROW and file.extent.options else 0))
        for file in flow.sources for p in file.located.positions.tolist() if file.extent.stamp is not None
    }


def results_of(flow: Flow) -> set[tuple[str, str, int]]:
    return {
        (file.extent.path, file.writer.id, p + (1 if file.extent.options else 0))
        for file in flow.files if file.writer is not None and any(e.path == file.extent.path for e in file.writer.writes) for p in file.located.positions.tolist()
    }


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.booleans())
def test_backward_finds_what_each_line_was_made_of_and_forward_is_its_inverse(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, units: bool) -> None:
    world = build(tmp_path_factory.mktemp("world"), data, units)
    pipeline = Pipeline(world.steps)
    everything: dict[Atom, set[tuple[str, str, int]]] = {}
    for (path, writer), made in world.written.items():
        extent = next(step for step in world.steps if step.id == writer).writes[0]
        skip = 1 if extent.options else 0
        for number, atoms in enumerate(made):
            if number < skip:
                continue
            for atom in atoms:
                everything.setdefault(atom, set()).add((path, writer, number))
            flow = pipeline.backward(Located.of(path, extent.unit, [number - skip]), step=writer)
            assert sources_of(flow) == atoms, (path, writer, number, flow.notes)
            if units:
                assert flow.exact, flow.notes
    for path, digest, size in sorted({(path, digest, size) for path, digest, _, size in world.read_sources}):
        _forward(pipeline, world, everything, path, digest, size)


def _forward(pipeline: Pipeline, world: World, everything: dict[Atom, set[tuple[str, str, int]]], path: str, digest: str, size: int) -> None:
    """From each line of a source, through all who read it in this version, to exactly the lines that were made of it."""
    readers = [name for p, d, name, _ in world.read_sources if (p, d) == (path, digest)]
    extents = {name: next(e for s in world.steps if s.id == name for e in s.reads if e.path == path) for name in readers}
    for number in range(size):
        found: set[tuple[str, str, int]] = set()
        for name, extent in extents.items():
            at = number - (1 if extent.options else 0)
            if at >= 0:
                found |= results_of(pipeline.forward(Located.of(path, extent.unit, [at]), step=name))
        assert found == everything.get((path, digest, number), set())
        if stamp_of(path) is not None and world.digest(path) == digest and not world.units:
            assert results_of(pipeline.forward(path, lines=[number + 1])) == found


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_question_about_a_file_is_about_what_it_holds_now(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Of a file that is what the last step wrote: by name and line; each step is asked at most once."""
    world = build(tmp_path_factory.mktemp("world"), data, data.draw(st.booleans()))
    pipeline = Pipeline(world.steps)
    for path, made in world.made.items():
        writers = [step for step in world.steps if step.writes[0].path == path]
        if not writers or world.written[path, writers[-1].id] is not made:
            continue
        skip = 1 if writers[-1].writes[0].options else 0
        for number in range(skip, len(made)):
            for step in world.steps:
                step.asked = 0
            flow = pipeline.backward(Path(path).name, lines=[number + 1])
            assert sources_of(flow) == made[number], flow.notes
            assert all(step.asked <= 1 for step in world.steps)
            assert [step.began for step in flow.steps] == sorted(step.began or 0 for step in flow.steps)

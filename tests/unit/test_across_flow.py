"""Flows through pipelines: which file is which, what is said when it is not certain, and how a question is asked."""

from __future__ import annotations

import gc
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bigdebug
from bigdebug.errors import PipelineError, SourceChangedError, UnknownRecordError, UnknownStepError
from bigdebug.trace.across.flow import Flow
from bigdebug.trace.across.located import FOLDER, Extent, Located, Unit
from bigdebug.trace.across.pipelines import Pipeline, pipeline
from tests.steps import PlainStep, lines, write

RFC = (("header", "true"), ("multiLine", "true"), ("escape", '"'))


def identity(name: str, read: Path, wrote: Path, began: float | None, ended: float | None, count: int | None = None, **more: Any) -> PlainStep:
    """Line n of the one made line n of the other. Writes the other file now."""
    before = lines(read)
    if count is None:
        count = len(read.read_text().splitlines())
        write(wrote, [f"{name} of {line}" for line in read.read_text().splitlines()])
    return PlainStep(name, [before], [lines(wrote)], [((str(wrote), n), (str(read), n)) for n in range(count)], began, ended, **more)


@pytest.fixture
def chain(tmp_path: Path) -> list[PlainStep]:
    """a.txt -> b.txt -> c.txt, line by line."""
    write(tmp_path / "a.txt", ["1", "2", "3"])
    return [identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2), identity("report", tmp_path / "b.txt", tmp_path / "c.txt", 3, 4)]


def at(flow: Flow, name: str) -> list[int]:
    return [int(p) for p in flow[name].located.positions]


def test_a_line_leads_to_the_line_it_was_made_of_and_back(chain: list[PlainStep], tmp_path: Path) -> None:
    found = pipeline(*chain)
    flow = found.backward("c.txt", lines=[2])
    assert [step.name for step in flow.steps] == ["clean", "report"]
    assert [file.extent.path for file in flow.sources] == [str(tmp_path / "a.txt")]
    assert [file.extent.path for file in flow.results] == [str(tmp_path / "c.txt")]
    assert (at(flow, "a.txt"), at(flow, "b.txt"), at(flow, "c.txt")) == ([1], [1], [1])
    assert (flow.records("a.txt"), flow.exact, flow.notes) == (["2"], True, ())
    assert [one.positions.tolist() for one in (*flow.read("report"), *flow.wrote("clean"))] == [[1], [1]]
    ahead = found.forward("a.txt", lines=[3])
    assert (at(ahead, "c.txt"), ahead.records("c.txt"), [f.extent.path for f in ahead.results]) == ([2], ["report of clean of 3"], [str(tmp_path / "c.txt")])
    assert at(found.forward("b.txt", lines=[1]), "c.txt") == [0]
    assert at(found.backward("b.txt"), "a.txt") == [0, 1, 2]
    assert at(found.backward(chain[1]), "a.txt") == at(found.backward("c.txt", step="report"), "a.txt") == [0, 1, 2]
    assert at(found.forward(chain[0]), "c.txt") == [0, 1, 2]
    assert bigdebug.pipeline is pipeline


def test_versions_of_a_file_that_steps_of_one_name_wrote_are_asked_for_by_their_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "log.txt", ["0"])
    steps = []
    for number in range(1, 3):
        before = lines(path)
        write(path, [f"{number}"])
        steps.append(PlainStep(f"id-{number}", [before], [lines(path)], [((str(path), 0), (str(path), 0))], number, number + 0.5, name="write log.txt"))
    flow = pipeline(steps).backward("log.txt", lines=[1])
    with pytest.raises(UnknownStepError) as refused:
        flow["log.txt"]
    assert str(refused.value).endswith("Ask for it by who wrote it: flow.wrote('id-2'), flow.wrote('id-1'), flow.sources, for what no step wrote.")
    assert flow.wrote("id-1")[0].positions.tolist() == [0]


def test_a_file_that_stands_there_and_no_step_knows_is_not_taken_for_another(chain: list[PlainStep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    found = pipeline(*chain)
    assert at(found.backward("c.txt", lines=[2]), "a.txt") == [1]
    write(tmp_path / "here" / "c.txt", ["x", "y"])
    with pytest.raises(UnknownStepError, match=r"the file that stands there.*give its path: .*/c\.txt"):
        found.backward("c.txt", lines=[2])
    assert at(found.backward(tmp_path / "c.txt", lines=[2]), "a.txt") == [1]


def test_a_file_at_an_end_of_the_pipeline_has_nothing_behind_it(chain: list[PlainStep]) -> None:
    found = pipeline(*chain)
    source, result = found.backward("a.txt", lines=[1]), found.forward("c.txt", lines=[1])
    assert (source.steps, at(source, "a.txt"), len(source.sources)) == ((), [0], 1)
    assert (result.steps, at(result, "c.txt"), len(result.results)) == ((), [0], 1)
    assert not any(step.asked for step in chain)


def test_a_file_that_was_changed_between_two_steps_ends_the_flow_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1", "2"])
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    write(tmp_path / "b.txt", ["other", "lines"])
    found = pipeline(first, identity("report", tmp_path / "b.txt", tmp_path / "c.txt", 3, 4))
    for flow in (found.backward("c.txt", lines=[1]), found.forward("a.txt", lines=[1])):
        assert flow.notes == ("b.txt was changed between 'clean' and 'report'.",)
        assert not flow.exact
    assert [file.extent.path for file in found.backward("c.txt").sources] == [str(tmp_path / "b.txt")]
    assert "c.txt" not in found.forward("a.txt", lines=[1])


def test_a_file_with_a_new_time_and_the_same_content_is_the_same(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1", "2"])
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    os.utime(tmp_path / "b.txt", (5, 5))
    flow = pipeline(first, identity("report", tmp_path / "b.txt", tmp_path / "c.txt", 3, 4)).backward("c.txt", lines=[1])
    assert (at(flow, "a.txt"), flow.exact) == ([0], True)


@pytest.mark.parametrize("again", ["1" * 70, "2" * 70], ids=["the same", "something else"])
def test_a_file_that_was_read_is_of_the_step_that_had_left_it_so(tmp_path: Path, again: str) -> None:
    """A frame that is read, and whose file another step writes before a step has it."""
    write(tmp_path / "a.txt", ["1" * 70])
    write(tmp_path / "other.txt", [again])
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    os.utime(tmp_path / "b.txt", (5, 5))
    read = lines(tmp_path / "b.txt")
    first.writes = [read]
    write(tmp_path / "b.txt", [f"clean of {again}"])
    second = PlainStep("late", [lines(tmp_path / "other.txt")], [lines(tmp_path / "b.txt")], [((read.path, 0), (str(tmp_path / "other.txt"), 0))], 3, 4)
    write(tmp_path / "c.txt", ["made"])
    last = PlainStep("report", [read], [lines(tmp_path / "c.txt")], [((str(tmp_path / "c.txt"), 0), (read.path, 0))], 5, 6)
    flow = pipeline(first, second, last).backward("c.txt", lines=[1])
    assert ([s.name for s in flow.steps], flow.exact) == (["clean", "report"], True)
    assert [s.name for s in pipeline(first, second, last).forward("other.txt", lines=[1]).steps] == ["late"]
    assert [s.name for s in pipeline(first, second, last).forward("a.txt", lines=[1]).steps] == ["clean", "report"]


def test_rows_of_a_table_that_a_step_knows_by_its_lines_are_those_of_whoever_knows_rows(tmp_path: Path) -> None:
    """A program copies a table with a header, and a cell of two lines: its first row is not its first line."""
    write(tmp_path / "a.csv", ["k,v", '1,"x', 'y"', "2,z"])
    copy = identity("copy", tmp_path / "a.csv", tmp_path / "b.csv", 1, 2, count=4)
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text())
    copy.writes = [lines(tmp_path / "b.csv")]
    with pytest.raises(PipelineError, match="It is not known what the rows of this file are"):
        pipeline(copy).backward("b.csv", rows=[0])
    with pytest.raises(PipelineError, match="It is not known what the rows of this file are"):
        pipeline(copy).forward("a.csv", rows=[0])
    assert at(pipeline(copy).backward("b.csv", lines=[2, 3]), "a.csv") == [1, 2]
    read = lines(tmp_path / "b.csv", Unit.ROW, "csv", RFC)
    write(tmp_path / "c.txt", ["1", "2"])
    sums = PlainStep("sums", [read], [lines(tmp_path / "c.txt")], [((str(tmp_path / "c.txt"), n), (read.path, n)) for n in range(2)], 3, 4)
    found = pipeline(copy, sums)
    assert [at(found.backward("b.csv", rows=[n]), "a.csv") for n in range(2)] == [[1, 2], [3]]
    plain = PlainStep("plain", [lines(tmp_path / "b.csv", Unit.ROW, "csv", ())], [lines(tmp_path / "c.txt")], [], 5, 6)
    with pytest.raises(PipelineError, match="It is not known what the rows of this file are"):
        pipeline(copy, sums, plain).backward("b.csv", rows=[0])


@pytest.mark.parametrize(("name", "text", "form", "options", "places"), [
    ("a.json", ['{"k":1}', "", '{"k":2}'], "json", (), [0, 2]), ("a.dat", ["k,v", "a,1", "b,2"], "csv", RFC, [1, 2]), ("a", ["k,v", "a,1", "b,2"], "csv", RFC, [1, 2]),
])
def test_a_row_is_the_same_record_to_all_who_read_a_file(tmp_path: Path, name: str, text: list[str], form: str, options: tuple[tuple[str, str], ...], places: list[int]) -> None:
    """Whatever the file is called: a program knows its lines, and blank ones and headers are no rows to who knows rows."""
    write(tmp_path / name, text)
    copy = identity("copy", tmp_path / name, tmp_path / "b.txt", 1, 2, count=3)
    write(tmp_path / "c.txt", ["1", "2"])
    read = lines(tmp_path / name, Unit.ROW, form, options)
    sums = PlainStep("sums", [read], [lines(tmp_path / "c.txt")], [((str(tmp_path / "c.txt"), n), (read.path, n)) for n in range(2)], 3, 4)
    for n, place in enumerate(places):
        flow = pipeline(copy, sums).forward(str(tmp_path / name), rows=[n])
        assert (at(flow, "b.txt"), at(flow, "c.txt"), flow.exact) == ([place], [n], True)


def test_rows_that_readers_count_in_several_ways_are_said_to_be_so(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ["k,v", "a,1", "b,2"])
    write(tmp_path / "b.txt", ["1", "2", "3"])
    headed, plain = lines(tmp_path / "a.csv", Unit.ROW, "csv", RFC), lines(tmp_path / "a.csv", Unit.ROW, "csv", tuple(each for each in RFC if each[0] != "header"))
    steps = [PlainStep(name, [read], [lines(tmp_path / "b.txt")], [], 1, 2) for name, read in (("headed", headed), ("plain", plain))]
    flow = pipeline(*steps).forward(str(tmp_path / "a.csv"), rows=[1])
    assert not flow.exact
    assert any("in several ways" in note for note in flow.notes)
    assert pipeline(*steps).forward(str(tmp_path / "a.csv"), rows=[1], step="headed").exact


def test_without_stamps_it_is_said_that_nobody_looked(tmp_path: Path) -> None:
    steps = [
        PlainStep("clean", [Extent("/x/a", Unit.LINE)], [Extent("/x/b", Unit.LINE)], [(("/x/b", 0), ("/x/a", 7))], 1, 2),
        PlainStep("report", [Extent("/x/b", Unit.LINE)], [Extent("/x/c", Unit.LINE)], [(("/x/c", 0), ("/x/b", 0))], 3, 4),
    ]
    flow = pipeline(*steps).backward("/x/c", lines=[1])
    assert at(flow, "/x/a") == [7]
    assert flow.notes == ("c is not here to look at; what is told is of what 'report' wrote.", "Nobody looked whether b was changed between 'clean' and 'report'.")
    assert not flow.exact


def test_steps_that_change_a_file_in_place_come_one_after_the_other(tmp_path: Path) -> None:
    path = write(tmp_path / "log.txt", ["0"])
    steps = []
    for number in range(1, 4):
        before, count = lines(path), len(path.read_text().splitlines())
        write(path, [*path.read_text().splitlines(), f"{number}"])
        pairs = [((str(path), n), (str(path), n)) for n in range(count)]
        steps.append(PlainStep(f"append {number}", [before], [lines(path)], pairs, number, number + 0.5))
    found = pipeline(steps)
    assert [len(found.backward("log.txt", lines=[n]).steps) for n in (1, 2, 3, 4)] == [3, 3, 2, 1]
    assert len(found.backward("log.txt", lines=[1]).sources) == 1
    ahead = found.forward("log.txt", lines=[1], step="append 2")
    assert [step.name for step in ahead.steps] == ["append 2", "append 3"]
    with pytest.raises(UnknownStepError, match=r"more than once.*flow\.wrote\('append 3'\)"):
        _ = found.backward("log.txt", lines=[1])["log.txt"]


def test_the_version_that_a_step_read_is_the_one_before_it_was_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1"])
    write(tmp_path / "z.txt", ["9"])
    first = identity("first", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    reader = identity("reader", tmp_path / "b.txt", tmp_path / "c.txt", 3, 4)
    second = identity("second", tmp_path / "z.txt", tmp_path / "b.txt", 5, 6)
    found = pipeline(second, reader, first)
    assert "z.txt" not in found.backward("c.txt")
    assert "a.txt" in found.backward("c.txt")
    assert "z.txt" in found.backward("b.txt", lines=[1])
    assert "a.txt" in found.backward("b.txt", lines=[1], step="first")
    ahead = found.forward("b.txt", lines=[1])  # what is there now, nobody read
    assert (ahead.results, ahead.notes) == ((), ("'reader' read b.txt when it was not what it is now.",))
    assert "c.txt" in found.forward("b.txt", step="reader")


@pytest.mark.parametrize("move", [False, True])
def test_a_copy_is_known_by_its_content(tmp_path: Path, move: bool) -> None:
    write(tmp_path / "a.txt", ["1" * 70, "2" * 70])
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    (shutil.move if move else shutil.copy)(tmp_path / "b.txt", tmp_path / "moved.txt")
    found = pipeline(first, identity("report", tmp_path / "moved.txt", tmp_path / "c.txt", 3, 4))
    flow = found.backward("c.txt", lines=[2])
    assert (at(flow, "a.txt"), flow.exact) == ([1], False)
    assert "is taken for a copy of" in flow.notes[0]  # which it may not be: files are equal by chance, too
    assert at(flow, "b.txt") == at(flow, "moved.txt") == [1]
    assert at(found.forward("a.txt", lines=[1]), "c.txt") == [0]


def unread(step: PlainStep) -> PlainStep:
    """The step, of whose files nobody has looked at what they held: they were moved at once, or are large."""
    step.writes = [replace(extent, stamp=replace(extent.stamp, digest="")) for extent in step.writes if extent.stamp]
    return step


@pytest.mark.parametrize(("renamed", "looked"), [("published/b.txt", False), ("published/b.txt", True), ("moved.txt", True)])
@pytest.mark.parametrize("count", [2, 70])
def test_what_was_renamed_is_known_by_its_time_also_if_nobody_looked_at_it_or_it_is_little(tmp_path: Path, renamed: str, looked: bool, count: int) -> None:
    write(tmp_path / "a.txt", ["1" * count, "2" * count])
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    first = first if looked else unread(first)
    (tmp_path / "published").mkdir()
    os.rename(tmp_path / "b.txt", tmp_path / renamed)
    found = pipeline(first, identity("report", tmp_path / renamed, tmp_path / "c.txt", 3, 4))
    flow, ahead = found.backward("c.txt", lines=[2]), found.forward("a.txt", lines=[1])
    assert (at(flow, "a.txt"), flow.exact, at(ahead, "c.txt"), ahead.exact) == ([1], False, [0], False)
    for each in (flow, ahead):
        seen = "content is" if looked else "name, size and time are"
        assert each.notes == (f"{tmp_path / renamed} is taken for a copy of {tmp_path / 'b.txt'}, which 'clean' wrote: its {seen} the same.",)


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize(("name", "later"), [("b.txt", 1), ("moved.txt", 0), ("moved.txt", 1)])
def test_a_file_that_may_be_a_copy_of_what_nobody_looked_at_is_said_both_ways(tmp_path: Path, name: str, later: int, read: bool) -> None:
    write(tmp_path / "a.txt", ["1" * 70])
    (tmp_path / "published").mkdir()
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    shutil.copy(tmp_path / "b.txt", tmp_path / "published" / name)
    os.utime(tmp_path / "published" / name, ns=(0, first.writes[0].stamp.modified + later))
    report = identity("report", tmp_path / "published" / name, tmp_path / "c.txt", 3, 4)
    if read:  # which was gone before somebody asked
        report.reads = [replace(extent, stamp=replace(extent.stamp, digest="")) for extent in report.reads if extent.stamp]
    else:
        unread(first)
    found = pipeline(first, report)
    for flow in (found.backward("c.txt", lines=[1]), found.forward("a.txt", lines=[1])):
        assert not flow.exact
        assert f"published/{name} may be a copy of" in flow.notes[0]
    found.link("clean", "report", wrote=str(tmp_path / "b.txt"), read=report.reads[0].path)
    assert [at(found.backward("c.txt", lines=[1]), "a.txt"), at(found.forward("a.txt", lines=[1]), "c.txt")] == [[0], [0]]


@pytest.mark.parametrize("other", ["content", "size", "older", "read before"])
def test_a_source_that_nobody_wrote_is_no_copy(tmp_path: Path, other: str) -> None:
    write(tmp_path / "a.txt", ["1" * 70])
    (tmp_path / "sources").mkdir()
    source = write(tmp_path / "sources" / "b.txt", ["clean of " + "2" * (71 if other == "size" else 70)])
    if other == "read before":
        os.utime(source, ns=(0, time.time_ns() + 10**9))
    early = [identity("early", source, tmp_path / "e.txt", 0, 0.5)] if other == "read before" else []
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    first = first if other == "content" else unread(first)
    if other in ("content", "size"):
        os.utime(source, ns=(0, first.writes[0].stamp.modified + 1))
    if other == "older":
        os.utime(source, ns=(0, first.writes[0].stamp.modified - 1))
    found = pipeline(first, identity("report", source, tmp_path / "c.txt", 3, 4), *early)
    flow, ahead = found.backward("c.txt", lines=[1]), found.forward("a.txt", lines=[1])
    assert ([s.name for s in flow.steps], flow.exact, flow.notes) == (["report"], True, ())
    assert ([s.name for s in ahead.steps], ahead.exact, ahead.notes) == (["clean"], True, ())


def test_a_copy_of_one_of_two_equal_files_is_asked_for_by_name_or_by_the_user(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1" * 70])
    other = tmp_path / "other"
    other.mkdir()
    one = identity("same", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    two = identity("same", tmp_path / "a.txt", tmp_path / "d.txt", 3, 4)
    two.id = "again"
    shutil.copy(tmp_path / "b.txt", other / "b.txt")
    shutil.copy(tmp_path / "b.txt", other / "e.txt")
    by_name = identity("by name", other / "b.txt", tmp_path / "f.txt", 5, 6)
    lost = identity("lost", other / "e.txt", tmp_path / "g.txt", 5, 6)
    found = pipeline(one, two, by_name, lost)
    assert "b.txt" in found.backward("f.txt", step="by name")
    assert [s.id for s in found.backward("f.txt").steps] == ["same", "by name"]
    flow = found.backward("g.txt")
    assert ("has the content of 2 files, b.txt, d.txt" in flow.notes[0], [s.id for s in flow.steps]) == (True, ["lost"])
    ahead = found.forward("a.txt")
    assert (ahead.exact, [note for note in flow.notes if "has the content" in note]) == (False, [note for note in ahead.notes if "has the content" in note])
    found.link("again", "lost", wrote=str(tmp_path / "d.txt"), read=str(other / "e.txt"))
    assert [s.id for s in found.backward("g.txt").steps] == ["again", "lost"]


def test_little_that_is_equal_is_no_copy(tmp_path: Path) -> None:
    """Many files have a header alone."""
    write(tmp_path / "a.txt", ["id,amount"])
    first = PlainStep("first", [lines("/d/z.txt")], [lines(tmp_path / "a.txt")], [((str(tmp_path / "a.txt"), 0), ("/d/z.txt", 0))], 1, 2)
    write(tmp_path / "template.txt", ["id,amount"])
    flow = pipeline(first, identity("report", tmp_path / "template.txt", tmp_path / "c.txt", 3, 4)).backward("c.txt")
    assert ([s.name for s in flow.steps], flow.exact) == (["report"], True)


def test_a_source_that_was_there_before_is_no_copy_of_what_became_equal_to_it(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1" * 70])
    before = lines(tmp_path / "a.txt")
    shutil.copy(tmp_path / "a.txt", tmp_path / "b.txt")
    same = PlainStep("same", [before], [lines(tmp_path / "b.txt")], [((str(tmp_path / "b.txt"), 0), (str(tmp_path / "a.txt"), 0))], 1, 2)
    flow = pipeline(same, identity("report", tmp_path / "a.txt", tmp_path / "c.txt", 3, 4)).backward("c.txt")
    assert [s.name for s in flow.steps] == ["report"]


def test_a_file_that_is_older_than_one_of_the_same_content_is_no_copy_of_it(tmp_path: Path) -> None:
    old = write(tmp_path / "old.txt", ["clean of " + "1" * 70])
    os.utime(old, (5, 5))
    write(tmp_path / "a.txt", ["1" * 70])
    first = identity("clean", tmp_path / "a.txt", tmp_path / "b.txt", 1, 2)
    assert [s.name for s in pipeline(first, identity("report", old, tmp_path / "c.txt", 3, 4)).backward("c.txt").steps] == ["report"]


def test_without_stamps_it_is_the_latest_writer_before(tmp_path: Path) -> None:
    def step(name: str, read: str, wrote: str, began: float) -> PlainStep:
        return PlainStep(name, [Extent(read, Unit.LINE)], [Extent(wrote, Unit.LINE)], [((wrote, 0), (read, 0))], began, began + 0.5)

    found = pipeline(step("one", "/x/a", "/x/b", 1), step("two", "/x/z", "/x/b", 2), step("read", "/x/b", "/x/c", 3), step("three", "/x/y", "/x/b", 4))
    assert [s.name for s in found.backward("/x/c").steps] == ["two", "read"]
    assert [s.name for s in found.forward("/x/z").steps] == ["two", "read"]
    assert [s.name for s in found.forward("/x/a").steps] == ["one"]


def test_steps_of_which_nobody_knows_when_they_ran_are_joined_by_the_user(chain: list[PlainStep], tmp_path: Path) -> None:
    chain[1].began = chain[1].ended = None
    found = pipeline(*chain)
    assert "It is not known when 'report' ran" in found.backward("c.txt", lines=[1]).notes[0]
    found.link("clean", "report")
    assert at(found.backward("c.txt", lines=[1]), "a.txt") == [0]
    assert at(found.forward("a.txt", lines=[1]), "c.txt") == [0]
    with pytest.raises(PipelineError, match="circle"):
        found.link("report", "clean", wrote=str(tmp_path / "c.txt"), read=str(tmp_path / "a.txt"))
    with pytest.raises(PipelineError, match="wrote nothing that 'report'"):
        found.link("clean", "report", read=str(tmp_path / "no.txt"))
    with pytest.raises(UnknownStepError, match="clean"):
        found.link("claen", "report")


def test_a_step_that_had_not_ended_is_no_writer_yet(chain: list[PlainStep]) -> None:
    chain[0].ended = None
    flow = pipeline(*chain).backward("c.txt", lines=[1])
    assert flow.notes == ("'clean' had not ended writing b.txt when 'report' began to read it.",)
    chain[0].ended = 3.5
    assert pipeline(*chain).backward("c.txt", lines=[1]).notes == flow.notes


def test_a_reader_cannot_be_linked_to_who_came_later(chain: list[PlainStep], tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="began before"):
        pipeline(*chain).link("report", "clean", wrote=str(tmp_path / "c.txt"), read=str(tmp_path / "a.txt"))


@dataclass(eq=False)
class ByValue(PlainStep):
    """Knows what it passes on without a file by the hashes of its items."""

    def hashes(self, path: str) -> Any:
        return np.array(self.values[path], dtype=np.uint64) if path in self.values else None


def test_what_is_passed_on_without_a_file_is_found_by_its_hash(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1", "2", "3"])
    out, taken = Extent("item:one/out", Unit.ROW), Extent("item:two/in", Unit.ROW)
    one = ByValue("one", [lines(tmp_path / "a.txt")], [out], [((out.path, n), (str(tmp_path / "a.txt"), n)) for n in range(3)], 1, 9, values={out.path: [7, 8, 7]})
    write(tmp_path / "c.txt", ["x", "y"])
    two = ByValue(
        "two", [taken], [lines(tmp_path / "c.txt")], [((str(tmp_path / "c.txt"), n), (taken.path, n)) for n in range(2)], 2, 8, values={taken.path: [8, 7]},
    )
    found = pipeline(two, one)
    assert "a.txt" not in found.backward("c.txt")
    one.ended = 2
    found.link("one", "two")
    assert at(found.backward("c.txt", lines=[1]), "a.txt") == [1]
    assert at(found.backward("c.txt", lines=[2]), "a.txt") == [0, 2]
    assert at(found.forward("a.txt", lines=[3]), "c.txt") == [1]
    one.values = {}
    assert "has kept no hashes" in found.backward("c.txt", lines=[1]).notes[0]


def test_what_flows_from_one_step_into_another_while_both_run_is_joined_by_its_name(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["1", "2"])
    write(tmp_path / "c.txt", ["1", "2"])
    stream = Extent("item:one/out", Unit.ROW, "item")
    one = PlainStep("one", [lines(tmp_path / "a.txt")], [stream], [((stream.path, n), (str(tmp_path / "a.txt"), n)) for n in range(2)], 2, 9)
    two = PlainStep("two", [stream], [lines(tmp_path / "c.txt")], [((str(tmp_path / "c.txt"), n), (stream.path, n)) for n in range(2)], 1, 8)
    found = pipeline(two, one)
    assert [s.id for s in found.steps] == ["one", "two"]
    flow = found.backward("c.txt", lines=[2])
    assert (at(flow, "a.txt"), flow.exact) == ([1], True)
    assert at(found.forward("a.txt", lines=[1]), "c.txt") == [0]


def test_a_step_that_cannot_tell_has_read_all_and_that_is_said(chain: list[PlainStep]) -> None:
    chain[0].mute = True
    flow = pipeline(*chain).backward("c.txt", lines=[1])
    assert flow["a.txt"].located.unit is Unit.WHOLE
    assert "All that 'clean' read is taken" in flow.notes[0]
    assert not flow.exact
    assert flow.records("a.txt") == [flow["a.txt"].extent.path]
    ahead = pipeline(*chain).forward("a.txt", lines=[1])
    assert at(ahead, "c.txt") == [0, 1, 2]  # all lines of b.txt, which are counted
    Path(chain[0].writes[0].path).unlink()
    lost = pipeline(*chain).forward("a.txt", lines=[1])
    assert lost["c.txt"].located.unit is Unit.WHOLE
    assert "cannot tell which records" in " ".join(lost.notes)


def test_an_incomplete_step_says_so(chain: list[PlainStep]) -> None:
    chain[0].incomplete = ("its function was opaque",)
    flow = pipeline(*chain).backward("c.txt", lines=[1])
    assert (flow.notes, flow.exact) == (("'clean' is incomplete: its function was opaque",), False)
    assert "'clean' is incomplete: its function was opaque" in pipeline(*chain).table().notes


def test_steps_that_count_a_file_differently_meet_in_its_bytes(tmp_path: Path) -> None:
    path, out = tmp_path / "b.csv", tmp_path / "c.txt"
    path.write_text('id,text\n1,"two\nlines"\n\n2,b\n')
    write(tmp_path / "a.txt", ["1", "2"])
    write(out, [*"12345"])
    one = PlainStep("one", [lines(tmp_path / "a.txt")], [lines(path, Unit.ROW, "csv", RFC)], [((str(path), n), (str(tmp_path / "a.txt"), n)) for n in range(2)], 1, 2)
    two = PlainStep("two", [lines(path)], [lines(out)], [((str(out), n), (str(path), n)) for n in range(5)], 3, 4)
    found = pipeline(one, two)
    assert [at(found.backward("c.txt", lines=[n]), "a.txt") for n in (2, 3, 5)] == [[0], [0], [1]]
    header = found.backward("c.txt", lines=[1])
    assert (header.sources, header.exact) == ((), True)
    assert "are no records for 'one'" in header.notes[0]
    assert at(found.forward("a.txt", lines=[1]), "c.txt") == [1, 2]
    assert at(found.backward("b.csv", lines=[2]), "a.txt") == at(found.backward("b.csv", rows=[0]), "a.txt") == [0]
    with pytest.raises(UnknownRecordError, match="no records"):
        found.backward("b.csv", lines=[1])
    path.unlink()
    flow = found.backward("c.txt", lines=[5])
    assert "All of b.csv is taken" in flow.notes[0]
    assert flow["a.txt"].located.unit is Unit.WHOLE


def test_a_source_that_two_steps_count_differently_is_shown_by_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n2\n")
    write(tmp_path / "b.txt", ["x"])
    write(tmp_path / "c.txt", ["x"])
    write(tmp_path / "d.txt", ["x"])
    one = PlainStep("one", [lines(path, Unit.ROW, "csv", RFC)], [lines(tmp_path / "b.txt")], [((str(tmp_path / "b.txt"), 0), (str(path), 1))], 1, 2)
    two = PlainStep("two", [lines(path)], [lines(tmp_path / "c.txt")], [((str(tmp_path / "c.txt"), 0), (str(path), 0))], 1, 2)
    b, c, d = (str(tmp_path / name) for name in ("b.txt", "c.txt", "d.txt"))
    three = PlainStep("three", [lines(Path(b)), lines(Path(c))], [lines(Path(d))], [((d, 0), (b, 0)), ((d, 0), (c, 0))], 3, 4)
    flow = pipeline(one, two, three).backward("d.txt")
    assert (flow["a.csv"].located.unit, at(flow, "a.csv"), flow.records("a.csv")) == (Unit.LINE, [0, 2], ["id", "2"])
    assert [step.name for step in flow["a.csv"].readers] == ["two", "one"]


def test_questions_that_cannot_be_asked_say_what_can(chain: list[PlainStep], tmp_path: Path) -> None:
    found = pipeline(*chain)
    with pytest.raises(UnknownRecordError, match="count from 1"):
        found.backward("c.txt", lines=[0])
    with pytest.raises(UnknownRecordError, match="has 3 lines"):
        found.backward("c.txt", lines=[4])
    with pytest.raises(TypeError, match="one way at a time"):
        found.backward("c.txt", lines=[1], rows=[1])
    for wrong in ("1", [1.5], [True], [None]):
        with pytest.raises(TypeError, match="whole numbers"):
            found.backward("c.txt", lines=wrong)
    with pytest.raises(PipelineError, match="rows of this file"):
        pipeline(PlainStep("x", [], [Extent(str(tmp_path / "c.txt"), Unit.LINE)], [], 1, 2)).backward("c.txt", rows=[0])
    with pytest.raises(UnknownStepError, match=r"c\.txt"):
        found.backward("cc.txt")
    for ask in (found.backward, found.forward):
        with pytest.raises(UnknownStepError, match=r"No step of the pipeline read or wrote this file.*c\.txt"):
            ask(Located.of(str(tmp_path / "cc.txt"), Unit.LINE, [0]))
    with pytest.raises(UnknownStepError, match="neither read nor wrote"):
        found.backward("c.txt", step="clean")
    with pytest.raises(UnknownStepError, match="No step of the pipeline knows these"):
        found.backward(object())
    with pytest.raises(TypeError, match="are of a file"):
        found.backward(object(), lines=[1])
    flow = found.backward("c.txt")
    with pytest.raises(UnknownStepError, match=r"a\.txt"):
        flow["aa.txt"]
    with pytest.raises(TypeError):
        flow[0]  # type: ignore[index]
    with pytest.raises(UnknownStepError, match="no such level"):
        flow.up("column")
    with pytest.raises(TypeError, match="a pipeline is made of"):
        pipeline(3)
    assert pipeline().steps == ()


def test_a_file_that_changed_since_is_asked_about_as_it_was_written(chain: list[PlainStep], tmp_path: Path) -> None:
    write(tmp_path / "c.txt", ["new"])
    found = pipeline(*chain)
    with pytest.raises(SourceChangedError, match=r"c\.txt was changed since 'report' wrote it"):
        found.backward("c.txt", lines=[1])
    flow = found.backward("c.txt", lines=[3], step="report")
    assert at(flow, "a.txt") == [2]
    with pytest.raises(SourceChangedError):
        flow.records("c.txt")
    assert "is not what it was" in str(flow.record_table("c.txt"))
    (tmp_path / "c.txt").unlink()
    gone = found.backward("c.txt", lines=[3])
    assert "c.txt is not here to look at" in gone.notes[0]
    (tmp_path / "a.txt").unlink()
    assert at(found.forward("a.txt", lines=[3]), "c.txt") == [2]


def test_directories_and_names_that_several_files_have(tmp_path: Path) -> None:
    read = write(tmp_path / "in.txt", ["1", "2"])
    steps = []
    for number, folder in enumerate(["one/day=1", "one/day=2", "two"]):
        (tmp_path / folder).mkdir(parents=True)
        steps.append(identity(f"s{number}", read, tmp_path / folder / "part-00000", number, number + 0.5))
    found = pipeline(steps)
    assert len(found.backward(tmp_path / "one").steps) == len(found.backward("one").steps) == len(found.backward(f"{tmp_path}/one/").steps) == 2
    with pytest.raises(PipelineError, match="2 files"):
        found.backward("one", lines=[1])
    with pytest.raises(UnknownStepError, match="3 files have this name"):
        found.backward("part-00000")
    assert at(found.backward("two/part-00000", lines=[2]), "in.txt") == [1]
    flow = found.forward("in.txt", lines=[1])
    assert flow.up("dataset") == (str(read), str(tmp_path / "one"), str(tmp_path / "two"))
    assert len(flow.up("file")) == 4
    assert [step.id for step in flow.up("job")] == ["s0", "s1", "s2"]
    with pytest.raises(UnknownStepError, match="Several files"):
        flow["part-00000"]


def test_a_directory_that_a_program_took_as_a_whole_is_all_that_was_written_there(tmp_path: Path) -> None:
    read = write(tmp_path / "in.txt", ["1", "2"])
    folder, given = tmp_path / "parts", tmp_path / "given"
    folder.mkdir()
    given.mkdir()
    parts = [identity(f"s{n}", read, folder / f"part-{n}", n, n + 0.5) for n in range(2)]
    later = identity("later", read, folder / "part-0", 20, 21)
    made = write(given / "one.txt", ["a", "b"])
    whole = PlainStep("program", [Extent(str(folder), Unit.WHOLE)], [Extent(str(given), Unit.WHOLE)], [((str(given), 0), (str(folder), 0))], 3, 4)
    last = identity("last", made, tmp_path / "out.txt", 5, 6)
    found = pipeline(later, *parts, whole, last)
    flow = found.backward("out.txt", lines=[2])
    assert [s.id for s in flow.steps] == ["s0", "s1", "program", "last"]
    assert (at(flow, "in.txt"), flow.exact) == ([0, 1], False)
    assert "of a directory that is known as a whole" in flow.notes[0]
    ahead = found.forward("in.txt", lines=[1])
    assert [s.id for s in ahead.steps] == ["s0", "s1", "program", "last", "later"]
    assert at(ahead, "out.txt") == [0, 1]


def test_records_that_only_a_step_can_name(chain: list[PlainStep]) -> None:
    held = object()

    class Holder(PlainStep):
        def inputs_of(self, records: object) -> Sequence[Located] | None:
            return [Located.of(self.reads[0].path, Unit.LINE, [2])] if records is held else None

        def outputs_of(self, records: object) -> Sequence[Located] | None:
            return [Located.of(self.writes[0].path, Unit.LINE, [2])] if records is held else None

    last = Holder(**vars(chain[1]))
    found = pipeline(chain[0], last)
    flow = found.backward(held)
    assert (at(flow, "a.txt"), [s.name for s in flow.steps]) == ([2], ["clean", "report"])
    assert at(found.forward(held), "c.txt") == [2]


def test_a_step_without_files_is_a_flow_by_itself() -> None:
    class Collected(PlainStep):
        def inputs_of(self, records: object) -> Sequence[Located] | None:
            return []

        outputs_of = inputs_of

    found = pipeline(Collected("collected", [], [], [], 1, 2))
    for flow in (found.backward(object()), found.forward(object())):
        assert ([step.name for step in flow.steps], flow.files, flow.exact) == (["collected"], (), True)


def test_sessions_and_pipelines_are_added_and_steps_are_known_once(chain: list[PlainStep]) -> None:
    class Session:
        @property
        def pipeline(self) -> Pipeline:
            return pipeline(chain[0])

    more = [chain[0]]
    found = pipeline(Session(), lambda: more)
    before = found.steps
    more.append(chain[1])
    assert (before, found.steps) == ((chain[0],), tuple(chain))
    both = pipeline(found).add(PlainStep("clean", [], [], []))
    assert (both.steps, both.step("clean")) == (tuple(chain), chain[0])


def test_names_of_users_are_text_wherever_they_are_shown(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    read = write(tmp_path / "שלום&<b>.txt", [f"{name}\x1b[0m", "$x$"])
    step = identity(name, read, tmp_path / "out.txt", 1, 2)
    found = pipeline(step)
    flow = found.backward("out.txt")
    for shown in (found, flow, flow.record_table(flow.sources[0])):
        html = shown._repr_mimebundle_()["text/html"]
        assert "<script>" not in html
        assert "<b>" not in html
        assert "\x1b" not in html + str(shown)
    frame = flow.toPandas()
    assert list(frame["path"]) == [str(tmp_path / "out.txt"), str(read), str(read)]
    assert (list(frame["unit"]), list(frame["number"]), list(frame["readers"])) == (["whole", "line", "line"], [0, 1, 2], ["", name, name])
    assert list(pipeline(step).forward(Located.of(str(read), Unit.LINE, [])).toPandas().columns) == list(frame.columns)


def test_what_is_printed(chain: list[PlainStep], capsys: pytest.CaptureFixture[str]) -> None:
    found = pipeline(*chain)
    found.show()
    flow = found.backward("c.txt", lines=[2])
    flow.show()
    flow.show("a.txt")
    out = capsys.readouterr().out
    assert "clean (plain) -> report (plain)" in out
    assert "a.txt  " in out
    assert repr(flow) == "<flow backward through 2 steps and 3 files>"
    assert repr(found) == "<pipeline of 2 steps>"
    assert [row[4] for row in flow.table().rows] == ["line 2", "line 2", "line 2"]


def test_thousands_of_steps_and_files_are_joined_by_an_index(tmp_path: Path) -> None:
    steps = []
    for number in range(1_500):
        reads = [Extent(f"/d{number}/part-{n}", Unit.LINE) for n in range(10)]
        writes = [Extent(f"/d{number + 1}/part-{n}", Unit.LINE) for n in range(10)]
        pairs = [((w.path, 0), (r.path, 0)) for w, r in zip(writes, reads, strict=True)]
        steps.append(PlainStep(f"s{number}", reads, writes, pairs, number, number + 0.5))
    found = pipeline(steps)
    began = time.thread_time()
    flow = found.backward("/d1500/part-3", lines=[1])
    assert (len(flow.steps), flow.sources[0].extent.path) == (1_500, "/d0/part-3")
    assert len(found.forward("/d0/part-3", lines=[1]).steps) == 1_500
    assert time.thread_time() - began < 10


def test_all_of_what_is_joined_by_hashes_is_all_of_it() -> None:
    """Neither a step as a whole nor one that cannot tell its records is its first record."""
    names = "item:a", "item:b"
    first = ByValue("first", [], [Extent(names[0], Unit.ROW, "item")], [], 1, 2, values={names[0]: [10, 11, 12]})
    second = ByValue("second", [Extent(names[1], Unit.ROW, "item")], [lines("/d/out.txt")], [(("/d/out.txt", n), (names[1], n)) for n in range(4)], 3, 4)
    second.values = {names[1]: [12, 11, 10, 7]}
    found = pipeline(first, second)
    found.link("first", "second")
    assert found.forward(first)["out.txt"].located.positions.tolist() == [0, 1, 2]
    second.mute = True
    assert found.backward("/d/out.txt", lines=[4])[names[0]].located.positions.tolist() == [0, 1, 2]


def test_rows_that_two_steps_may_have_cut_in_other_ways_are_not_taken_for_the_same(tmp_path: Path) -> None:
    """By an end of lines, or an input format, of their own. What a step is asked by its own count, and what comes of it by several ways, needs no other."""
    write(tmp_path / "b.bin", ["1;2", "3;4"])
    b = lines(tmp_path / "b.bin", Unit.ROW, "hadoop")
    first = PlainStep("first", [lines("/d/a.txt")], [b], [((b.path, n), ("/d/a.txt", n)) for n in range(2)], 1, 2)
    readers = [PlainStep(name, [b], [lines(f"/d/{name}.txt")], [((f"/d/{name}.txt", 1), (b.path, 1))], 3, 4) for name in ("c", "d")]
    found = pipeline(first, *readers)
    flow = found.backward("/d/c.txt", lines=[2])
    assert (flow["b.bin"].located.unit, flow.exact) == (Unit.WHOLE, False)
    assert any("All of b.bin is taken" in note for note in flow.notes)
    own = found.backward(b.path, rows=[1])
    assert (at(own, "a.txt"), own.exact) == ([1], True)
    ahead = found.forward("/d/a.txt", lines=[2])
    assert (ahead["b.bin"].located.unit, at(ahead, "b.bin")) == (Unit.ROW, [1])


def test_a_file_is_one_by_all_its_names(tmp_path: Path) -> None:
    """A symbolic link leads to it, to a folder that it is in, or S3 has several names for it."""
    write(tmp_path / "a.txt", ["1", "2", "3"])
    (tmp_path / "monday").mkdir()
    clean = identity("clean", tmp_path / "a.txt", tmp_path / "monday" / "b.txt", 1, 2)
    (tmp_path / "latest.txt").symlink_to(tmp_path / "monday" / "b.txt")
    (tmp_path / "today").symlink_to(tmp_path / "monday")
    for name in ("latest.txt", "today/b.txt"):
        found = pipeline(clean, identity("report", tmp_path / name, tmp_path / "c.txt", 3, 4))
        flow = found.backward("c.txt", lines=[2])
        assert (at(flow, "a.txt"), flow.exact) == ([1], True)
        for asked in (tmp_path / name, tmp_path / "monday" / "b.txt"):
            assert at(found.forward(asked), "c.txt") == [0, 1, 2]
            assert at(found.forward(asked, lines=[3]), "c.txt") == [2]
    names = [lines(tmp_path / name) for name in ("latest.txt", "monday/b.txt")]
    both = PlainStep("both", names, [lines("/d/e.txt")], [(("/d/e.txt", i), (name.path, 0)) for i, name in enumerate(names)], 3, 4)
    assert at(pipeline(clean, both).forward("a.txt", lines=[1]), "e.txt") == [0, 1]
    writer = PlainStep("writer", [lines("/d/a.txt")], [lines("s3://b/x")], [(("s3://b/x", 0), ("/d/a.txt", 4))], 1, 2)
    for name in ("s3://b/x", "s3a://b/x", "s3n://b/x"):
        reader = PlainStep("reader", [lines(name)], [lines("/d/c.txt")], [(("/d/c.txt", 0), (name, 0))], 3, 4)
        assert at(pipeline(writer, reader).backward("/d/c.txt", lines=[1]), "a.txt") == [4]


def test_a_link_that_leads_elsewhere_by_now_is_told(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        write(tmp_path / name, [name])
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "monday")
    report = identity("report", link, tmp_path / "c.txt", 3, 4)
    found = pipeline(report)
    assert found.backward("c.txt", lines=[1]).exact
    link.unlink()
    link.symlink_to(tmp_path / "tuesday")
    flow = found.backward("c.txt", lines=[1])
    assert (flow.exact, flow.notes) == (False, ("latest is a link, and what it led to when 'report' read it is not there any more.",))


def test_a_link_is_what_it_leads_to_when_it_is_asked_about(tmp_path: Path) -> None:
    """Also where a folder above is one, and by a pipeline that was asked before."""
    steps: list[PlainStep] = []
    found = pipeline(lambda: steps)
    for number, name in enumerate(("monday", "tuesday")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "in.txt", [name])
        (tmp_path / "latest").unlink(missing_ok=True)
        (tmp_path / "latest").symlink_to(tmp_path / name)
        steps.append(identity(f"report {name}", tmp_path / "latest" / "in.txt", tmp_path / f"{name}.txt", 2 * number, 2 * number + 1))
        flow = found.forward(tmp_path / name / "in.txt", lines=[1])
        assert [file.extent.path for file in flow.results] == [str(tmp_path / f"{name}.txt")]
        assert all(note == "'report monday' read in.txt when it was not what it is now." for note in flow.notes)
        assert found.backward(f"{name}.txt", lines=[1]).exact


@pytest.mark.slow
@pytest.mark.usefixtures("uncollected")  # what other tests left is looked at more often the more there is here
def test_time_goes_with_the_files_and_not_with_their_square() -> None:
    """Ten thousand part files between two steps; a folder of them that is read as a whole."""
    def took(count: int) -> float:
        a, b, c = ([Extent(f"/d/{folder}/part-{n:05}", Unit.ROW, "parquet") for n in range(count)] for folder in "abc")
        one, two = (Passing(name, r, w, [], 2 * n + 1, 2 * n + 2) for n, (name, r, w) in enumerate((("one", a, b), ("two", b, c))))
        whole = Passing("whole", [Extent("/d/b", Unit.WHOLE)], [Extent("/d/e", Unit.WHOLE)], [], 5, 6)
        gc.collect()
        began = time.process_time()
        flow = pipeline(one, two, whole).backward("/d/c")
        assert len(flow.sources) == count
        assert len(pipeline(one, whole).forward(one).files) == count + 2
        return time.process_time() - began

    took(200)
    assert min(took(4_000), took(4_000)) < 12 * min(took(1_000), took(1_000))


class Passing(PlainStep):
    """Record n of each file is made of record n of the one in its place."""

    def backward(self, outputs: Sequence[Located]) -> list[Located]:
        return self._passed(outputs, self.writes, self.reads)

    def forward(self, inputs: Sequence[Located]) -> list[Located]:
        return self._passed(inputs, self.reads, self.writes)

    def _passed(self, given: Sequence[Located], own: Sequence[Extent], others: Sequence[Extent]) -> list[Located]:
        at = {extent.path: number % len(others) for number, extent in enumerate(own)}
        return [Located(others[at[one.path]].path, others[at[one.path]].unit, one.positions) for one in given]


class Session:
    """What has a pipeline."""

    def __init__(self, *steps: PlainStep) -> None:
        self._made = Pipeline(*steps)

    @property
    def pipeline(self) -> Pipeline:
        return self._made


def test_a_session_is_not_added_to_what_its_own_pipeline_is_made_of(chain: list[PlainStep]) -> None:
    one, other, third = Session(chain[0]), Session(chain[1]), Session()
    for what in (one, [one], Pipeline(one)):
        with pytest.raises(PipelineError, match="made of this one") as refused:
            one.pipeline.add(what)
        assert refused.value.remedy
    one.pipeline.add(other, one.pipeline)
    third.pipeline.add(one)
    with pytest.raises(PipelineError, match="made of this one"):
        other.pipeline.add(third)
    assert [step.id for step in third.pipeline.steps] == ["clean", "report"]
    assert [step.id for step in other.pipeline.steps] == ["report"]


def test_a_file_that_a_step_read_in_two_ways_is_taken_as_a_whole(tmp_path: Path) -> None:
    """Line 2 of the one is row 0 of the other: positions are of no use where nobody says which is meant."""
    write(tmp_path / "raw.txt", ["x", "1", "2"])
    first = identity("fetch", tmp_path / "raw.txt", tmp_path / "a.csv", 1, 2)
    write(tmp_path / "out.txt", ["1 1", "2 2"])
    rows = Extent(str(tmp_path / "a.csv"), Unit.ROW, "csv", RFC, lines(tmp_path / "a.csv").stamp)
    pairs = [((str(tmp_path / "out.txt"), n), (str(tmp_path / "a.csv"), n)) for n in range(2)]
    second = PlainStep("join", [lines(tmp_path / "a.csv"), rows], [lines(tmp_path / "out.txt")], pairs, 3, 4)
    found = pipeline(first, second)
    back, ahead = found.backward("out.txt", lines=[1]), found.forward("raw.txt", lines=[2])
    assert not back.exact
    assert not ahead.exact
    assert any("'join' read a.csv in several ways" in note for note in back.notes)
    assert at(back, "a.csv") == at(back, "raw.txt") == [0, 1, 2]
    assert ahead["out.txt"].located.unit is Unit.WHOLE


def test_two_versions_of_a_file_that_a_step_read_lead_to_who_wrote_each(tmp_path: Path) -> None:
    steps, read = [], []
    for number, name in enumerate("ab"):
        write(tmp_path / f"{name}.txt", [f"{name}1", f"{name}2"])
        steps.append(identity(name, tmp_path / f"{name}.txt", tmp_path / "now.txt", 2 * number, 2 * number + 1))
        read.append(lines(tmp_path / "now.txt"))
    write(tmp_path / "out.txt", ["1"])
    last = PlainStep("join", read, [lines(tmp_path / "out.txt")], [((str(tmp_path / "out.txt"), 0), (str(tmp_path / "now.txt"), 1))], 5, 6)
    flow = pipeline(*steps, last).backward("out.txt", lines=[1])
    assert not flow.exact
    assert flow["a.txt"].located.unit is Unit.WHOLE  # what is not there any more cannot be counted
    assert at(flow, "b.txt") == [0, 1]


def test_a_file_may_be_of_all_who_wrote_into_its_folder_while_nobody_knows_whose_it_is(tmp_path: Path) -> None:
    read, folder = write(tmp_path / "in.txt", ["1", "2"]), tmp_path / "parts"
    folder.mkdir()
    known = identity("known", read, folder / "part-0", 1, 2)
    into = Extent(str(folder), Unit.WHOLE, FOLDER)
    unknown = [PlainStep(f"u{n}", [lines(read)], [into], [((str(folder), 0), (str(read), n))], n + 1, n + 2) for n in range(3)]
    other = write(folder / "part-1", ["b", "c"])
    last = PlainStep(
        "last", [lines(folder / "part-0"), lines(other)], [lines(write(tmp_path / "out.txt", ["a", "b"]))],
        [((str(tmp_path / "out.txt"), n), (str(folder / f"part-{n}"), n)) for n in range(2)], 2.5, 4,
    )
    found = pipeline(known, *unknown, last)
    flow = found.backward("out.txt", lines=[1])
    assert ([s.id for s in flow.steps], flow.exact) == (["known", "last"], True)
    flow = found.backward("out.txt", lines=[2])
    assert [s.id for s in flow.steps] == ["u0", "u1", "last"]
    assert (at(flow, "in.txt"), flow.exact) == ([0, 1], False)
    assert "'u0', 'u1' wrote into parts" in flow.notes[0]
    for step, steps, exact in ((unknown[0], ["u0", "last"], False), (unknown[1], ["u1", "last"], False), (unknown[2], ["u2"], True)):  # the last began later
        ahead = found.forward(step)
        assert ([s.id for s in ahead.steps], ahead.exact) == (steps, exact)
    assert {s.id for s in found.backward("parts").steps} == {"known", "u0", "u1", "u2"}
    alone = found.backward(str(write(folder / "part-2", ["d"])), lines=[1])
    assert ({s.id for s in alone.steps}, alone.exact) == ({"u0", "u1", "u2"}, False)


def test_who_cannot_tell_a_record_or_has_none_there_does_not_refuse_it_for_the_others(tmp_path: Path) -> None:
    """Asked at the beginning of a flow as in the middle of one: else one more reader would take away what others answered."""
    read = write(tmp_path / "s.csv", ["id", "1", "2"])
    outs = {name: write(tmp_path / name, ["id", "1", "2"]) for name in ("text", "table", "odd")}
    odd = Extent(str(read), Unit.ROW, "text", (("lineSep", ","),), lines(read).stamp)
    ways = {"text": lines(read), "table": lines(read, Unit.ROW, "csv", RFC), "odd": odd}
    steps = {
        name: PlainStep(name, [ways[name]], [lines(out)], [((str(out), n), (str(read), n)) for n in range(3)], number, number + 0.5)
        for number, (name, out) in enumerate(outs.items())
    }
    text, table, strange = steps.values()
    flow = pipeline(text, table).forward("s.csv", lines=[1])
    assert ([s.id for s in flow.steps], flow.exact) == (["text"], True)
    assert "no records for 'table': a header" in flow.notes[0]
    with pytest.raises(UnknownRecordError, match="a header, or blank"):
        pipeline(table).forward("s.csv", lines=[1])
    for line in (1, 3):
        flow = pipeline(text, table, strange).forward("s.csv", lines=[line])
        assert at(flow, "text") == [line - 1]
        assert ([s.id for s in flow.steps], flow.exact) == (["text", "table", "odd"] if line > 1 else ["text", "odd"], False)
        assert "All of s.csv is taken for 'odd'" in "".join(flow.notes)
        assert flow["odd"].located.unit is Unit.WHOLE
    flow = pipeline(text, table, strange).forward("s.csv", rows=[1])
    assert (at(flow, "table"), at(flow, "text"), flow.exact) == ([1], [0, 1, 2], False)
    flow = pipeline(strange).forward("s.csv", lines=[2])
    assert (flow["odd"].located.unit, flow.exact) == (Unit.WHOLE, False)
    for found in (pipeline(text, table, strange), pipeline(strange), pipeline(table)):
        with pytest.raises(UnknownRecordError, match="has 3 lines"):
            found.forward("s.csv", lines=[4])


def test_lines_of_what_a_step_wrote_and_counts_in_ways_of_its_own_are_all_of_it(tmp_path: Path) -> None:
    read, out = write(tmp_path / "in.txt", ["1", "2"]), write(tmp_path / "out.txt", ["a", "b"])
    wrote = Extent(str(out), Unit.ROW, "text", (("lineSep", ","),), lines(out).stamp)
    found = pipeline(PlainStep("odd", [lines(read)], [wrote], [], 1, 2))
    flow = found.backward("out.txt", lines=[1])
    assert (flow["in.txt"].located.unit, flow.exact) == (Unit.WHOLE, False)
    with pytest.raises(UnknownRecordError, match="has 2 lines"):
        found.backward("out.txt", lines=[3])

"""Actors in a pipeline: lineage runs through frames, generators, programs and linked actors, from file to file, both ways."""

import csv
import fileinput
import gzip
import io
import linecache
import os
import signal
import sqlite3
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from contextlib import ExitStack, closing, suppress
from functools import partial
from xml.etree import ElementTree

import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.errors import UnknownStepError, UntraceableError
from bigdebug.trace.across.pipelines import pipeline


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def test_from_file_to_file_through_pandas_a_program_and_a_generator(tmp_path):
    (tmp_path / "orders.csv").write_text('city,amount\nx,5\n"y\nz",7\nx,9\nw,1\n')
    orders = actors.read_csv(tmp_path / "orders.csv")
    good = actors.rows(lambda f: f[f.amount > 4], name="good")(orders)
    sums = actors.groups(lambda f: f.groupby("city", as_index=False).amount.sum(), by="city", name="sums")(good)
    actors.to_csv(sums, tmp_path / "sums.csv", index=False, header=False)
    actors.program(["grep", "x"], stdin=tmp_path / "sums.csv", stdout=tmp_path / "x.csv", lineage="filter")
    actors.lines(lambda lines: (line.upper() for line in lines), each=True, name="upper")(tmp_path / "x.csv", tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == "X,14\n"
    flow = pipeline(actors.steps).backward("report.txt", lines=[1])
    assert [step.name for step in flow.steps] == ["good", "sums", "write sums.csv", "grep", "upper"]
    assert flow["orders.csv"].located.positions.tolist() == [0, 2]
    assert flow.records("orders.csv")
    assert flow.notes == ()
    flow = pipeline(actors.steps).forward("orders.csv", lines=[5])
    assert [step.name for step in flow.steps] == ["good", "sums", "write sums.csv", "grep", "upper"]
    assert flow["report.txt"].located.positions.tolist() == [0]
    assert "sums.csv" not in pipeline(actors.steps).forward("orders.csv", lines=[6])


def test_linked_actors_that_run_at_the_same_time_are_one_flow(tmp_path):
    with actors.register("reader", home=None) as reader, actors.register("count") as counter:
        actors.flow_link(reader, counter)
        for number, word in enumerate(["a", "b", "a"]):
            reader.reset()
            reader.add_input(at=actors.Place.line(tmp_path / "in.txt", number))
            reader.add_output(word)
            counter.add_input(word, word)
        for number, word in enumerate(["a", "b"]):
            counter.add_output(at=actors.Place.line(tmp_path / "out.txt", number), tag=word)
        (tmp_path / "in.txt").write_text("a\nb\na\n")
        (tmp_path / "out.txt").write_text("a 2\nb 1\n")
    flow = pipeline(actors.steps).backward("out.txt", lines=[1])
    assert [step.name for step in flow.steps] == ["reader", "count"]
    assert flow["in.txt"].located.positions.tolist() == [0, 2]
    assert pipeline(actors.steps).forward("in.txt", lines=[2])["out.txt"].located.positions.tolist() == [1]


def test_a_generator_that_another_reads_is_linked(tmp_path):
    (tmp_path / "in.txt").write_text("1\n2\n3\n")
    first = actors.generator(lambda lines: (int(line) for line in lines if line != "2\n"), name="first")
    with (tmp_path / "in.txt").open() as lines:
        list(actors.generator(lambda numbers: (n * 2 for n in numbers), each=True, name="second")(first(lines)))
    steps = {step.name: step for step in actors.steps()}
    actors.flow_link(steps["first"].id, steps["second"].id)
    every = pipeline(actors.steps)
    flow = every.backward(every.step("second"))
    assert [step.name for step in flow.steps] == ["first", "second"]


def test_actors_that_never_committed_are_told_and_others_are_followed(tmp_path):
    lost = actors.register("lost")
    (tmp_path / "in.txt").write_text("1\n2\n")
    actors.lines(lambda lines: lines, each=True, name="copy")(tmp_path / "in.txt", tmp_path / "out.txt")
    every = pipeline(actors.steps)
    assert lost.id in str(every.table()) or "lost" in str(every.table())
    assert "has not committed yet" in str(every.table())
    assert every.backward("out.txt", lines=[2])["in.txt"].located.positions.tolist() == [1]


def test_a_pipeline_reads_actors_once(tmp_path):
    (tmp_path / "in.txt").write_text("1\n2\n")
    actors.register("lost")
    actors.lines(lambda lines: lines, each=True, name="copy")(tmp_path / "in.txt", tmp_path / "out.txt")
    every = pipeline(actors.steps)
    known = every.dataflow
    assert every.dataflow is known
    with actors.register("new"):
        pass
    assert every.dataflow is not known
    before = {step.id: step for step in known.steps}
    assert all(before.get(step.id, step) is step for step in every.dataflow.steps)


def test_all_that_a_step_passed_on_without_a_file_is_followed(tmp_path):
    (tmp_path / "in.csv").write_text("k,n\na,1\nb,2\nc,3\n")
    kept = actors.rows(lambda f: f[f.n > 1], name="kept")(actors.read_csv(tmp_path / "in.csv"))
    actors.groups(lambda f: f.groupby("k", as_index=False).n.sum(), by="k", name="sums")(kept)
    every = pipeline(actors.steps)
    flow = every.backward(every.step("sums"))
    assert flow.notes == ()
    assert flow["in.csv"].located.positions.tolist() == [1, 2]
    assert [step.name for step in every.forward(every.step("kept")).steps] == ["kept", "sums"]


def test_a_step_without_lineage_says_why_in_a_flow(tmp_path):
    (tmp_path / "in.csv").write_text("k,n\na,1\nb,2\nc,3\n")
    shifted = actors.rows(lambda f: f.shift(), name="shifted")(actors.read_csv(tmp_path / "in.csv"))
    actors.to_csv(shifted, tmp_path / "out.csv", index=False)
    flow = pipeline(actors.steps).backward("out.csv", rows=[1])
    assert any("shifted has no lineage" in note for note in flow.notes)
    assert flow["in.csv"].located.positions.tolist() in ([0], [0, 1, 2])
    assert not flow.exact


def test_a_flow_says_that_the_step_that_gave_is_not_there_any_more(tmp_path):
    (tmp_path / "in.csv").write_text("k\n1\n2\n")
    kept = actors.rows(lambda f: f[f.k > 1], name="kept")(actors.read_csv(tmp_path / "in.csv"))
    [giver] = actors.steps()
    actors.to_csv(kept, tmp_path / "out.csv", index=False)
    assert pipeline(actors.steps).backward("out.csv", rows=[0]).exact
    actors.forget(giver.id)
    flow = pipeline(actors.steps).backward("out.csv", rows=[0])
    assert not flow.exact
    assert "that step is not among these" in flow.notes[0]


def test_a_flow_says_that_what_is_linked_has_not_committed(tmp_path):
    giver, taker = actors.register("giver"), actors.register("taker")
    actors.flow_link(giver, taker)
    giver.add_output("x")
    with taker:
        taker.add_input("x")
        taker.add_output(at=actors.Place.line(tmp_path / "out.txt", 0))
        (tmp_path / "out.txt").write_text("1\n")
    flow = pipeline(actors.steps).backward("out.txt", lines=[1])
    assert not flow.exact
    assert "has not committed" in flow.notes[0]
    giver.commit()
    assert pipeline(actors.steps).backward("out.txt", lines=[1]).exact


def test_rows_of_a_file_are_those_of_this_version_of_it(tmp_path):
    copy, keep = actors.lines(lambda lines: lines, each=True, name="copy"), actors.rows(lambda frame: frame, name="keep")
    for count in (3, 5, 5):
        (tmp_path / "a.csv").write_text("x\n" + "".join(f"{n}{count}\n" for n in range(count)))
        copy(tmp_path / "a.csv", tmp_path / "b.csv")
        keep(actors.read_csv(tmp_path / "b.csv"))
        flow = pipeline(actors.steps()).backward(tmp_path / "b.csv", rows=[count - 1])
        assert flow["a.csv"].located.positions.tolist() == [count]


@pytest.mark.parametrize("by_steps", [True, False])
def test_two_versions_of_a_file_that_are_merged_are_followed_apart(tmp_path, by_steps):
    """Yesterday's against today's: the same path, other rows."""
    now, read = tmp_path / "now.csv", []
    for name in "ab":
        frame = pd.DataFrame({"id": [f"{name}{n}" for n in range(5)], "k": range(5) if name == "a" else range(4, -1, -1)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        if by_steps:
            actors.to_csv(actors.read_csv(tmp_path / f"{name}.csv"), now, index=False)
        else:
            frame.to_csv(now, index=False)
        read.append(actors.read_csv(now))
    actors.to_csv(actors.merge(*read, on="k"), tmp_path / "out.csv", index=False)
    found = pipeline(actors.steps())
    flow = found.backward("out.csv", rows=[1])  # a1, 1, b3
    assert (flow.exact, flow.notes) == (True, ())
    assert sorted(reached.located.positions.tolist() for reached in flow if reached.extent.path == str(now)) == [[1], [3]]
    if by_steps:
        assert [flow.records(f"{name}.csv") for name in "ab"] == [["a1,1"], ["b3,1"]]
        assert [found.forward(f"{name}.csv", rows=[3])["out.csv"].located.positions.tolist() for name in "ab"] == [[3], [1]]


def test_a_file_that_was_read_with_a_header_and_without_is_counted_in_both_ways(tmp_path):
    pd.DataFrame({"id": [f"a{n}" for n in range(5)], "k": range(5)}).to_csv(tmp_path / "a.csv", index=False)
    one, other = actors.read_csv(tmp_path / "a.csv"), actors.read_csv(tmp_path / "a.csv", header=None, names=["id", "kk"])
    actors.to_csv(actors.merge(one, other, on="id"), tmp_path / "out.csv", index=False)
    found = pipeline(actors.steps())
    flow = found.backward("out.csv", rows=[1])
    assert (flow.records("a.csv"), flow.exact) == (["a1,1"], True)
    assert found.forward("a.csv", lines=[3])["out.csv"].located.positions.tolist() == [1]


def test_lines_that_were_there_before_others_were_appended_are_not_told_of_who_appended(tmp_path):
    for start, (name, held) in zip((0, 3), (("one", "abc"), ("two", "def"))):
        (tmp_path / name).write_text("".join(f"{each}\n" for each in held))
        with (tmp_path / "log").open("a") as out, actors.register(name) as actor:
            for number, line in enumerate((tmp_path / name).read_text().splitlines(keepends=True)):
                actor.reset()
                actor.add_input(at=actors.Place.line(tmp_path / name, number))
                out.write(line.upper())
                actor.add_output(at=actors.Place.line(tmp_path / "log", start + number))
            out.flush()
    actors.lines(lambda lines: lines, each=True, name="copy")(tmp_path / "log", tmp_path / "out")
    found = pipeline(actors.steps())
    for line, name in ((1, "one"), (5, "two")):
        for file in ("log", "out"):
            flow = found.backward(tmp_path / file, lines=[line])
            assert flow.exact is (name == "two")
            assert name == "one" or flow["two"].located.positions.tolist() == [line - 4]
            assert name == "two" or "'two' wrote log, and did not say so" in flow.notes[0]
    ahead = found.forward(tmp_path / "one", lines=[1])
    assert not ahead.exact
    assert "'two' wrote a part of log later" in ahead.notes[0]
    assert found.forward(tmp_path / "two", lines=[1])["out"].located.positions.tolist() == [3]
    assert found.forward(tmp_path / "two", lines=[1]).exact


def test_a_file_that_was_written_anew_by_who_tells_of_all_of_it_holds_nothing_of_before(tmp_path):
    for count in (5, 2):
        (tmp_path / "a").write_text("".join(f"{n} of {count}\n" for n in range(count)))
        actors.lines(lambda lines: lines, each=True, name=f"copy {count}")(tmp_path / "a", tmp_path / "b")
    flow = pipeline(actors.steps()).forward(tmp_path / "a", lines=[4], step="copy 5")
    assert (flow.exact, flow.notes) == (True, ())


def test_a_header_that_nobody_told_of_leaves_a_flow_exact(tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    with (tmp_path / "b.csv").open("w") as out, actors.register("report") as actor:
        out.write("n\n")
        for number, line in enumerate((tmp_path / "a").read_text().splitlines(keepends=True)):
            actor.reset()
            actor.add_input(at=actors.Place.line(tmp_path / "a", number))
            out.write(line)
            actor.add_output(at=actors.Place.line(tmp_path / "b.csv", number + 1))
        out.flush()
    flow = pipeline(actors.steps()).backward(tmp_path / "b.csv")
    assert flow["a"].located.positions.tolist() == [0, 1]
    assert flow.exact


def test_a_file_that_was_not_there_when_a_step_was_done_may_hold_anything(tmp_path):
    (tmp_path / "a").write_text("1\n")
    with actors.register("late") as actor:
        actor.add_input(at=actors.Place.line(tmp_path / "a", 0))
        actor.add_output(at=actors.Place.line(tmp_path / "b", 0))
    (tmp_path / "b").write_text("other\n")
    flow = pipeline(actors.steps()).backward(tmp_path / "b", lines=[1])
    assert not flow.exact
    assert flow.notes == ("Nobody looked at b when 'late' had written it: it may have been changed since.",)


def test_what_a_step_reads_besides_is_told_also_where_nothing_is_tried(tmp_path):
    """One group, one row, all that was read: there is nothing to try, and the function holds a frame, or reads a file, all the same."""
    (tmp_path / "rates.csv").write_text("k,r\n1,5\n")
    (tmp_path / "in.csv").write_text("k,v\n1,2\n")
    rates = actors.read_csv(tmp_path / "rates.csv")

    def helper(frame):
        return frame.merge(pd.read_csv(tmp_path / "rates.csv"), on="k")

    steps = {
        "one group": actors.groups(lambda frame: frame.merge(rates, on="k").groupby("k", as_index=False).sum(), by="k"),
        "one row": actors.rows(lambda frame: frame.assign(r=frame.k.map(rates.set_index("k").r))),
        "believed": actors.rows(partial(helper), name="believed", check=False),
        "alone": actors.rows(lambda frame: frame.assign(r=0)),
    }
    for name, step in steps.items():
        actors.to_csv(step(actors.read_csv(tmp_path / "in.csv")), tmp_path / "out.csv", index=False)
        flow = pipeline(actors.steps()).backward("out.csv", rows=[0])
        assert flow.exact is (name == "alone"), name
        assert name == "alone" or any("besides its input" in note for note in flow.notes)
    for held in (rates, lambda: open(tmp_path / "rates.csv")):
        sums = actors.lines(lambda lines, held=held: [f"{len(list(lines))}\n"], name="sums")
        sums(tmp_path / "in.csv", tmp_path / "out.txt")
        assert "besides its input" in actors.steps()[-1].incomplete[-1]
        passed = actors.generator(lambda lines, held=held: (len(line) for line in lines), name="passed")
        assert list(passed(["a"])) == [1]
        assert "besides its input" in actors.steps()[-1].incomplete[-1]
    plain = actors.generator(lambda lines: (len(line) for line in lines), name="plain")
    assert list(plain(["a"])) == [1]
    assert actors.steps()[-1].incomplete == ()


def generated(path):
    with open(path) as file:
        yield from file


@pytest.mark.parametrize("way", ["argument", "reader", "mapped", "in a list", "generator", "closure", "zipped", "database", "rows"])
def test_a_file_that_a_function_is_given_open_is_read_besides(tmp_path, way):
    for name in ("in.txt", "other.txt"):
        (tmp_path / name).write_text("1\n2\n")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.write(tmp_path / "other.txt", "other.txt")

    def beside(lines, other):
        return (f"{line.strip()}{next(other)}\n" for line in lines)

    with ExitStack() as files:
        handle, archive = files.enter_context(open(tmp_path / "other.txt")), files.enter_context(zipfile.ZipFile(tmp_path / "other.zip"))
        database = files.enter_context(closing(sqlite3.connect(tmp_path / "other.db")))
        database.execute("create table t as select 1")
        given = {"argument": handle, "reader": csv.reader(handle), "mapped": map(str.strip, handle), "generator": generated(tmp_path / "other.txt"), "zipped": archive.open("other.txt")}
        if way in given:
            actors.lines(beside)(tmp_path / "in.txt", tmp_path / "out.txt", given[way])
        elif way == "rows":
            actors.rows(lambda f: f.assign(n=[next(handle) for _ in range(len(f))]), check=False)(pd.DataFrame({"k": [1, 2]}))
        else:
            held = {"in a list": [handle], "closure": handle, "database": database}[way]
            actors.lines(lambda lines: [f"{line.strip()}{held is None}\n" for line in lines], name="closure")(tmp_path / "in.txt", tmp_path / "out.txt")
        written = files.enter_context(open(tmp_path / "log.txt", "w"))
        step = actors.steps()[-1]
        actors.lines(lambda lines: (written.write(line) and line for line in lines), name="writes")(tmp_path / "in.txt", tmp_path / "out2.txt")
    assert any("besides its input" in note for note in step.incomplete), step.incomplete
    assert actors.steps()[-1].incomplete == ()


@pytest.mark.parametrize("reads", [
    lambda path: list(fileinput.input(path)), lambda path: linecache.getlines(str(path)), lambda path: subprocess.check_output(["cat", str(path)], text=True).split(),
    lambda path: os.popen(f"cat {path}"), lambda path: zipfile.ZipFile(path).namelist(), lambda path: gzip.GzipFile(path, "rb"), lambda path: io.FileIO(path, "r"),
    lambda path: ElementTree.parse(path).getroot(), lambda path: ConfigParser().read(path), lambda path: sqlite3.connect(path).execute("select 1"),
], ids=["fileinput", "linecache", "subprocess", "popen", "zip", "gzip", "io", "xml", "configuration", "database"])
def test_what_reads_a_file_by_other_names_is_told(tmp_path, reads):
    called = actors.generator(lambda records: ((each, reads) for each in records), name="reads")
    assert len(list(called([1, 2]))) == 2
    assert "which may read a file besides its input" in actors.steps()[-1].incomplete[-1]
    plain = actors.generator(lambda records: (ElementTree.fromstring(f"<a>{each}</a>").text for each in records), name="plain")
    assert list(plain([1])) == ["1"]
    assert actors.steps()[-1].incomplete == ()


@actors.lines(each=True, name="numbers")
def _numbers(lines):
    for line in lines:
        yield f"{int(line)}\n"


def test_what_a_failed_step_failed_on_leads_to_the_first_file(tmp_path):
    """An exception that left the step is the usual case: it has not committed, and knows where its culprit stands all the same."""
    for name, text in (("first", "1 one\n2 two\nx three\n"), ("other.txt", "7\n")):
        (tmp_path / name).write_text(text)
    actors.lines(lambda lines: (line.split()[0] + "\n" for line in lines), each=True, name="cut")(tmp_path / "first", tmp_path / "cut.txt")
    with pytest.raises(ValueError, match="invalid literal"):
        _numbers([tmp_path / "other.txt", tmp_path / "cut.txt"], tmp_path / "out.txt")
    culprit = actors.steps()[-1].culprits[0]
    assert str(culprit).startswith("input 3: cut.txt, line 3: ValueError: invalid literal")
    flow = pipeline(actors.steps).backward(culprit)
    assert (flow["cut.txt"].located.positions.tolist(), flow["first"].located.positions.tolist()) == ([2], [2])
    assert "other.txt" not in flow
    assert [step.name for step in flow.steps] == ["cut", "numbers"]
    assert pipeline(actors.steps).forward(culprit).files == ()
    assert [step.name for step in pipeline(actors.steps).forward(tmp_path / "first", lines=[3]).steps] == ["cut"]
    assert pipeline(actors.steps).forward(tmp_path / "first", lines=[3]).exact


def test_the_culprits_of_two_attempts_that_look_alike_are_of_their_own_attempts(tmp_path):
    """Fail, mend what is before, fail again at the same line: the ordinary loop."""
    known = []
    for name in ("first", "second"):
        (tmp_path / name).write_text("1\nx\n")
        actors.lines(iter, each=True, name=f"copies {name}")(tmp_path / name, tmp_path / "cut.txt")
        with pytest.raises(ValueError, match="invalid literal"):
            _numbers(tmp_path / "cut.txt", tmp_path / "out.txt")
        known.append(actors.steps()[-1].culprits[0])
    for name, culprit in zip(("first", "second"), known, strict=True):
        flow = pipeline(actors.steps).backward(culprit)
        assert [each.name for each in flow.steps] == [f"copies {name}", "numbers"]
        assert flow[name].located.positions.tolist() == [1]


def test_the_place_that_was_told_of_an_input_is_that_of_the_culprit(tmp_path):
    (tmp_path / "in").write_text("a\nb\n")
    for name, second in (("told", actors.Place.line(tmp_path / "in", 1)), ("untold", None)):
        with suppress(KeyError), actors.register(name) as actor:
            actor.add_input("a", at=actors.Place.line(tmp_path / "in", 0))
            actor.add_input("b", at=second)
            raise KeyError("b")
    told, untold = (step.culprits[0] for step in actors.steps())
    assert pipeline(actors.steps).backward(told)["in"].located.positions.tolist() == [1]
    assert (untold.number, untold.at) == (1, None)
    with pytest.raises(UntraceableError, match="Where this culprit stands was not told"):
        pipeline(actors.steps).backward(untold)


def test_a_failure_that_an_earlier_version_kept_or_that_nobody_wrote_is_read_as_far_as_it_goes(home):
    with suppress(KeyError), actors.register("failed") as actor:
        actor.add_input("a")
        raise KeyError("b")
    [file] = home.root.glob("*.failed")
    for text, error in (
        ('{"error": "KeyError: b", "culprits": [{"number": 0, "input": "", "output": "", "error": "KeyError"}], "ended": 1.0}', "it failed: KeyError: b"),
        ('{"error": "KeyError: b", "culprits": [{"number": 0, "input": "", "output": "", "error": "KeyError", "at": [3, "line", 0, 1]}]}', "what it said of that cannot be read"),
        ('{"error": "KeyError: b", "culprits": [3]}', "what it said of that cannot be read"), ('{"error": "KeyError: b", "reads": [{}]}', "what it said of that cannot be read"), ('{"error": "KeyError: b", "left": [3]}', "what it said of that cannot be read"), ("[]", "what it said of that cannot be read"), ("{", "what it said of that cannot be read"),
    ):
        file.write_text(text)
        [step] = actors.steps()
        assert error in step.incomplete[0]
        assert bool(step.lost) == ("cannot be read" in error)


def _inverts(path, target):
    """A step of the user's own, which tells of places line by line."""
    with actors.register("step") as actor, open(path) as lines, open(target, "w") as out:
        for number, line in enumerate(lines):
            actor.reset()
            actor.add_input(at=actors.Place.line(path, number))
            out.write(f"{10 / int(line)}\n")
            actor.add_output(at=actors.Place.line(target, number))


def _inverts_lines(path, target):
    actors.lines(lambda lines: (f"{10 / int(line)}\n" for line in lines), each=True, name="step")(path, target)


def _exits(path, target):
    actors.program(["awk", "{if ($1 == 0) exit 3; print 10 / $1}"], stdin=path, stdout=target, lineage="lines", name="step")


@pytest.mark.parametrize("step", [_inverts, _inverts_lines, _exits])
def test_a_flow_says_that_a_step_which_failed_left_the_file(tmp_path, step):
    (tmp_path / "in.txt").write_text("10\n" * 20_000 + "0\n7\n")
    with pytest.raises((ZeroDivisionError, subprocess.CalledProcessError)):
        step(tmp_path / "in.txt", tmp_path / "left.txt")
    actors.program(["cat"], stdin=tmp_path / "left.txt", stdout=tmp_path / "out.txt", lineage="filter")
    actors.program(["wc", "-l"], stdin=tmp_path / "in.txt", stdout=tmp_path / "count.txt")
    known = pipeline(actors.steps)
    assert any("'step' wrote left.txt and did not commit" in note for note in known.backward("out.txt", lines=[1]).notes)
    assert any("did not commit, so what it wrote is not followed (left.txt)" in note for note in known.forward("in.txt", lines=[1]).notes)
    assert not known.forward("in.txt", lines=[1]).exact


def test_what_an_attempt_left_is_forgotten_when_it_is_written_anew(tmp_path):
    (tmp_path / "in.txt").write_text("10\n0\n")
    with pytest.raises(ZeroDivisionError):
        _inverts(tmp_path / "in.txt", tmp_path / "left.txt")
    (tmp_path / "in.txt").write_text("10\n5\n")
    _inverts(tmp_path / "in.txt", tmp_path / "left.txt")
    actors.program(["cat"], stdin=tmp_path / "left.txt", stdout=tmp_path / "out.txt", lineage="filter")
    known = pipeline(actors.steps)
    assert known.backward("out.txt", lines=[1]).exact
    assert known.forward("in.txt", lines=[1]).exact


def test_a_step_that_failed_before_it_wrote_left_nothing(tmp_path):
    (tmp_path / "left.txt").write_text("1\n")
    os.utime(tmp_path / "left.txt", (1e9, 1e9))
    with pytest.raises(subprocess.CalledProcessError):
        actors.program(["false"], reads=[], writes=[tmp_path / "left.txt"])
    actors.program(["cat"], stdin=tmp_path / "left.txt", stdout=tmp_path / "out.txt", lineage="filter")
    assert pipeline(actors.steps).backward("out.txt", lines=[1]).exact


def _fails(line, reads, writes):
    with pytest.raises(subprocess.CalledProcessError):
        actors.program(["sh", "-c", f"{line}; exit 1"], reads=reads, writes=writes)


def _copies(path, target):
    actors.program(["cat"], stdin=path, stdout=target, lineage="lines")


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("one line of a file that is long enough to be known by what is in it\n" * 2)
    os.utime("in", (1e9, 1e9))
    _copies("in", "other")
    return lambda name: pipeline(actors.steps).backward(name, lines=[1]).exact, lambda: pipeline(actors.steps).forward("in", lines=[1]).exact


def test_what_was_read_before_a_step_was_run_again_is_what_it_left_first(there):
    back, ahead = there
    _fails("head -1 in > half", ["in"], ["half"])
    _copies("half", "report")
    _copies("in", "half")
    assert (back("report"), ahead()) == (False, False)
    _copies("half", "whole")
    assert (back("whole"), back("report")) == (True, False)


def test_steps_that_failed_one_behind_the_other_are_one_flow(there):
    back, ahead = there
    _fails("head -1 in > one", ["in"], ["one"])
    _fails("cat one > two", ["one"], ["two"])
    assert ahead()
    _copies("two", "report")
    assert (back("report"), ahead()) == (False, False)


@pytest.mark.parametrize(("line", "left", "read"), [
    ("cp -p in x", "x", "x"), ("head -1 in > folder/part", "folder", "folder/part"), ("head -1 in > x", "x", "renamed"), ("head -1 in > x", "x", "linked"),
])
def test_what_was_left_is_known_by_what_it_holds_and_by_where_it_stands(there, line, left, read):
    back, ahead = there
    os.mkdir("folder")
    _fails(line, ["in"], [left])
    if read == "renamed":
        os.rename("x", read)
    elif read == "linked":
        os.link("x", read)
    _copies(read, "report")
    assert (back("report"), ahead()) == (False, False)


def test_what_a_failed_step_did_not_write_is_not_what_it_left(there):
    back, ahead = there
    for name in ("before", "untouched"):
        with open(name, "w") as out:
            out.write("by hand\n")
    _copies("before", "first")
    _fails("echo z > before", ["in"], ["before"])
    _fails("true", ["in"], ["untouched"])
    _copies("untouched", "second")
    _fails("head -1 in > anew", ["in"], ["anew"])
    with open("anew", "w") as out:
        out.write("all of it by hand\n")
    _copies("anew", "third")
    assert [*map(back, ("first", "second", "third")), ahead()] == [True] * 4


def test_what_a_step_said_that_it_wrote_elsewhere_is_believed(there):
    back, _ = there
    with suppress(ValueError), actors.register("up") as up:
        up.add_input(at=actors.Place.line("in", 0))
        up.add_output(at=actors.Place.line("s3://bucket/x", 0))
        raise ValueError
    with actors.register("down") as down:
        down.add_input(at=actors.Place.line("s3://bucket/x", 0))
        with open("report", "w") as out:
            out.write("x\n")
        down.add_output(at=actors.Place.line("report", 0))
    assert not back("report")


KILLED = """
import os, signal
from bigdebug import actors

def half(lines):
    for number, line in enumerate(lines):
        if number == 15_000:
            os.kill(os.getpid(), signal.SIGKILL)  # as a system without memory does
        yield line

actors.lines(half, each=True)("big", "left")
"""


def test_what_a_killed_step_left_is_told(there):
    back, _ = there
    with open("big", "w") as out:
        out.write("a\n" * 20_000)
    os.utime("big", (1e9, 1e9))
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -signal.SIGKILL
    assert os.path.getsize("left")
    _copies("left", "report")
    assert not back("report")
    with pytest.raises(UnknownStepError, match="'half' had this file, and did not commit"):
        pipeline(actors.steps).forward("big", lines=[1])
    _copies("big", "left")
    assert not pipeline(actors.steps).forward("big", lines=[1]).exact
    _copies("left", "anew")
    assert (back("anew"), back("report")) == (True, False)

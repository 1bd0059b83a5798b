"""What a step reads besides its records is told, by whatever way it reads it, and nothing is told of a step that reads nothing."""

import bz2
import codecs
import csv
import fileinput
import functools
import gzip
import io
import itertools
import json
import linecache
import logging
import mmap
import shelve
import sqlite3
import subprocess
import sys
import tempfile
import threading
import types
import xml.etree.ElementTree as ET
import zipfile
from collections import defaultdict
from configparser import ConfigParser
from dataclasses import dataclass
from gzip import GzipFile as Packed
from subprocess import check_output
from typing import Any, NamedTuple

import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.trace.across.pipelines import pipeline

CONNECTION: Any = None


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    (tmp_path / "b.txt").write_text("x\ny\nz\n")
    with gzip.open("b.gz", "wb") as file:
        file.write(b"x\ny\nz\n")
    with zipfile.ZipFile("b.zip", "w") as file:
        file.write("b.txt")


@dataclass(slots=True)
class Slotted:
    table: Any


class Named(NamedTuple):
    table: Any


def _told(function, *others):
    made = actors.generator(function, name="step")
    assert len(list(made([1, 2], *others))) == 2
    return [each for each in actors.steps()[-1].incomplete if "besides its input" in each]


def _of(records, other):
    yield from (f"{record}{next(other)}" for record in records)


@pytest.mark.parametrize("wrapped", [
    lambda file: file, csv.reader, lambda file: map(str.strip, file), lambda file: (line for line in file), lambda file: itertools.chain(zip(range(9), itertools.islice(file, 9))),
    lambda file: enumerate(csv.DictReader(file)), lambda file: itertools.tee(file)[1],
], ids=["file", "csv", "map", "generator", "chain", "dicts", "tee"])
def test_a_file_that_is_open_is_told_below_all_that_goes_through_it(wrapped):
    with open("b.txt") as file:
        assert _told(_of, wrapped(file)) == ["step reads 'b.txt' besides its input, and which rows of that it makes a row of is not known; actors.merge follows two frames"]


@pytest.mark.parametrize("held", [lambda file: [{"in": file}], lambda file: defaultdict(list, file=file), Slotted, Named, lambda file: functools.partial(next, file), lambda file: file.readline], ids=range(6))
def test_a_file_that_is_open_is_told_within_what_holds_it(held):
    with open("b.txt") as file:
        other = held(file)
        assert "reads 'b.txt'" in _told(lambda records: (record for record in records if other))[0]
        assert "reads 'b.txt'" in _told(lambda records, given: (record for record in records if given), other)[0]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_files_of_all_kinds_are_told():
    held = [gzip.open("b.gz"), open("b.txt", "rb"), open("b.txt", "rb", buffering=0), open("b.txt", "r+"), codecs.open("b.txt"), zipfile.ZipFile("b.zip").open("b.txt"), zipfile.ZipFile("b.zip"),
            sqlite3.connect("b.db"), shelve.open("b.sh"), tempfile.NamedTemporaryFile(), subprocess.Popen(["cat", "b.txt"], stdout=subprocess.PIPE), pd.read_csv("b.txt", chunksize=1)]
    with open("b.db", "rb") as file:
        file.read()
    for each in held:
        assert len(_told(lambda records, other: (record for record in records if other is not None), each)) == 1, each
        if isinstance(each, subprocess.Popen):
            each.communicate()
        else:
            each.close()


@pytest.mark.parametrize("opened", [lambda: gzip.open("b.gz", "rt"), lambda: bz2.open("b.bz2", "rt"), lambda: io.TextIOWrapper(open("b.txt", "rb"))], ids=["b.gz", "b.bz2", "b.txt"])
def test_a_file_that_is_unpacked_is_told_once_by_its_name(opened, request):
    with bz2.open("b.bz2", "wb") as file:
        file.write(b"x\ny\n")
    with opened() as file:
        assert f"reads '{request.node.callspec.id}' besides" in _told(_of, file)[0]


def test_flows_of_lines_and_of_rows_that_are_not_tried_say_so():
    with open("b.txt") as file, open("b.txt") as other:
        actors.lines(_of)("a.txt", "out.txt", map(str, file))
        pd.DataFrame({"k": [1, 2]}).to_csv("k.csv", index=False)
        for name, step in (("held", actors.rows(lambda f: f.assign(n=[other.readline().strip() for _ in range(len(f))]), check=False)), ("given", actors.rows(lambda f, given=None: f, check=False))):
            actors.to_csv(step(actors.read_csv("k.csv"), **({"given": [other]} if name == "given" else {})), f"{name}.csv", index=False)
    for path, asked in (("out.txt", {"lines": [3]}), ("held.csv", {"rows": [0]}), ("given.csv", {"rows": [0]})):
        flow = pipeline(actors.steps()).backward(path, **asked)
        assert not flow.exact
        assert "reads 'b.txt' besides its input" in " ".join(flow.notes)


def test_what_another_step_gives_is_told():
    doubled = actors.generator(lambda records: (record * 2 for record in records))
    assert "reads what another step gives besides" in _told(_of, doubled([1, 2, 3]))[0]
    assert "reads what another step gives besides" in _told(_of, map(str, doubled([1, 2, 3])))[0]


class Reading:
    """It reads by its methods."""

    def __init__(self):
        self.name = "b.txt"

    def look(self):
        return self._open()

    def _open(self):
        with open(self.name) as file:
            return file.read()

    def __getitem__(self, key):
        return self.look()

    @property
    def all(self):
        return self.look()


class Plain:
    """It may read, but by what nobody here names."""

    @classmethod
    def loaded(cls):
        with open("b.txt") as file:
            return file.read()

    def plain(self):
        return "b.txt"


@functools.lru_cache
def cached():
    with open("b.txt") as file:
        return file.read()


READS, MODULE = Reading(), types.ModuleType("of_the_users")
MODULE.look = READS.look


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_ways_to_read_are_told_by_what_the_code_names():
    def local(records):
        from urllib import request

        return [each for each in records if request]

    def within(records):
        import zipfile as packed

        return zip(records, packed.ZipFile("b.zip").read("b.txt"))

    local_module, other = __import__("sqlite3"), open
    ways = [
        lambda rs: zip(rs, fileinput.input("b.txt")), lambda rs: zip(rs, linecache.getlines("b.txt")), lambda rs: zip(rs, check_output(["cat", "b.txt"])), local, within,
        lambda rs: [r for r in rs if local_module.connect("b.db")], lambda rs: zip(rs, Packed("b.gz")), lambda rs: zip(rs, other("b.txt")), lambda rs: [r for r in rs if io.FileIO("b.txt")],
        lambda rs: [r for r in rs if ConfigParser().read("none") == []], lambda rs: [r for r in rs if ET.parse is not None], lambda rs: [r for r in rs if READS.look()],
        lambda rs: [r for r in rs if READS.all], lambda rs: [r for r in rs if READS["k"]], lambda rs: [r for r in rs if Reading().look()], lambda rs: [r for r in rs if MODULE.look()],
        lambda rs: [r for r in rs if cached()], lambda rs: [r for r in rs if mmap is not None],
    ]
    for number, way in enumerate(ways):
        assert len(_told(way)) == 1, number


def test_nothing_is_told_of_what_reads_nothing():
    log, lock, table = logging.getLogger("of the user's"), threading.Lock(), pd.DataFrame({"k": [1, 2]})
    memory, closed = io.StringIO("x\ny\n"), open("b.txt")
    closed.close()
    tree, config, names = ET.fromstring("<a><b/></a>"), ConfigParser(), {"a": iter([1, 2, 3])}
    requests, plain, decoded, unpacked = [3], Plain(), io.TextIOWrapper(io.BytesIO(b"x\ny\n")), io.TextIOWrapper(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(b"x\ny\n"))))
    with open("out.txt", "w") as out:
        def quiet(records, labels, counted):
            for record in records:
                log.debug("%s %s", record, lock)
                out.write(str(record))
                sys.stderr.write(str(record))
                yield json.dumps([next(labels), next(counted), plain.plain(), len(table), memory.read(), decoded.read(), unpacked.read(), closed.name, tree.tag, config.sections(), [*names], ET.fromstring("<a/>").tag, requests])

        assert _told(quiet, map(str, ["a", "b"]), itertools.count()) == []
        assert _told(quiet, (each for each in "ab"), itertools.cycle([1, 2])) == []


def test_what_is_near_is_looked_at_before_much_that_is_far():
    with open("b.txt") as file:
        much = [[object()] for _ in range(50_000)]
        assert "'b.txt'" in _told(lambda records: [record for record in records if much and file])[0]
        assert "'b.txt'" in _told(lambda records: [record for record in records if file and much])[0]


def test_looking_holds_nothing_of_a_generator():
    class Freed:
        pass

    gone = []

    def numbers():
        held = Freed()
        import weakref

        gone.append(weakref.ref(held))
        yield 1
        del held
        yield 2

    other = numbers()
    next(other)
    assert _told(lambda records, other: (record for record in records if other), other) == []
    next(other)
    assert gone[0]() is None

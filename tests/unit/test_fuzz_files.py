"""Files with noise in them: all that bigdebug reads from a disk gives what it gave, or an error of ours; and no file, whatever it says, takes memory or time without end."""

from __future__ import annotations

import copy
import json
import os
import resource
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug import actors
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import BigdebugError, StoreError
from bigdebug.provgraph.opening import MANIFEST
from bigdebug.provgraph.stored import sealed
from bigdebug.store.blocks import MAGIC, VERSION, Block, decode, encode
from bigdebug.store.directory import LineageStore
from bigdebug.store.envelopes import SIZE, enveloped
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.saved.checks import check
from tests.unit.saved import rewritten, session
from tests.unit.test_actors_capture import at, upper_lines
from tests.unit.test_blocks import SAMPLE
from tests.unit.test_datasets_questions import CLEAN, LOOK, PUBLISH, SUM
from tests.unit.test_provgraph_graph import PERSONS, STEPS

MANY = int(os.environ.get("LAW_EXAMPLES", "30")) * 6
MOST = 400_000
"""Kilobytes by which a test may grow the process."""

Change = Callable[[bytes], bytes]


def examples(count: int) -> Any:
    return settings(max_examples=count, deadline=20_000, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return session(tmp_path / "saved")


# ---- noise ------------------------------------------------------------------------------------------------------

lengths = st.sampled_from([0, 1, 2**31 - 1, 2**32 - 1, 2**60, 2**63 - 1, 2**64 - 1])


@st.composite
def noise(draw: st.DrawFn) -> Change:
    """A change of some bytes: other values, a cut, something between, a part twice, zeros, or a length that nothing has."""
    place, size = draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(1, 40))
    what = draw(st.sampled_from(["bit", "bytes", "cut", "insert", "twice", "zeros", "length", "gone"]))
    given_, long = draw(st.binary(min_size=1, max_size=8)), struct.pack("<Q", draw(lengths))
    bit = 1 << draw(st.integers(0, 7))

    def change(data: bytes) -> bytes:
        start = int(place * len(data))
        before, behind = data[:start], data[start:]
        match what:
            case "bit":
                return before + bytes([behind[0] ^ bit]) + behind[1:] if behind else data
            case "bytes":
                return before + given_ + behind[len(given_):]
            case "cut":
                return before
            case "insert":
                return before + given_ + behind
            case "twice":
                return before + behind[:size] + behind
            case "zeros":
                return before + bytes(min(size, len(behind))) + behind[size:]
            case "length":
                return before + long + behind[8:]
        return before + behind[size:]

    return change


numbers = st.sampled_from([-1, 0, 1, 7, 2**31, 2**53, 2**63, 2**64, 10**30, 0.5, float("nan"), float("inf"), True])
junk = st.recursive(
    st.none() | numbers | st.sampled_from(["", "x", "../../x", "/etc/passwd", "\x00", "\ud800", "<i8", "|O", "9" * 5_000, "x" * 100_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["", "1", "file", "length", "kind"]), inner, max_size=3), max_leaves=5,
)


def holders(value: Any) -> Iterator[tuple[Any, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(parts):
        yield value, key
        yield from holders(each)


@st.composite
def lies(draw: st.DrawFn) -> Callable[[Any], None]:
    """Puts something else into a few places of JSON."""
    changes = draw(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), junk, st.booleans()), min_size=1, max_size=3))

    def change(data: Any) -> None:
        for place, value, remove in changes:
            known = list(holders(data))
            if known:
                holder, key = known[int(place * len(known))]
                if remove and isinstance(holder, dict):
                    del holder[key]
                else:
                    holder[key] = copy.deepcopy(value)

    return change


# ---- blocks -----------------------------------------------------------------------------------------------------

BYTES = encode(SAMPLE)


def same_or_refused(ask: Callable[[], Any], expected: Any) -> None:
    try:
        found = ask()
    except BigdebugError:
        return
    assert found == expected


def noise_changes_no_answer(
    most: int, files: Iterable[Path], questions: Callable[[], Iterable[Callable[[], Any]]], noticed: Callable[[Path, bytes], None] = lambda path, whole: None,
) -> None:
    """With noise in one of the files, each question is answered as it is without, or refused. ``noticed`` is given the file, and what it held before."""
    expected = [ask() for ask in questions()]
    whole = {path: path.read_bytes() for path in sorted(files)}

    @examples(most)
    @given(st.sampled_from(list(whole)), noise())
    def law(path: Path, change: Change) -> None:
        path.write_bytes(change(whole[path]))
        try:
            for ask, known in zip(questions(), expected):
                same_or_refused(ask, known)
            noticed(path, whole[path])
        finally:
            path.write_bytes(whole[path])

    law()


def told(block: Block) -> Any:
    return block.stage, block.partition, block.attempt, block.levels, block.digest, {name: values.tolist() for name, values in block.columns.items()}


@examples(MANY)
@given(noise())
def test_a_block_with_noise_in_it_is_that_block_or_none(change: Change) -> None:
    same_or_refused(lambda: told(decode(change(BYTES))), told(SAMPLE))


@examples(MANY)
@given(noise(), noise())
def test_noise_under_a_checksum_that_fits_is_taken_apart_or_refused(change: Change, more: Change) -> None:
    """Whoever makes the checksum can say what he likes; it is no block of ours then, or one."""
    try:
        found = decode(enveloped(MAGIC, VERSION, more(change(BYTES[SIZE:]))))
    except BigdebugError:
        return
    assert isinstance(found, Block)


@examples(MANY)
@given(lies())
def test_facts_of_a_block_that_lie_are_refused_or_are_facts(change: Callable[[Any], None]) -> None:
    with pa.ipc.open_stream(pa.py_buffer(BYTES[SIZE:])) as reader:
        batch = reader.read_next_batch()
        facts = json.loads(reader.schema.metadata[b"bigdebug"])
    change(facts)
    schema = batch.schema.with_metadata({"bigdebug": json.dumps(facts)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(batch.columns, schema=schema))
    try:
        found = decode(enveloped(MAGIC, VERSION, sink.getvalue().to_pybytes()))
    except BigdebugError:
        return
    assert all(type(each) is int for each in (found.partition, found.attempt, found.digest, *found.levels))
    assert all(type(each) is bool for each in (found.stub, found.ended, found.finished))


@examples(MANY // 4)
@given(noise())
def test_a_store_with_noise_in_a_block_answers_as_before_or_not(tmp_path_factory: pytest.TempPathFactory, change: Change) -> None:
    folder = tmp_path_factory.mktemp("store")
    path = folder / "r1" / "s1" / "p3.a7.block"
    path.parent.mkdir(parents=True)
    path.write_bytes(change(BYTES))
    same_or_refused(lambda: LineageStore(folder).facts(["r1"], "s1", 3).levels, SAMPLE.levels)  # type: ignore[union-attr]
    shutil.rmtree(folder)


# ---- saved sessions ---------------------------------------------------------------------------------------------


def answers(path: Path) -> Iterator[Callable[[], Any]]:
    """All that can be asked of a saved session, each question of a session of its own."""
    def asked(ask: Callable[[Any, str], Any], name: str) -> Callable[[], Any]:
        return lambda: ask(bigdebug.open(path), name)

    for name in ("rows", "records"):
        yield asked(lambda opened, name: list(map(repr, opened.lineage(name).collect())), name)
        yield asked(lambda opened, name: opened.lineage(name).at([1]).goBackAll().rids().tolist(), name)
        yield asked(lambda opened, name: list(map(str, opened.lineage(name).goBackAll().origins())), name)
        yield asked(lambda opened, name: opened.lineage(name, 1).at([3]).goNextAll().rids().tolist(), name)
        yield asked(lambda opened, name: str(unharmed(opened).run(name).table()), name)
        yield asked(lambda opened, name: [repr(step.backward([Located.of(e.path, e.unit, [0, 2]) for e in step.writes])) for step in opened.steps], name)
    yield lambda: told(bigdebug.open(path).run("rows").store.block(["r1"], "s1", 0))
    yield lambda: str(unharmed(bigdebug.open(path)).runs_table())
    yield lambda: str(unharmed(bigdebug.open(path)).pipeline.table())


def unharmed(opened: Any) -> Any:
    """The session, if it does not say itself that something of it cannot be read."""
    if any(run.damaged for run in opened.runs) or any("altered" in why or "bytes" in why for step in opened.steps for why in step.incomplete):
        raise StoreError("It says what is damaged")
    return opened


def test_a_session_with_noise_in_a_file_answers_as_before_or_not(saved: Path) -> None:
    def noticed(path: Path, whole: bytes) -> None:
        if path.read_bytes() != whole:
            assert check(saved)

    noise_changes_no_answer(MANY // 4, [path for path in saved.rglob("*") if path.is_file()], lambda: answers(saved), noticed)


def ask_all(questions: Iterator[Callable[[], Any]]) -> None:
    for ask in questions:
        with suppress(BigdebugError):
            ask()


def test_a_sealed_catalog_that_lies_is_refused_by_name(saved: Path) -> None:
    catalog = json.loads((saved / "session.json").read_text())

    @examples(MANY // 2)
    @given(lies())
    def law(change: Callable[[Any], None]) -> None:
        def spoil(there: dict[str, Any]) -> None:
            there.clear()
            there.update({key: copy.deepcopy(value) for key, value in catalog.items() if key != "files"})
            change(there)

        rewritten(saved, spoil)
        ask_all(answers(saved))

    law()


def test_a_sealed_file_with_noise_in_it_is_refused_by_name(saved: Path) -> None:
    files = sorted(path for path in saved.rglob("*") if path.is_file() and path.name not in ("session.json", "seal.json"))
    whole = {path: path.read_bytes() for path in files}

    @examples(MANY // 4)
    @given(st.sampled_from(files), noise())
    def law(path: Path, change: Change) -> None:
        path.write_bytes(change(whole[path]))
        rewritten(saved, lambda catalog: None)
        ask_all(answers(saved))
        path.write_bytes(whole[path])

    law()


# ---- actors -----------------------------------------------------------------------------------------------------


@pytest.fixture
def captured(tmp_path: Path) -> Any:
    home = actors.ActorHome(tmp_path / "actors")
    return home, upper_lines(home, tmp_path / "a", tmp_path / "b", ["x", "y", "x", "z"]), tmp_path


def of_actor(home: Any, actor: Any, folder: Path) -> Iterator[Callable[[], Any]]:
    def step() -> Any:
        return actors.step(actor.id, home)

    yield lambda: [(each.path, each.positions.tolist()) for each in step().backward([at(folder / "b", Unit.LINE, 3, 4)])]
    yield lambda: [(each.path, each.positions.tolist()) for each in step().forward([at(folder / "a", Unit.LINE, 1)])]
    yield lambda: [(each.path, each.positions.tolist()) for each in step().made_of("X")]
    yield lambda: [(each.path, each.positions.tolist()) for each in step().made_from("z")]


def test_an_actor_with_noise_in_an_array_answers_as_before_or_not(captured: Any) -> None:
    home, actor, folder = captured
    files = [path for path in (home.root / actor.id).iterdir() if path.name != "actor.json"]
    noise_changes_no_answer(MANY // 2, files, lambda: of_actor(home, actor, folder))


def test_an_actor_that_says_that_it_is_another_one_is_refused_by_name(captured: Any) -> None:
    home, actor, _ = captured
    path = home.root / actor.id / "actor.json"
    whole = path.read_text()
    path.write_text(whole.replace(actor.id, f"{actor.id[:-1]}!"))
    (step,) = actors.steps(actors.ActorHome(home.root))
    assert step.id == actor.id
    assert "was altered" in step.incomplete[0]
    path.write_text(whole)


def test_an_actor_that_lies_of_itself_is_refused_by_name_and_stops_no_list(captured: Any) -> None:
    home, actor, folder = captured
    path = home.root / actor.id / "actor.json"
    whole = path.read_text()

    @examples(MANY)
    @given(lies() | noise())
    def law(change: Callable[[Any], Any]) -> None:
        facts = json.loads(whole)
        spoilt = change(whole.encode()) if change.__qualname__.startswith("noise") else change(facts) or json.dumps(facts).encode()
        path.write_bytes(spoilt)
        ask_all(of_actor(actors.ActorHome(home.root), actor, folder))
        steps = actors.steps(actors.ActorHome(home.root))
        assert [step.id for step in steps] == [actor.id]
        for step in steps:
            ask_all(iter([lambda step=step: str(step.name), lambda step=step: step.backward([at(folder / "b", Unit.LINE, 1)])]))
        path.write_text(whole)

    law()


@pytest.mark.parametrize("name", ["{}.open", "{}.failed", "{}.closing"])
def test_what_an_actor_left_that_did_not_commit_may_be_anything(tmp_path: Path, name: str) -> None:
    home = actors.ActorHome(tmp_path / "actors")
    actor = actors.register("half", home=home)
    opened = home.root / f"{actor.id}.open"
    whole = opened.read_bytes()

    @examples(MANY // 2)
    @given(lies() | noise())
    def law(change: Callable[[Any], Any]) -> None:
        facts = json.loads(whole)
        spoilt = change(whole) if change.__qualname__.startswith("noise") else change(facts) or json.dumps(facts).encode()
        path = home.root / name.format(actor.id)
        path.write_bytes(spoilt)
        ask_all(iter([lambda: [(step.name, step.incomplete) for step in actors.steps(actors.ActorHome(home.root))], lambda: actors.step(actor.id, home)]))
        opened.write_bytes(whole)

    law()
    actors.forget(actor)


# ---- datasets ---------------------------------------------------------------------------------------------------


def test_a_store_of_datasets_with_noise_in_it_is_read_or_refused_by_name(tmp_path: Path) -> None:
    """SQLite has no checksums, so a text may be another one; what is no answer is an error of ours."""
    path = tmp_path / "datasets.sqlite"
    store = DatasetStore(path)
    store.record(CLEAN, SUM, LOOK, PUBLISH)
    store.close()
    whole = path.read_bytes()

    @examples(MANY // 2)
    @given(st.lists(noise(), min_size=1, max_size=4))
    def law(changes: list[Change]) -> None:
        spoilt = whole
        for change in changes:
            spoilt = change(spoilt)
        for beside in tmp_path.glob("datasets.sqlite*"):
            beside.unlink()
        path.write_bytes(spoilt)
        there: list[DatasetStore] = []

        def opened() -> Datasets:
            there.append(DatasetStore.of(path))
            return Datasets(there[-1])

        ask_all(iter([
            lambda: str(opened().find()), lambda: str(opened().upstream("report")), lambda: str(opened().downstream("orders")), lambda: str(opened().history("orders")),
            lambda: str(opened().columns("orders")), lambda: opened().drawn(), lambda: list(there[-1].each()) if there else None,
        ]))
        for each in there:
            each.close()

    law()


# ---- provenance graphs ------------------------------------------------------------------------------------------


def of_graph(path: Path) -> Iterator[Callable[[], Any]]:
    def asked(ask: Callable[[Any], Any]) -> Callable[[], Any]:
        return lambda: ask(bigdebug.open(path))

    yield asked(lambda graph: sorted(graph.ancestors(23)))
    yield asked(lambda graph: sorted(graph.descendants(2)))
    yield asked(lambda graph: graph.ancestors(23).triples.to_dict("list"))
    yield asked(lambda graph: graph.first("AvgAge"))
    yield asked(lambda graph: len(graph.components()))
    yield asked(lambda graph: graph.statistics().to_dict("list"))


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "persons"
    bigdebug.provenance(PERSONS, STEPS, at=path)
    return path


def test_an_index_of_a_graph_with_noise_in_it_answers_as_before_or_not(graph: Path) -> None:
    noise_changes_no_answer(MANY // 4, [path for path in graph.rglob("*") if path.is_file()], lambda: of_graph(graph))


def test_a_manifest_of_a_graph_that_lies_is_refused_by_name(graph: Path) -> None:
    manifest = graph / MANIFEST
    whole = json.loads(manifest.read_text())

    @examples(MANY // 2)
    @given(lies())
    def law(change: Callable[[Any], None]) -> None:
        told = {name: copy.deepcopy(value) for name, value in whole.items() if name != "checks"}
        change(told)
        manifest.write_text(sealed(told))
        ask_all(of_graph(graph))

    law()


@pytest.mark.parametrize("text", ["[" * 200_000, '{"format":' * 100_000, "9" * 10_000])
def test_a_manifest_that_is_nested_or_long_is_refused(graph: Path, text: str) -> None:
    (graph / MANIFEST).write_text(text)
    for ask in of_graph(graph):
        with pytest.raises(BigdebugError):
            ask()


def test_noise_is_noise() -> None:
    """Most of it changes something, or these tests would say nothing."""
    changed = []

    @settings(max_examples=100, derandomize=True, database=None)
    @given(noise())
    def law(change: Change) -> None:
        changed.append(change(BYTES) != BYTES)

    law()
    assert np.mean(changed) > 0.8

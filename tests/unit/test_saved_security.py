"""Opening a directory of somebody else's executes nothing, follows nothing out of it, and takes no more memory than it should."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bigdebug
from bigdebug.errors import BigdebugError, CorruptBlockError, StoreError
from bigdebug.store.envelopes import check_claims, enveloped
from bigdebug.trace.across.located import Located
from bigdebug.trace.saved.checks import check
from tests.unit.saved import rewritten, session

PLANTED = Path("planted")


class Hostile:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {PLANTED}",)


BOMB = pickle.dumps(Hostile())


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No actors of whoever runs this."""
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return session(tmp_path / "saved")


def ask_everything(path: Path) -> None:
    """All that can be asked of a session that is not trusted; errors of ours are answers, too."""
    from bigdebug.cli import main

    for ask in (lambda: check(path), lambda: str(bigdebug.open(path).runs_table())):
        with contextlib.suppress(BigdebugError):
            ask()
    try:
        opened = bigdebug.open(path)
    except BigdebugError:
        return
    for run in opened.runs:
        for ask in (
            lambda r=run: opened.lineage(r).collect(), lambda r=run: opened.lineage(r).goBackAll().origins(), lambda r=run: opened.lineage(r).goBackAll().source_records(),
            lambda r=run: opened.lineage(r, 1).goNextAll().rids(), lambda r=run: repr(r.culprits), lambda r=run: [c.text() for c in r.culprits], lambda r=run: repr(r),
            lambda r=run: r.store.block([r.id], "s1", 0), lambda r=run: r.table(),
            lambda: [step.backward([Located(e.path, e.unit, np.arange(3)) for e in step.writes]) for step in opened.steps],
            lambda: str(opened.pipeline.table()),
        ):
            with contextlib.suppress(BigdebugError):
                ask()
    for words in (["runs"], ["show"], ["show", "--outputs"], ["trace"], ["culprits"], ["check"]):
        main([words[0], str(path), *(["rows"] if words[0] in ("show", "trace") else []), *words[1:]])


def resealed(saved: Path) -> Path:
    return rewritten(saved, lambda catalog: None)


def everywhere(value: Any) -> Any:
    """A catalog's value with a pickle in the place of each text."""
    text = BOMB.decode("latin-1")
    if isinstance(value, dict):
        return {key: everywhere(held) for key, held in value.items()}
    if isinstance(value, list):
        return [everywhere(held) for held in value]
    return text if isinstance(value, str) else value


def each_text(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] if isinstance(value, str) else [found for key, held in items for found in each_text(held, (*path, key))]


def test_a_pickle_in_each_text_of_the_catalog_does_not_run(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = json.loads((saved / "session.json").read_text())
    del catalog["files"]
    places = each_text(catalog["runs"])
    assert len(places) > 40
    for place in places:
        def plant(there: dict[str, Any], place: tuple[Any, ...] = place) -> None:
            there["runs"] = json.loads(json.dumps(catalog["runs"]))
            at = there["runs"]
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = BOMB.decode("latin-1")

        rewritten(saved, plant)
        with contextlib.suppress(BigdebugError):
            bigdebug.open(saved).lineage("rows").goBackAll().origins()
    rewritten(saved, lambda there: there.update(runs=everywhere(catalog["runs"])))
    ask_everything(saved)
    assert not PLANTED.exists()


def test_a_pickle_in_the_place_of_each_file_does_not_run(saved: Path) -> None:
    npy = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n" + BOMB
    for path in sorted(saved.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            catalog = path.name in ("session.json", "seal.json")
            for planted in (BOMB, npy, data[:18] + BOMB) if catalog or path.parent.name == "outputs" else (BOMB.ljust(len(data), b"\0"),):
                path.write_bytes(planted)
                ask_everything(saved if catalog else resealed(saved))
            path.write_bytes(data)
            if not catalog:
                resealed(saved)
    assert not PLANTED.exists()


def outputs_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return enveloped(b"BDLO", 1, sink.getvalue().to_pybytes())


class HostileType(pa.ExtensionType):
    """A type that unpickles what stands beside it, as pyarrow's own once did."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "hostile.type")

    def __arrow_ext_serialize__(self) -> bytes:
        return BOMB

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, data: bytes) -> Any:
        pickle.loads(data)
        return cls()


def test_a_type_of_arrow_that_some_program_defines_is_not_made(saved: Path) -> None:
    pa.register_extension_type(HostileType())
    try:
        for metadata in ({"bigdebug": json.dumps({"kind": "rows", "names": ["x"], "count": 3}), "pandas": BOMB, "ARROW:schema": BOMB},):
            array = pa.ExtensionArray.from_storage(HostileType(), pa.array([1, 2, 3]))
            data = outputs_of(pa.table({"c0": array}).replace_schema_metadata(metadata))
            (saved / "outputs" / "r1").write_bytes(data)
            rewritten(saved, lambda catalog: None)
            with pytest.raises(CorruptBlockError, match="some program defines"):
                bigdebug.open(saved).lineage("rows").collect()
    finally:
        pa.unregister_extension_type("hostile.type")
    assert not PLANTED.exists()


def test_a_pickle_beside_a_record_runs_only_if_the_directory_is_trusted(saved: Path) -> None:
    table = pa.table({"value": pa.array([None] * 3, pa.large_string()), "text": pa.array(["a", "b", "c"], pa.large_string()), "pickle": pa.array([BOMB] * 3, pa.large_binary())})
    facts = {"bigdebug": json.dumps({"kind": "records", "names": [], "count": 3})}
    (saved / "outputs" / "r2").write_bytes(outputs_of(table.replace_schema_metadata(facts)))
    resealed(saved)
    ask_everything(saved)
    assert list(map(repr, bigdebug.open(saved).lineage("records").collect())) == ["a", "b", "c"]
    assert not PLANTED.exists()
    bigdebug.open(saved, trusted=True).lineage("records").collect()
    assert PLANTED.exists()


@pytest.mark.parametrize("name", ["session.json", "seal.json", "outputs/r1", "lineage/r1/1.starts", "lineage", "blocks", "blocks/r1", "outputs"])
def test_links_are_not_followed(saved: Path, tmp_path: Path, name: str) -> None:
    there = tmp_path / "there"
    (saved / name).rename(there)
    (saved / name).symlink_to(there)

    def ask() -> None:
        opened = bigdebug.open(saved)
        opened.lineage("rows").collect()
        opened.runs[0].store.block(["r1"], "s1", 0)

    with pytest.raises(BigdebugError):
        ask()
    assert check(saved) != []


def test_actors_that_were_not_saved_with_a_session_are_not_opened(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (saved / "actors").mkdir()
    (saved / "actors" / "a-1").symlink_to(tmp_path / "there")
    with pytest.raises(StoreError, match="not saved with"):
        _ = bigdebug.open(saved).pipeline.steps
    (saved / "actors" / "a-1").unlink()
    (saved / "actors" / "a-1").mkdir()
    (saved / "actors" / "a-1" / "catalog.json").write_bytes(BOMB)
    with pytest.raises(StoreError, match="not saved with"):
        _ = bigdebug.open(saved).pipeline.steps
    _ = bigdebug.open(resealed(saved)).pipeline.steps
    assert not PLANTED.exists()


def test_a_fifo_is_not_waited_for(saved: Path) -> None:
    (saved / "outputs" / "r1").unlink()
    os.mkfifo(saved / "outputs" / "r1")
    with pytest.raises(StoreError):
        bigdebug.open(saved).lineage("rows").collect()
    assert check(saved) != []


@pytest.mark.parametrize("name", ["../store/r1/s1/p0.a0.block", "/etc/passwd", "outputs/../../secret", "", ".", "outputs/r1\0", "outputs"])
def test_names_do_not_lead_out(saved: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")

    def plant_output(catalog: dict[str, Any]) -> None:
        catalog["runs"][0]["outputs"]["file"] = name

    with pytest.raises(BigdebugError):
        bigdebug.open(rewritten(saved, plant_output)).lineage("rows").collect()

    def plant(catalog: dict[str, Any]) -> None:
        catalog["runs"][1]["lineage"]["levels"]["1"]["starts"]["file"] = name

    with pytest.raises((StoreError, BigdebugError)):
        bigdebug.open(rewritten(saved, plant)).lineage("rows").collect()
    catalog = json.loads((saved / "session.json").read_text())
    catalog["files"][name] = [6, "x"]
    _seal_by_hand(saved, catalog)
    with pytest.raises(BigdebugError):
        bigdebug.open(saved).lineage("rows").collect()


def _seal_by_hand(saved: Path, catalog: dict[str, Any]) -> None:
    from hashlib import blake2b

    text = json.dumps(catalog).encode()
    (saved / "session.json").write_bytes(text)
    (saved / "seal.json").write_text(json.dumps({"size": len(text), "digest": blake2b(text, digest_size=16).hexdigest()}))


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, '{"format": 2, "runs": ' + "[" * 150_000 + "]" * 150_000 + "}", '{"format": ' + "9" * 10_000 + "}", "NaN"])
def test_json_that_is_nested_or_long_is_refused(saved: Path, text: str) -> None:
    (saved / "session.json").write_text(text)
    with pytest.raises(StoreError):
        bigdebug.open(saved)


def bombs() -> dict[str, bytes]:
    """Streams of Arrow that are small and hold, or say that they hold, gigabytes."""
    facts = {"bigdebug": json.dumps({"kind": "rows", "names": ["x"], "count": 3})}
    big = outputs_of(pa.table({"c0": pa.array(np.zeros(1 << 27, np.int64))}).replace_schema_metadata(facts))  # a gigabyte of zeros
    small = bytearray(outputs_of(pa.table({"c0": pa.array(np.arange(500) % 3)}).replace_schema_metadata(facts)))
    at = small.rindex(struct.pack("<q", 4000))  # how long the buffer says it is
    small[at : at + 8] = struct.pack("<q", 1 << 50)
    payload = bytes(small[18:])
    return {"zeros": big, "claims": struct.pack("<4sHIQ", b"BDLO", 1, zlib.crc32(payload), len(payload)) + payload}


@pytest.mark.parametrize("which", ["zeros", "claims"])
def test_what_is_small_and_claims_to_be_large_is_not_unpacked(saved: Path, which: str) -> None:
    (saved / "outputs" / "r1").write_bytes(bombs()[which])
    resealed(saved)
    code = (
        "import resource, sys, bigdebug, pyarrow\nbefore = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    bigdebug.open(sys.argv[1]).lineage('rows').collect()\nexcept bigdebug.BigdebugError as error:\n"
        "    print(type(error).__name__, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, str(error)[-220:])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("CorruptBlockError True"), done.stdout
    assert resource is not None


def test_blocks_that_claim_too_much_are_not_unpacked(saved: Path) -> None:
    from bigdebug.store.blocks import MAGIC, VERSION, decode

    payload = bombs()["claims"][18:]
    with pytest.raises(CorruptBlockError, match="claims to hold"):
        decode(enveloped(MAGIC, VERSION, payload), "planted")
    with pytest.raises(CorruptBlockError):
        decode(enveloped(MAGIC, VERSION, BOMB), "planted")


def test_streams_with_noise_in_them_are_taken_apart_or_refused() -> None:
    whole = outputs_of(pa.table({"c0": pa.array(["a", "b"] * 50), "c1": pa.array([[1], None] * 50), "c2": pa.array(["x", "y"] * 50).dictionary_encode()}))[18:]
    check_claims(whole, 1 << 20)
    drawn = np.random.default_rng(7)
    for _ in range(300):
        payload = bytearray(whole)
        for at in drawn.integers(0, len(payload), 3):
            payload[at] = drawn.integers(0, 256)
        with contextlib.suppress(pa.ArrowException, ValueError, struct.error, OSError, IndexError):
            check_claims(bytes(payload), 1 << 20)


def test_levels_that_claim_more_records_than_there_can_be_are_not_listed(saved: Path, tmp_path: Path) -> None:
    """Where each record is made of the one of its number, nothing on disk says how many there are."""
    from bigdebug.store.arrays import write_array

    huge = 1 << 39

    def plant(catalog: dict[str, Any]) -> None:
        lineage = catalog["runs"][0]["lineage"]
        for level in ("1", "2"):
            lineage["levels"][level] = {
                "starts": write_array(saved, f"lineage/r1/{level}.starts", np.array([0])).dump(), "numbers": write_array(saved, f"lineage/r1/{level}.numbers", np.array([0, huge])).dump(),
            }
        whole: Callable[[], dict[str, Any]] = lambda: {"count": huge, "pairs": huge, "offsets": None, "values": None}  # noqa: E731
        lineage["ways"][0].update(back=whole(), ahead=whole())

    trace = bigdebug.open(rewritten(saved, plant)).lineage("rows")
    assert trace.at([huge - 1]).goBackAll().rids().tolist() == [huge - 1]
    with pytest.raises(BigdebugError, match="Ask for some"):
        trace.rids()

"""What a user may say where a store is to be, and stores there."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bigdebug
from bigdebug.errors import CorruptBlockError, StoreError
from bigdebug.store.blocks import Block, block_name, encode
from bigdebug.store.directory import LineageStore
from bigdebug.store.filesystems import Address
from bigdebug.store.named import local, named
from bigdebug.trace.saved.saving import save


@pytest.mark.parametrize(("store", "found"), [
    (None, None), ("lineage", Path("lineage")), (Path("/a/b"), Path("/a/b")), (Path("c:/a"), Path("c:/a")), ("a:b/c", Path("a:b/c")),
    ("file:///a/b%20c", Path("/a/b c")), ("file:/a", Path("/a")), ("FILE://localhost/a", Path("/a")), ("/a/file:x", Path("/a/file:x")),
    ("a//b", Path("a/b")), ("/a//b@c", Path("/a/b@c")), ("me@here/a b", Path("me@here/a b")),
])
def test_a_directory_is_a_path(store: Any, found: Path | None) -> None:
    assert named(store) == found


def test_a_path_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert named("~/lineage") == local("x", "~/lineage") == tmp_path / "lineage"
    assert named("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
    assert named("a~/x") == Path("a~/x")


@pytest.mark.parametrize("uri", ["s3://KEY:SECRET@bucket/x", "hdfs:///x", "file://elsewhere/x", Path("s3://bucket/x")])
def test_sessions_are_saved_to_and_opened_from_directories_alone(uri: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (lambda: save([], LineageStore(tmp_path / "store"), uri), lambda: bigdebug.open(uri)):
        with pytest.raises(StoreError, match="directory of this machine") as refused:
            use()
        assert "SECRET" not in str(refused.value)
    assert [*tmp_path.iterdir()] == []


def test_a_session_may_be_saved_to_a_file_uri(tmp_path: Path) -> None:
    uri = (tmp_path / "a b").as_uri()
    assert save([], LineageStore(tmp_path / "store"), uri) == tmp_path / "a b"
    assert not bigdebug.open(uri).runs


def test_a_uri_is_an_address() -> None:
    found = named("s3a://bucket/a/", {"region": "eu"})
    assert isinstance(found, Address)
    assert (found.shown, found.options) == ("s3://bucket/a", {"region": "eu"})


@pytest.mark.parametrize(("store", "options", "error"), [
    (5, None, TypeError), (b"x", None, TypeError), ("", None, ValueError), ("a\0b", None, ValueError), ("file:///a\0b", None, ValueError),
    ("s3:/bucket", None, ValueError), (Path("s3://bucket/a"), None, ValueError), ("c:/lineage", None, ValueError), ("file://other/a", None, ValueError), ("file:///", None, ValueError), ("file:///a?b", None, ValueError),
    ("file:///a", {"x": "SECRET"}, ValueError), ("a", {"x": "SECRET"}, ValueError), (None, {"x": "SECRET"}, ValueError),
    ("s3://a/b", "SECRET", TypeError), ("s3://a/b", {1: "SECRET"}, TypeError), ("s3://KEY:SECR/SECRET@a/b", None, ValueError),
    (" s3://KEY:SECRET@a/b", None, ValueError), ("s3://a/b\n", None, ValueError), (" lineage", None, ValueError), ("s3//KEY:SECRET@a/b", None, ValueError),
    ("'s3://KEY:SECRET@a/b'", None, ValueError), ("s3 ://KEY:SECRET@a/b", None, ValueError), ("1s3://KEY:SECRET@a/b", None, ValueError), ("x\n://SECRET", None, ValueError),
])
def test_what_names_no_place_is_refused_without_what_may_be_secret(store: Any, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"store|URI") as refused:
        named(store, options)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("place", ["", "a\0b", "a\ud800", " lineage", "lineage\n", "s3//KEY:SECRET@a/b", "1s3://KEY:SECRET@a/b", "s3://KEY:SECRET@a\0/b", "c:/lineage", "file:///", "file://other/a", "file:///a?b"])
def test_what_names_no_directory_for_one_names_none_for_the_other(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="directory of this machine") as store:
        named(place)
    with pytest.raises(StoreError, match="directory of this machine") as directory:
        local("x", place)
    assert "SECRET" not in f"{store.value}{directory.value}"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(("parent", "same"), [
    ("s3://bucket/a", True), ("s3a://bucket/a/", True), ("s3://bucket", False), ("s3://bucket/a/b", False), ("s3://other/a", False), ("gs://bucket/a", False),
])
def test_a_place_knows_below_what_it_was_made(parent: str, same: bool) -> None:
    made = Address("s3://bucket/a", {"secret_key": "x"}).below("bigdebug-1")
    assert made.is_below(Address(parent)) == same
    assert made.is_below(Address(parent, {"secret_key": "x"})) == same
    assert not made.is_below(Address(parent, {"secret_key": "y"}))


@pytest.fixture
def store() -> LineageStore:
    pytest.importorskip("fsspec")
    return LineageStore.private(Address(f"memory://{uuid.uuid4().hex}"))


def block(partition: int, attempt: int = 0, stage: str = "s0") -> Block:
    return Block(stage, partition, attempt, (2,), 1, {"out.codes": np.array([partition], np.uint64)})


def test_a_store_at_a_uri_has_its_blocks_there_and_a_directory_beside(store: LineageStore) -> None:
    for each in (block(0), block(1), block(1, 7), block(0, stage="s1")):
        store.keep("r1", each.stage, each.partition, each.attempt, encode(each))
    store.count("r1", [("s0", 0, 0), ("s0", 1, 0), ("s1", 0, 0)])
    found = store.block(["r1"], "s0", 1)
    assert found is not None
    assert found.column("out.codes").tolist() == [1]
    assert store.names("r1") == [f"r1/s0/{block_name(0, 0)}", f"r1/s0/{block_name(1, 0)}", f"r1/s1/{block_name(0, 0)}"]
    assert store.partitions(["r1"], "s0") == [0, 1]
    store.discard("r1", "s0")
    assert store.partitions(["r1"], "s0") == []
    assert not [*store.root.rglob("*.block")]
    store.remove("r1")
    assert store.names("r1") == []
    root = store.root
    assert root.stat().st_mode & 0o777 == 0o700
    del store


def test_what_was_altered_there_is_no_answer(store: LineageStore) -> None:
    data = encode(block(0))
    for at in (0, 5, len(data) // 2, len(data) - 1):
        store.place.write(f"r1/s0/{block_name(0, 0)}", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        store.forget("r1")
        with pytest.raises(StoreError, match="memory://"):
            store.block(["r1"], "s0", 0)
    store.place.write(f"r1/s0/{block_name(0, 0)}", data[:-1])
    with pytest.raises(CorruptBlockError, match="is truncated"):
        store.block(["r1"], "s0", 0)


def test_its_directory_goes_with_it() -> None:
    pytest.importorskip("fsspec")
    root = LineageStore.private(Address(f"memory://{uuid.uuid4().hex}")).root
    assert not os.path.exists(root)

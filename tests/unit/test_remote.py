"""Places that a URI names: what is written is there whole, nobody waits for ever, and no key is in any text."""

from __future__ import annotations

import http.client
import io
import os
import pickle
import socket
import threading
import time
import traceback
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import BlockLostError, StoreError
from bigdebug.store import filesystems, remote
from bigdebug.store.filesystems import Address
from bigdebug.store.place import Directory, Place
from bigdebug.store.remote import Remote
from tests import s3

SECRET = s3.KEYS["secret_key"]
KEY = s3.KEYS["access_key"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3.S3]:
    with s3.running(tmp_path_factory.mktemp("s3")) as made:
        yield made


@pytest.fixture(params=["directory", "s3", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "directory":
        return Directory(tmp_path)
    if request.param == "memory":
        pytest.importorskip("fsspec")
        return Remote.below(Address(f"memory://{uuid.uuid4().hex}/below"))
    server: s3.S3 = request.getfixturevalue("server")
    return Remote.below(Address("s3://lake/some/where", server.options))


def test_places_are_alike(place: Place, tmp_path: Path) -> None:
    assert place.names("r1") == []
    place.remove("r1")
    large = os.urandom(12 << 20)
    for name, data in (("r1/s1/a", b""), ("r1/s1/b", b"x"), ("r1/s2/a", large), ("r2/s1/a", b"y")):
        place.write(name, data)
        assert place.read(name) == data
    assert sorted(place.names("r1")) == ["s1", "s2"]
    assert sorted(place.names("r1/s1")) == ["a", "b"]
    place.write("r1/s1/b", b"other")
    place.copy("r1/s1/b", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"other"
    place.remove("r1/s1")
    assert place.names("r1") == ["s2"]
    place.remove("r1")
    assert place.names("r1") == []
    assert place.read("r2/s1/a") == b"y"
    with pytest.raises(BlockLostError, match="cannot be read"):
        place.read("r1/s1/a")
    with pytest.raises(StoreError):
        place.copy("r2/s1/a", tmp_path / "no" / "copy")
    assert place.where("r1/s1") == f"{place.where()}/r1/s1"


def test_two_places_below_one_uri_do_not_meet(server: s3.S3) -> None:
    mine, other = (Remote.below(Address(uri, server.options)) for uri in ("s3://lake/shared", "s3a://lake/shared/"))
    assert mine != other
    mine.write("r1/s1/a", b"mine")
    other.write("r1/s1/a", b"other")
    other.remove("r1")
    assert mine.read("r1/s1/a") == b"mine"


def test_nothing_but_what_was_written_is_left(server: s3.S3) -> None:
    made = Remote.below(Address("s3://lake/clean", server.options))
    assert server.keys("lake/clean") == []
    made.write("r1/s1/a", b"x")
    assert server.keys("lake/clean") == [f"{made.where('r1/s1/a').removeprefix('s3://')}"]


def test_a_place_travels(server: s3.S3) -> None:
    made = Remote.below(Address("s3://lake/x", server.options))
    made.write("a", b"x")
    there = pickle.loads(pickle.dumps(made))
    assert there == made
    assert there.read("a") == b"x"
    with pytest.raises(StoreError, match="cannot be sent to executors"):
        Remote.below(Address("s3://lake/x", {"lock": threading.Lock()}))


def test_keys_of_the_environment_will_do(server: s3.S3, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": f"http://{server.endpoint}", "AWS_REGION": "us-east-1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Remote.below(Address("s3://lake/x")).write("a", b"x")


# ---- what goes wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("uri", "more", "says"), [
    ("s3://no-such-bucket/x", {}, r"NO_SUCH_BUCKET.*Make the bucket first"),
    ("s3://lake/x", {"acces_key": "not-to-be-told"}, r"acces_key.*store_options are what the filesystem takes"),
    ("s3://lake/x", {"endpoint_override": "no.such.host.invalid:1"}, r"(?i)resolve.*can be reached from here"),
    ("nobody-knows://x/y", {}, r"nobody-knows"),
])
def test_what_cannot_be_is_refused_at_once(server: s3.S3, uri: str, more: dict[str, Any], says: str) -> None:
    began = time.monotonic()
    with pytest.raises(StoreError, match=says) as refused:
        Remote.below(Address(uri, {**server.options, **more} if uri.startswith("s3") else {}))
    assert time.monotonic() - began < 10
    hides(refused.value, SECRET, KEY, "not-to-be-told")


def test_keys_that_are_refused_are_told_apart_and_not_told(server: s3.S3) -> None:
    made = Remote.below(Address("s3://lake/x", server.options))
    made.write("a", b"x")
    with server.refusing():
        for ask in (lambda: Remote.below(Address("s3://lake/x", server.options)), lambda: made.read("a"), lambda: made.names(""), lambda: made.remove("r1")):
            with pytest.raises(StoreError, match="Check the keys") as refused:
                ask()
            hides(refused.value, SECRET, KEY)
    assert made.read("a") == b"x"


def hides(problem: BaseException, *secrets: str) -> None:
    assert problem.__cause__ is None
    assert problem.__context__ is None  # tracebacks show it
    for secret in secrets:
        assert secret not in f"{problem} {problem!r} {vars(problem)}"


def test_nobody_waits_for_one_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PATIENCE", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        options = {**s3.KEYS, "endpoint_override": f"127.0.0.1:{silent.getsockname()[1]}", "scheme": "http", "region": "x"}
        began = time.monotonic()
        with pytest.raises(StoreError, match="no answer within"):
            Remote.below(Address("s3://lake/x", options))
        assert time.monotonic() - began < 2


@pytest.mark.slow
def test_a_task_does_not_wait_twice_for_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "SOON", 0.0)
    made = Remote(Address(f"s3://lake/{uuid.uuid4().hex}", s3.S3(tmp_path / "log").options))  # which nobody has started
    began = time.monotonic()
    with pytest.raises(StoreError, match="can be reached from here"):
        made.commit("a", b"x")
    once, began = time.monotonic() - began, time.monotonic()
    with pytest.raises(StoreError, match="Not tried, for 0 s before: A lineage block cannot be written"):
        made.commit("b", b"x")
    assert time.monotonic() - began < once / 2


def test_half_a_file_is_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    made = Remote.below(Address(f"memory://{uuid.uuid4().hex}"))
    made.write("a/whole", b"x")
    memory = fsspec.filesystem("memory")
    monkeypatch.setattr(type(memory), "mv", lambda *_, **__: (_ for _ in ()).throw(OSError("gone in the middle")))
    with pytest.raises(StoreError, match="gone in the middle"):
        made.write("a/half", b"y" * 100)
    assert made.names("a") == ["whole"]


# ---- addresses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("uri", "shown"), [
    ("s3://bucket/a/b/", "s3://bucket/a/b"),
    ("S3a://KEY:SEC%2FRET@bucket/a?endpoint_override=h:1&session_token=SEC%2FRET", "s3://bucket/a"),
    ("s3://bucket", "s3://bucket"),
    ("gcs://KEY@bucket/a", "gs://bucket/a"),
    ("abfs://lake@account.dfs.core.windows.net/a", "abfss://lake@account.dfs.core.windows.net/a"),
    ("abfss://:SECRET@account/a", "abfss://account/a"),
    ("hdfs://name:8020/a", "hdfs://name:8020/a"),
    ("hdfs:///a", "hdfs:///a"),
    ("hdfs:///", "hdfs://"),
    ("s3://KEY:SEC%40RET@bucket/a/me@here", "s3://bucket/a/me@here"),
    ("s3://bucket/a%40b", "s3://bucket/a%40b"),
    ("ftp://me:SECRET@host:21/a", "ftp://host:21/a"),
    ("memory://a/é ø", "memory://a/é ø"),
])
def test_an_address_is_shown_without_what_is_secret(uri: str, shown: str) -> None:
    address = Address(uri, {"secret": "SECRET"})
    assert address.shown == shown
    assert repr(address) == f"Address({shown!r})"
    assert repr(Remote(address)) == f"Remote(address=Address({shown!r}))"
    assert address.below("x").shown == f"{shown}/x"


@pytest.mark.parametrize("uri", ["", "s3:/bucket", "no uri", "://x", "s3://KEY:SEC/RET@bucket/x", "c:/x", "c://x", *(
    f"{scheme}://{rest}" for scheme in ("s3", "S3A", "gs", "abfss") for rest in (
        "KEY:/SECRET@bucket/x", "KEY:12/SECRET@bucket/x", "KEY:SEC@RET@bucket/x", "KEY@SECRET@bucket/x", "tok/SECRET@bucket/x", "KEY:12?SECRET@bucket/x",
        "KEY?SECRET@bucket/x", "KEY:SE/CRET/SECRET@bucket/x", "KEY:12/SECRET", "KEY@bucket:9000/x", "KEY?SEC/RET@bucket",
    )
), "ftp://me:/SECRET@host/x", "ftp://me:12/SECRET@host/x", "ftp://me:SEC@RET@host/x", "ftp://me@SECRET:12@host/x", "hdfs://SECRET:/x"])
def test_what_is_no_address_is_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(ValueError, match=r"has a scheme and a path|is written %2F") as refused:
        Address(uri)
    assert "SEC" not in str(refused.value)


texts = st.text(st.characters(codec="utf-8"), min_size=3, max_size=20)


@given(st.dictionaries(st.sampled_from(["access_key", "secret_key", "x"]), st.one_of(texts, st.lists(texts), st.dictionaries(texts, texts))), st.text())
def test_no_text_of_an_option_is_in_what_is_told(options: dict[str, Any], around: str) -> None:
    told = Address("s3://bucket/a", options).hidden(f"{around}{options}{around}")
    for value in options.values():
        for secret in [value] if isinstance(value, str) else value.values() if isinstance(value, dict) else value:
            assert secret not in told or secret in "***" or set(secret) <= {"*"}


def test_keys_in_a_uri_are_hidden_as_well() -> None:
    address = Address("s3://KEYKEY:SEC%2FRET@bucket/a?session_token=TOKEN&region=eu")
    told = address.hidden("KEYKEY SEC/RET TOKEN eu http://user:pass@proxy/ x")
    assert told == "*** *** *** eu http://***@proxy/ x"


@pytest.mark.parametrize(("uri", "options", "said"), [
    ("ftp://me:SEC%2FRET@host/x", {}, "cannot open ftp://me:SEC%2FRET@host/x, SEC%2FRET"),
    ("s3://bucket/x?session_token=SEC%2FRET%2B", {}, "?session_token=SEC%2FRET%2B SEC/RET+ SEC/RET%2B"),
    ("s3://bucket/x", {"a": b"SECRET", "b": {"SECRET2"}, "c": frozenset({b"SECRET\xff"}), "d": 12345678, "e": [{"x": "SEC\\RET"}]},
     r"b'SECRET' SECRET SECRET2 b'SECRET\xff' 12345678 'SEC\\RET' SEC%5CRET"),
    ("abfss://c@a/x", {"sas_token": "?sv=1&sig=SEC%2FRET99%3D"}, "GET https://a/c?comp=list&sig=SEC%2FRET99%3D&sv=1 SEC/RET99="),
    ("abfss://c@a/x", {"connection_string": "DefaultEndpointsProtocol=https;AccountKey=SECRETKEY==;x=y"}, "key SECRETKEY=="),
])
def test_secrets_are_hidden_however_they_are_spelled(uri: str, options: dict[str, Any], said: str) -> None:
    told = Address(uri, options).hidden(said)
    assert "SEC" not in told
    assert "RET" not in told
    assert "12345678" not in told


def test_ports_and_seconds_are_no_secrets() -> None:
    assert Address("s3://bucket/x", {"port": 9000, "timeout": 2.5, "anon": False}).hidden("h:9000 2.5 s False") == "h:9000 2.5 s False"


def test_no_secret_is_among_what_a_traceback_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(address: Address) -> Any:
        raise OSError(f"denied for {address.options['k']}")

    monkeypatch.setitem(filesystems._OPENERS, "denying", opened)
    with pytest.raises(StoreError, match=r"denied for \*\*\*") as refused:
        Remote(Address("denying://h/x", {"k": SECRET})).read("a")
    assert SECRET not in "".join(traceback.TracebackException.from_exception(refused.value, capture_locals=True).format())


def test_closing_is_not_waited_for_longer_than_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec's files may be closed only when they have been read."""
    class File(io.BytesIO):
        def size(self) -> int:
            return 1

        def read(self, size: int | None = -1) -> bytes:
            assert go_on.wait(10)
            return b"x"

        def close(self) -> None:
            assert go_on.wait(10)

    go_on = threading.Event()
    monkeypatch.setattr(remote, "PATIENCE", 0.2)
    monkeypatch.setattr(remote._Opened, "file", lambda *_: (file := File(), file.size()))
    monkeypatch.setitem(filesystems._OPENERS, "slow", lambda _: (None, ""))
    began = time.monotonic()
    with pytest.raises(StoreError, match="no answer"):
        Remote(Address("slow://h/x")).read("a")
    assert time.monotonic() - began < 5
    go_on.set()


def test_a_file_that_cannot_be_copied_is_told(tmp_path: Path) -> None:
    place = Directory(tmp_path)
    with pytest.raises(StoreError, match="cannot be copied"):
        place.copy("lost", tmp_path / "copy")
    place.write("there", b"x")
    with pytest.raises(StoreError, match="cannot be copied"):
        place.copy("there", tmp_path / "no" / "copy")


# ---- servers that have too much to do, and places at the root --------------------------------------------------


_OF_THE_WAY = ("content-length", "transfer-encoding", "expect", "connection")
"""Headers that are about a connection, and not about what goes through it."""


@contextmanager
def busy(server: s3.S3, refused: Iterable[int]) -> Iterator[dict[str, str]]:
    """Options for a server before that one, which answers 503 SlowDown to the requests of these numbers that read a file."""
    numbers, seen = set(refused), count()
    host, port = server.endpoint.split(":")

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self._body()
            if self.command == "GET" and "list-type" not in self.path and next(seen) in numbers:
                status, headers, data = 503, {"Content-Type": "application/xml"}, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
            else:
                there = http.client.HTTPConnection(host, int(port), timeout=10)
                there.request(self.command, self.path, body, {name: value for name, value in self.headers.items() if name.lower() not in _OF_THE_WAY})
                answer = there.getresponse()
                status, headers, data = answer.status, dict(answer.getheaders()), answer.read()
                there.close()
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OF_THE_WAY:
                    self.send_header(name, value)
            self.send_header("Content-Length", headers.get("Content-Length", str(len(data))))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = True

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815 (as the library calls them)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    between = ThreadingHTTPServer(("127.0.0.1", 0), Between)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    try:
        yield {**server.options, "endpoint_override": f"127.0.0.1:{between.server_address[1]}"}
    finally:
        between.shutdown()
        between.server_close()


@pytest.mark.parametrize("refused", [(0,), (0, 1)])
def test_what_a_busy_server_does_not_give_is_read_again(server: s3.S3, refused: tuple[int, ...]) -> None:
    with busy(server, refused) as options:
        made = Remote(Address(f"s3://lake/{uuid.uuid4().hex}", options))
        made.write("r1/s1/a", b"x")
        assert made.read("r1/s1/a") == b"x"


def test_a_server_that_stays_busy_is_told_so(server: s3.S3) -> None:
    with busy(server, range(100)) as options:
        made = Remote(Address(f"s3://lake/{uuid.uuid4().hex}", options))
        made.write("r1/s1/a", b"x")
        with pytest.raises(StoreError, match="ask again in a while"):
            made.read("r1/s1/a")


@pytest.mark.parametrize("uri", ["memory://", "memory:///", "memory:///a/"])
def test_a_place_may_be_at_the_root(uri: str) -> None:
    pytest.importorskip("fsspec")
    parent = Address(uri)
    made = Remote.below(parent)
    made.write("r1/s1/a", b"x")
    assert made.names("r1/s1") == ["a"]
    assert made.address.is_below(parent)


@pytest.mark.parametrize("uri", ["s3:///x", "s3://lake//x"])
def test_a_uri_without_a_bucket_is_refused_by_name(server: s3.S3, uri: str) -> None:
    with pytest.raises(StoreError, match="names a bucket"):
        Remote.below(Address(uri, server.options))


def test_a_filesystem_for_reading_alone_is_refused_by_name(tmp_path: Path) -> None:
    pytest.importorskip("fsspec.implementations.http")
    with pytest.raises(StoreError, match="for reading alone"):
        Remote.below(Address("http://127.0.0.1:1/x"))

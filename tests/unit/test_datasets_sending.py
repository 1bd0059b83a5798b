"""Sending: whatever a collector does, all arrives in the end, in order, and nobody waits for it."""

from __future__ import annotations

import json
import logging
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bigdebug.datasets.collectors import Collector as Address
from bigdebug.datasets.collectors import answer_of
from bigdebug.datasets.model import Access, Dataset
from bigdebug.datasets.openlineage import messages
from bigdebug.datasets.posting import Post
from bigdebug.datasets.sending import Pace, Sender
from bigdebug.datasets.spool import Spool, Waiting
from bigdebug.errors import DatasetsError
from tests.collector import Collector, Conduct, answer, collecting, drip, endless, hang, raw, reset, take
from tests.sent import BEGAN, process, sender, wait

KEY = "sk-planted-0123456789abcdef"


@pytest.fixture(autouse=True)
def _straight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path / "private" / "spool.sqlite")
    yield made
    made.close()


def told(collector: Collector) -> list[tuple[str, str]]:
    return [(event["job"]["name"], event["eventType"]) for event in collector.taken]


def test_what_fails_here_is_not_said_of_the_collector_and_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Address):
        def headers(self) -> dict[str, str]:
            raise KeyError("headers")

    post = Post(Odd("http://127.0.0.1:9/x", lambda process: ()))
    with caplog.at_level(logging.DEBUG, "bigdebug"):
        assert post.send(b"{}").why == "sending failed (KeyError)"
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [KeyError]
    post.close()


def test_events_arrive_once_in_order_and_valid(spool: Spool) -> None:
    with collecting() as collector:
        sending = sender(spool, collector.url)
        for n in range(20):
            sending.send(process(n))
        assert sending.flush(20)
        sending.close()
    assert told(collector) == [(f"job {n}", kind) for n in range(20) for kind in ("START", "COMPLETE")]
    assert collector.wrong == []
    status = sending.status()
    assert (status.taken, status.waiting, status.refused, status.left_out, status.trouble) == (40, 0, 0, 0, "")


MISBEHAVIOURS: dict[str, Conduct] = {
    "500": answer(500, b"<html>oops</html>"),
    "503, later": answer(503, Retry_After="0"),
    "429": answer(429),
    "401": answer(401),
    "404": answer(404),
    "a redirection": answer(307, Location="http://127.0.0.1:9/elsewhere"),
    "a page": answer(200, b"<html>Please log in</html>", Content_Type="text/html"),
    "garbage": answer(200, b"\x00\xff\xfe garbage"),
    "an error in a 200": answer(200, json.dumps({"error": "no space"}).encode(), Content_Type="application/json"),
    "no answer": hang,
    "an answer without an end": drip,
    "a body without an end": endless,
    "a reset": reset,
    "no HTTP": raw(b"\x00\x01\x02 SSH-2.0\r\n\r\n"),
    "half an answer": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"),
    "nothing": raw(b""),
}


@pytest.mark.many
@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_whatever_a_collector_does_nothing_is_lost(spool: Spool, name: str) -> None:
    with collecting([MISBEHAVIOURS[name]] * 2) as collector:
        sending = sender(spool, collector.url, deadline=0.3)
        sending.send(process(1))
        sending.send(process(2))
        wait(sending)
        sending.close()
    assert sending.status().waiting == 0
    arrived = dict.fromkeys(told(collector))  # what took a busy machine too long may be there twice
    for n in (1, 2):
        assert [kind for job, kind in arrived if job == f"job {n}"] == ["START", "COMPLETE"]


def test_nobody_waits_for_a_collector(spool: Spool, caplog: pytest.LogCaptureFixture) -> None:
    with collecting([hang] * 100) as collector:
        sending = sender(spool, collector.url)
        began = time.perf_counter()
        for n in range(20):
            sending.send(process(n))
        assert time.perf_counter() - began < 2
        began = time.perf_counter()
        sending.close(0.1)
        assert time.perf_counter() - began < 2
        spool.close()
    sending._thread.join(9)
    assert not sending._thread.is_alive()
    assert "closed" not in caplog.text  # the session is over, and so is what its thread has to say


def test_a_dead_collector_is_named_and_asked_ever_less(spool: Spool, caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        sending = Sender(spool, Address(f"http://127.0.0.1:{taken.getsockname()[1]}/", messages), pace=Pace(60.0, 60.0))
        for n in range(50):
            sending.send(process(n))
        sending.flush(5)
        began = time.perf_counter()
        sending.close()
        assert time.perf_counter() - began < 1
    status = sending.status()
    assert (status.taken, status.waiting, status.left_out) == (0, 100, 0)
    assert "cannot be reached" in status.trouble
    assert "waits on disk" in str(status)
    assert len([record for record in caplog.records if record.name == "bigdebug"]) == 1


def test_what_a_session_left_the_next_one_sends(spool: Spool) -> None:
    with collecting([answer(503)] * 1_000) as collector:
        first = sender(spool, collector.url)
        for n in range(5):
            first.send(process(n))
        first.close(0.1)
        collector.conduct.clear()
        next_spool = Spool(spool.path)
        second = sender(next_spool, collector.url)
        wait(second)
        second.close()
        next_spool.close()
    assert sorted(told(collector)) == [(f"job {n}", kind) for n in range(5) for kind in ("COMPLETE", "START")]


OTHER = """
import sys
from pathlib import Path
from tests.sent import process, sender, wait
from bigdebug.datasets.spool import Spool, Waiting
spool = Spool(Path(sys.argv[1]))
sending = sender(spool, sys.argv[2])
for n in range(int(sys.argv[3]), int(sys.argv[4])):
    sending.send(process(n))
wait(sending)
sending.close()
"""


def test_two_processes_share_a_spool_and_send_nothing_twice(spool: Spool) -> None:
    with collecting() as collector:
        others = [subprocess.Popen([sys.executable, "-c", OTHER, spool.path, collector.url, str(at), str(at + 20)]) for at in (0, 20)]
        assert [other.wait(60) for other in others] == [0, 0]
    assert sorted(told(collector)) == sorted((f"job {n}", kind) for n in range(40) for kind in ("START", "COMPLETE"))
    for n in range(40):
        assert [kind for job, kind in told(collector) if job == f"job {n}"] == ["START", "COMPLETE"]


@pytest.mark.slow
def test_what_was_laid_down_survives_a_process_that_is_killed(spool: Spool) -> None:
    killed = f"{OTHER.replace('wait(sending)', 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)')}"
    with collecting([hang]) as collector:
        killed = killed.replace("sys.argv[2])", "sys.argv[2], 0.3)")
        assert subprocess.run([sys.executable, "-c", killed, spool.path, collector.url, "0", "10"], check=False).returncode == -9
        sending = sender(spool, collector.url)
        wait(sending)  # what the other had claimed, once its lease is over
        sending.close()
    assert sorted(set(told(collector))) == sorted((f"job {n}", kind) for n in range(10) for kind in ("START", "COMPLETE"))


def test_what_a_collector_refuses_is_kept_and_does_not_hold_up_the_rest(spool: Spool) -> None:
    with collecting([answer(400), answer(413)]) as collector:
        sending = sender(spool, collector.url)
        sending.send(process(1))
        sending.send(process(2))
        wait(sending)
        assert told(collector) == [("job 2", "START"), ("job 2", "COMPLETE")]
        assert (sending.status().refused, sending.status().trouble) == (2, "of the last refused: answers 413")
        sending.again()  # it was mended
        wait(sending)
        until = time.monotonic() + 5
        while len(collector.taken) < 4 and time.monotonic() < until:
            time.sleep(0.01)
        sending.close()
    assert told(collector)[2:] == [("job 1", "START"), ("job 1", "COMPLETE")]
    assert sending.status().refused == 0


def test_one_event_that_a_collector_fails_on_does_not_hold_up_the_others(spool: Spool) -> None:
    def poisoned(handler: Any) -> None:
        (answer(500) if b'"job 3"' in handler.body else take)(handler)

    with collecting([poisoned] * 1_000) as collector:
        sending = sender(spool, collector.url)
        for n in range(8):
            sending.send(process(n))
        wait(sending, until=2)
        sending.close(0.1)
    assert sending.status().waiting == 2
    assert sorted(told(collector)) == [(f"job {n}", kind) for n in range(8) if n != 3 for kind in ("COMPLETE", "START")]


def test_a_process_is_started_once_however_long_it_runs_and_what_is_new_is_told(spool: Spool) -> None:
    stream = process(1, "running")
    more = replace(stream, writes=(*stream.writes, Access(Dataset("file", "/more"), "written", rows=5)))
    with collecting() as collector:
        sending = sender(spool, collector.url)
        for known in (replace(stream, writes=()), stream, stream, more, replace(more, writes=(stream.writes[0], replace(more.writes[1], rows=9))), process(1)):
            sending.send(known)
            wait(sending)
        sending.close()
    assert [(event["eventType"], len(event["outputs"])) for event in collector.taken] == [("START", 0), ("RUNNING", 1), ("RUNNING", 2), ("COMPLETE", 1)]


def test_the_key_is_in_the_request_and_nowhere_else(spool: Spool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SHOP_KEY", KEY)
    with collecting([answer(401), answer(307, Location="http://127.0.0.1:9/")]) as collector:
        sending = sender(spool, collector.url, authorization="SHOP_KEY")
        sending.send(process(1))
        wait(sending)
        sending.close()
    assert {headers["Authorization"] for headers in collector.headers} == {f"Bearer {KEY}"}
    assert KEY not in caplog.text
    assert KEY not in str(sending.status()) + repr(sending.status())
    for path in spool.path.parent.iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_a_key_that_is_not_there_is_named_and_nothing_is_sent_without(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_KEY", raising=False)
    with collecting() as collector:
        sending = sender(spool, collector.url, authorization="SHOP_KEY")
        sending.send(process(1))
        sending.flush(5)
        assert "the environment variable SHOP_KEY, by which it is to know us, is not set" in sending.status().trouble
        assert collector.asked == 0
        monkeypatch.setenv("SHOP_KEY", "Basic c2hvcDprZXk=")
        wait(sending)
        sending.close()
    assert {headers["Authorization"] for headers in collector.headers} == {"Basic c2hvcDprZXk="}


def test_the_logs_of_the_user_are_left_alone(spool: Spool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    others = set(logging.getLogger("httpx").filters)  # of senders that other tests left to themselves
    with collecting() as collector:
        sending = sender(spool, collector.url)
        sending.send(process(1))
        sending.flush(5)
        sending.close()
    assert caplog.records == []
    assert set(logging.getLogger("httpx").filters) <= others


@pytest.mark.parametrize("url", ["https://anna:secret-word@host/", "http://host/?api_key=secret-word", "http://host/;token=secret-word"])
def test_addresses_with_secrets_are_refused_without_saying_them(url: str) -> None:
    with pytest.raises(DatasetsError, match=r"a user, a password or a key.*authorization=") as refused:
        Address(url, messages)
    assert "secret-word" not in str(refused.value)


@pytest.mark.parametrize("url", ["", "host:5000", "file:///etc/passwd", "ftp://host/", "http://", "http://[", "http://host:port/"])
def test_addresses_of_no_collector_are_refused(url: str) -> None:
    with pytest.raises(DatasetsError, match="http or https"):
        Address(url, messages)


@pytest.mark.parametrize(
    ("said", "after"), [("7", 7.0), ("-3", 0.0), ("99999999", 300.0), ("Fri, 27 Nov 2026 00:00:30 GMT", 30.0), ("soon", 0.0), ("", 0.0), ("1" * 5_000, 0.0),
                      ("9" * 400, 300.0), ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0.0)],
)
def test_a_collector_may_say_when_to_come_again_within_bounds(said: str, after: float) -> None:
    assert answer_of(503, {"retry-after": said}, b"", BEGAN.timestamp()).after == after


def test_a_proxy_that_takes_another_package_is_named_and_sending_goes_on(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with collecting() as collector:
        sending = sender(spool, collector.url)
        sending.send(process(1))
        sending.flush(10)
        assert "cannot be reached" in sending.status().trouble
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.delenv("ALL_PROXY")
        sending.again()
        wait(sending)
        sending.close()
    assert told(collector) == [("job 1", "START"), ("job 1", "COMPLETE")]


_DEAD_RESOLVER = """
import socket, sys, time
from pathlib import Path
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from tests.sent import process
asked = []
def look_up(*given, **more):
    asked.append(given)
    time.sleep(60)
socket.getaddrinfo = look_up
datasets = Datasets(DatasetStore(Path(sys.argv[1])))
datasets.send("http://collector.example:5000/")
datasets.record(process(1))
while not asked:
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_the_end_of_python_does_not_wait_for_names_that_nobody_looks_up(tmp_path: Path) -> None:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", _DEAD_RESOLVER, str(tmp_path / "s.sqlite")], check=True, timeout=50, env={**os.environ, "NO_PROXY": "*"})
    assert time.monotonic() - began < 30
    with closing(Spool(tmp_path / "s-spool.sqlite")) as spool:
        assert list(spool.left().values()) == [2]


def test_a_collector_that_takes_nothing_fills_its_own_queue_and_no_other(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most=1 << 20)
    with collecting([hang] * 1_000) as collector:
        sending = sender(spool, collector.url)
        large = replace(process(1), text="select " + "x" * 9_000)
        for n in range(200):
            sending.send(replace(large, id=str(UUID(int=n))))
        status = sending.status()
        assert status.left_out > 0
        assert status.waiting == 2 * (200 - status.left_out)
        assert "bigdebug datasets send tells of them" in str(status)
        with collecting() as other:  # is not to suffer for it
            healthy = sender(spool, other.url)
            healthy.send(process(1))
            wait(healthy)
            healthy.close()
        assert len(other.taken) == 2
        collector.over.set()
        sending.close(0)
    spool.close()


def test_a_spool_that_cannot_be_written_is_named_and_nothing_is_lost_once_it_can(spool: Spool) -> None:
    with collecting() as collector:
        sending = sender(spool, collector.url)
        sending.flush(5)
        with sqlite3.connect(spool.path) as other:
            other.execute("ALTER TABLE message RENAME TO gone")
        other.close()
        sending.send(process(1))
        assert "cannot be used" in sending.status().trouble
        with sqlite3.connect(spool.path) as other:
            other.execute("ALTER TABLE gone RENAME TO message")
        other.close()
        sending.send(process(2))
        wait(sending)
        sending.close()
    assert {job for job, _ in told(collector)} == {"job 1", "job 2"}


def test_what_was_held_while_the_spool_could_not_be_written_is_laid_down_at_the_end(spool: Spool) -> None:
    with socket.socket() as taken:  # nobody answers there
        taken.bind(("127.0.0.1", 0))
        sending = Sender(spool, Address(f"http://127.0.0.1:{taken.getsockname()[1]}/", messages), pace=Pace(60.0, 60.0))
        sending.send(process(0))
        sending.flush(10)
        with closing(sqlite3.connect(spool.path)) as other, other:
            other.execute("ALTER TABLE message RENAME TO gone")
        for n in range(1, 4):
            sending.send(process(n))
        with closing(sqlite3.connect(spool.path)) as other, other:
            other.execute("ALTER TABLE gone RENAME TO message")
        sending.close(0.1)
    assert spool.left() == {sending.collector.queue: 8}


def test_a_spool_that_another_process_keeps_locked_delays_nobody_for_long(spool: Spool) -> None:
    with collecting() as collector:
        sending = sender(spool, collector.url)
        sending.flush(5)
        other = sqlite3.connect(spool.path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        began = time.perf_counter()
        for n in range(20):
            sending.send(process(n))
        assert time.perf_counter() - began < 3
        other.execute("ROLLBACK")
        other.close()
        end = time.monotonic() + 20
        while len(collector.taken) < 40 and time.monotonic() < end:
            time.sleep(0.01)
        sending.close()
    assert told(collector) == [(f"job {n}", kind) for n in range(20) for kind in ("START", "COMPLETE")]


def test_the_next_message_is_found_as_soon_however_many_wait(spool: Spool) -> None:
    """20,000 events once took five minutes, most of it spent on finding the next one, and on counting them."""
    def work(ask: Callable[[], object]) -> int:
        taken: list[int] = []
        spool._file.set_progress_handler(lambda: taken.append(0), 10)
        ask()
        spool._file.set_progress_handler(None, 0)
        return len(taken)

    taken = []
    for runs in (range(50), range(50, 1_000)):
        for run in runs:
            spool.put("http://host/", f"run {run}", [("START", b"x" * 20_000), ("COMPLETE", b"{}")])
        spool.release(spool.claim("http://host/", 1_000.0, 60.0), 2_000.0, failed=True)  # type: ignore[arg-type]
        taken.append((work(lambda: spool.claim("http://host/", 1_000.0, 0.0)), work(lambda: spool.waiting("http://host/"))))
    assert taken[1][0] < 2 * taken[0][0] + 10
    assert spool.waiting("http://host/") == Waiting(2_000, 0, "")
    refused = spool.claim("http://host/", 1_000.0, 60.0)
    assert refused is not None
    for message in refused.messages:
        spool.refused(message, f"answers 400 to {message.number}")
    assert spool.waiting("http://host/") == Waiting(1_998, 2, f"answers 400 to {refused.messages[1].number}")
    assert spool.waiting("http://other/") == Waiting()


def test_the_spool_is_its_owners_alone(spool: Spool) -> None:
    spool.put("http://host/", "run", [("START", b"{}")])
    assert spool.path.parent.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in spool.path.parent.iterdir()} == {0o600}


def test_a_spool_of_a_newer_version_is_refused_and_left_as_it_is(spool: Spool) -> None:
    with sqlite3.connect(spool.path) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(DatasetsError, match="version 99"):
        Spool(spool.path)


def test_what_is_no_spool_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"something else\n" * 1_000)
    with pytest.raises(DatasetsError, match="cannot be used"):
        Spool(path)
    assert path.read_bytes() == b"something else\n" * 1_000


def test_a_spool_that_was_cut_off_is_refused_and_left_as_it_is(spool: Spool) -> None:
    spool.put("c", "run", [("START", b"x" * 100_000)])
    spool.close()
    whole = spool.path.read_bytes()
    spool.path.write_bytes(whole[:5_000])
    with pytest.raises(DatasetsError, match="cannot be used"):
        Spool(spool.path)
    assert spool.path.read_bytes() == whole[:5_000]


def test_a_message_that_came_in_the_place_of_one_that_is_under_way_is_not_lost(spool: Spool) -> None:
    spool.put("c", "run", [("RUNNING", b"1")])
    claim = spool.claim("c", 100.0, 10.0)
    assert claim is not None
    assert spool.claim("c", 105.0, 10.0) is None
    spool.put("c", "run", [("RUNNING", b"2")])
    spool.taken(claim.messages[0])
    spool.release(claim, 100.0, failed=False)
    again = spool.claim("c", 105.0, 10.0)
    assert again is not None
    assert [message.body for message in again.messages] == [b"2"]


def test_a_clock_that_is_set_back_holds_nothing_up(spool: Spool) -> None:
    day = 86_400.0
    now = time.time()
    spool.put("c", "run", [("START", b"1")])
    ahead = spool.claim("c", now + day, 60)
    assert ahead is not None
    spool.release(ahead, now + day + 60, failed=True)
    assert spool.claim("c", now + day + 1, 60) is None  # it rests
    assert spool.claim("c", now, 60) is not None
    assert spool.claim("c", now + 1, 60) is None


def test_who_was_too_slow_takes_nothing_from_who_has_the_run_now(spool: Spool) -> None:
    spool.put("c", "run", [("START", b"1")])
    slow = spool.claim("c", 100.0, 10.0)
    other = spool.claim("c", 111.0, 10.0)
    assert slow is not None
    assert other is not None
    spool.release(slow, 0.0, failed=False)
    assert spool.claim("c", 112.0, 10.0) is None

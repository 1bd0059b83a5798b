"""Exports of what is in the store: whole, valid, private to their owner; and collectors that are told of what comes into it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from bigdebug.cli import main
from bigdebug.datasets.model import Access, Cell, ColumnEdge, Dataset
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import DatasetsError
from tests.collector import answer, collecting, hang
from tests.sent import wait
from tests.unit.test_datasets_openlineage import SALE
from tests.unit.test_datasets_secrets import PLACES
from tests.validating import check_entities, check_event

FAILED = replace(SALE, id="1f5e2a36-1111-4222-8333-444455556666", status="failed", error="jdbc:postgresql://anna:planted-word@host/db: no such table")


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Datasets]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = Datasets(DatasetStore(tmp_path / "home" / "datasets.sqlite"))
    yield made
    made.stop_sending(0)
    made.store.close()


def test_all_that_was_recorded_is_in_a_file_of_events(datasets: Datasets, tmp_path: Path) -> None:
    datasets.record(SALE)
    datasets.record(FAILED)
    told = datasets.export(tmp_path / "events.ndjson", namespace="shop")
    assert (told.column("processes"), told.column("events")) == ([2], [4])
    path = tmp_path / "events.ndjson"
    assert path.stat().st_mode & 0o777 == 0o600
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for event in events:
        check_event(event)
    assert [event["eventType"] for event in events] == ["START", "COMPLETE", "START", "FAIL"]
    assert {event["job"]["namespace"] for event in events} == {"shop"}
    assert "planted-word" not in path.read_text(encoding="utf-8")


def test_all_that_was_recorded_is_in_a_file_of_entities(datasets: Datasets, tmp_path: Path) -> None:
    datasets.record(SALE)
    datasets.record(FAILED)
    datasets.export(tmp_path / "atlas.json", "atlas")
    body = json.loads((tmp_path / "atlas.json").read_text(encoding="utf-8"))
    check_entities(body)
    assert [entity["attributes"]["qualifiedName"] for entity in body["entities"] if entity["typeName"] == "spark_process"] == ["sales@primary"]


def test_one_session_alone_is_exported(datasets: Datasets, tmp_path: Path) -> None:
    datasets.record(SALE)
    datasets.record(replace(FAILED, session="local-2"))
    assert datasets.export(tmp_path / "events", session="local-2").column("processes") == [1]


def test_an_empty_store_is_an_empty_file(datasets: Datasets, tmp_path: Path) -> None:
    datasets.export(tmp_path / "events")
    assert (tmp_path / "events").read_bytes() == b""


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(datasets: Datasets, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    for path in (tmp_path / "taken", tmp_path / "nowhere" / "events"):
        with pytest.raises(DatasetsError, match="cannot be written"):
            datasets.export(path)
    assert {path.name for path in tmp_path.iterdir()} <= {"taken", "home"}


def test_an_export_that_is_interrupted_leaves_nothing_and_what_was_there(datasets: Datasets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object, **more: object) -> None:
        raise KeyboardInterrupt
    datasets.record(SALE)
    (tmp_path / "events.jsonl").write_text("before")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("bigdebug.datasets.openlineage.events", interrupt)
    with pytest.raises(KeyboardInterrupt):
        datasets.export(tmp_path / "events.jsonl")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "events.jsonl").read_text() == "before"


def test_a_link_leads_to_the_file_that_is_written(datasets: Datasets, tmp_path: Path) -> None:
    datasets.record(SALE)
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "events")
    for _ in range(2):  # it leads nowhere first
        datasets.export(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert len((tmp_path / "there" / "events").read_bytes().splitlines()) == 2
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["events"]


def test_a_pipe_is_written_into_and_stays_one(datasets: Datasets, tmp_path: Path) -> None:
    datasets.record(SALE)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
            datasets.export(tmp_path / name)
            assert len(reader.communicate(timeout=10)[0].splitlines()) == 2
    assert (tmp_path / "pipe").is_fifo()


def test_a_dash_is_no_file(datasets: Datasets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for named in ("-", Path("-")):
        with pytest.raises(DatasetsError, match="/dev/stdout"):
            datasets.export(named)
    assert not (tmp_path / "-").exists()
    datasets.export("./-")
    assert (tmp_path / "-").is_file()


def test_a_form_that_is_not_there_is_named_with_those_that_are(datasets: Datasets, tmp_path: Path) -> None:
    for ask in (lambda: datasets.export(tmp_path / "x", "rdf"), lambda: datasets.send("http://host/", "rdf")):
        with pytest.raises(DatasetsError, match="openlineage, atlas"):
            ask()


def test_collectors_are_told_of_what_is_recorded_and_of_what_was(datasets: Datasets) -> None:
    datasets.record(SALE)
    with collecting() as events, collecting(check=check_entities) as atlas:
        first = datasets.send(events.url, past=True)
        second = datasets.send(atlas.url, "atlas")
        assert datasets.send(events.url) is first
        datasets.record(FAILED)
        wait(first)
        datasets.record(replace(SALE, id="2f5e2a36-1111-4222-8333-444455556666"))
        for sender in (first, second):
            wait(sender)
            assert sender.flush(10)
        assert datasets.sending().column("sent") == [6, 1]
    assert [event["eventType"] for event in events.taken] == ["START", "COMPLETE", "START", "FAIL", "START", "COMPLETE"]
    assert "planted-word" not in json.dumps(events.taken)
    assert len(atlas.taken) == 1


def test_no_collector_is_said_to_be_none(datasets: Datasets) -> None:
    assert datasets.sending().notes == ("No collector is told: send(url).",)
    assert not list(datasets.store.path.parent.glob("*spool*"))  # asking makes no file


def test_one_collector_may_be_told_in_two_namespaces(datasets: Datasets) -> None:
    with collecting() as collector:
        senders = [datasets.send(collector.url, namespace=namespace) for namespace in ("shop", "lab", "shop")]
        assert senders[0] is senders[2]
        datasets.record(SALE)
        for sender in senders:
            wait(sender)
            sender.flush(10)
    assert sorted(event["job"]["namespace"] for event in collector.taken) == ["lab", "lab", "shop", "shop"]


def test_what_a_collector_did_not_take_is_sent_by_the_next_session(datasets: Datasets) -> None:
    with collecting([answer(503)] * 100) as collector:
        datasets.send(collector.url)
        for n in range(3):
            datasets.record(replace(SALE, id=str(UUID(int=n))))
        datasets.stop_sending(0.1)
        assert datasets.sending().notes[1].startswith(f"6 messages wait on disk for {collector.url}")
        collector.conduct.clear()
        later = Datasets(DatasetStore(datasets.store.path))
        wait(later.send(collector.url))
        later.stop_sending(5)
    assert sorted({event["run"]["runId"] for event in collector.taken}) == [str(UUID(int=n)) for n in range(3)]


def test_of_secrets_in_whatever_was_recorded_none_goes_out(datasets: Datasets, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    planted = [f"Q7{n:02}planted{n * 7919}9z" for n in range(len(PLACES))]
    said = [place.replace("%s", value) for place, value in zip(PLACES, planted)]
    with collecting() as events, collecting(check=check_entities) as atlas, collecting([answer(503)] * 1_000) as down:
        senders = [datasets.send(events.url), datasets.send(atlas.url, "atlas"), datasets.send(down.url)]
        for n, text in enumerate(said):
            odd = Dataset("x", f"query {text}", "jdbc")
            edge = ColumnEdge(odd, text, odd, "id", "IDENTITY")
            datasets.record(replace(
                SALE, id=str(UUID(int=n)), job=f"job {text}", text=text, status="failed" if n % 2 else "succeeded", error=f"failed: {text}" if n % 2 else "",
                reads=(Access(odd),), writes=(Access(odd, "written"),), columns=(edge,), opaque=(text,), cell=Cell(f"/nb/{text}.ipynb"), session=text,
            ))
        for sender in senders[:2]:
            wait(sender)
        datasets.export(tmp_path / "events")
        datasets.export(tmp_path / "atlas", "atlas")
        out = [*(path.read_bytes() for path in (*tmp_path.iterdir(), *datasets.store.path.parent.iterdir()) if path.is_file())]
        out += [json.dumps([events.taken, atlas.taken]).encode(), caplog.text.encode(), repr(datasets.sending()).encode()]
    assert len(events.taken) == 2 * len(said)
    assert [value for value in planted if any(value.encode() in each for each in out)] == []


SCRIPT = """
import sys
from pathlib import Path
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from tests.sent import process
datasets = Datasets(DatasetStore(Path(sys.argv[1])))
datasets.send(sys.argv[2])
datasets.record(process(1))
"""


def test_a_script_that_ends_has_told_of_its_last_job(tmp_path: Path) -> None:
    with collecting() as collector:
        url = collector.url.replace("127.0.0.1", "localhost")  # a name that has to be looked up
        environment = {**os.environ, "NO_PROXY": "localhost"}
        done = subprocess.run([sys.executable, "-c", SCRIPT, tmp_path / "datasets.sqlite", url], capture_output=True, text=True, check=False, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
    assert [event["eventType"] for event in collector.taken] == ["START", "COMPLETE"]


def test_the_command_line_sends_what_is_in_the_store(datasets: Datasets, capsys: pytest.CaptureFixture[str]) -> None:
    datasets.record(SALE)
    datasets.store.close()
    store = ["--store", str(datasets.store.path)]
    with collecting() as collector, collecting([answer(503)] * 1_000) as down:
        assert main(["datasets", "send", collector.url, *store, "--json"]) == 0
        assert [row["sent"] for row in json.loads(capsys.readouterr().out)["rows"]] == [2]
        assert main(["datasets", "send", down.url, *store, "--seconds", "0.2"]) == 1
        assert "2 waiting" in capsys.readouterr().err
    assert [event["eventType"] for event in collector.taken] == ["START", "COMPLETE"]


def test_a_store_that_holds_more_than_a_spool_is_sent_as_a_whole(datasets: Datasets, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("bigdebug.datasets.sending._AHEAD", 5)
    monkeypatch.setattr("bigdebug.datasets.spool.Spool.__init__.__defaults__", (50_000,))
    for number in range(40):
        datasets.record(replace(SALE, id=f"1f5e2a36-1111-4222-8333-{number:012}"))
    datasets.store.close()
    with collecting() as collector:
        assert main(["datasets", "send", collector.url, "--store", str(datasets.store.path), "--seconds", "60"]) == 0, capsys.readouterr().err
    assert [event["eventType"] for event in collector.taken] == ["START", "COMPLETE"] * 40


def test_what_a_spool_does_not_hold_of_the_past_is_said_and_sent_by_the_command_line(
    datasets: Datasets, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("bigdebug.datasets.sending._AHEAD", 5)
    monkeypatch.setattr("bigdebug.datasets.spool.Spool.__init__.__defaults__", (50_000,))
    for number in range(40):
        datasets.record(replace(SALE, id=f"1f5e2a36-1111-4222-8333-{number:012}"))
    with collecting([answer(503)] * 1_000) as collector:
        sender = datasets.send(collector.url, past=True)
        left_out = sender.status().left_out
        assert 0 < left_out < 40
        assert f"{left_out} left out: bigdebug datasets send tells of them" in repr(sender)
        assert datasets.sending().notes == (f"Of {left_out} processes {collector.url} is not told, for the spool takes no more: bigdebug datasets send {collector.url} tells of them.",)
        datasets.stop_sending(0.1)
        datasets.store.close()
        collector.conduct.clear()
        assert main(["datasets", "send", collector.url, "--store", str(datasets.store.path), "--seconds", "60"]) == 0, capsys.readouterr().err
    assert len({(event["run"]["runId"], event["eventType"]) for event in collector.taken}) == 80


@pytest.mark.slow
def test_a_collector_that_was_mended_is_told_at_once(datasets: Datasets, capsys: pytest.CaptureFixture[str]) -> None:
    datasets.record(SALE)
    datasets.record(FAILED)
    datasets.store.close()
    for trouble in (answer(429, Retry_After="100000"), hang):
        with collecting([trouble] * 1_000) as collector:
            send = ["datasets", "send", collector.url, "--store", str(datasets.store.path), "--json", "--seconds"]
            told = subprocess.run([sys.executable, "-m", "bigdebug.cli", *send, "0.5"], capture_output=True, text=True, check=False, env={**os.environ, "NO_PROXY": "127.0.0.1"})
            assert (told.returncode, "4 waiting" in told.stderr) == (1, True), told.stderr
            collector.conduct.clear()
            assert main([*send, "10"]) == 0
            assert [row["waiting"] for row in json.loads(capsys.readouterr().out)["rows"]] == [0]


def test_the_environment_names_a_collector_as_others_clients_read_it(datasets: Datasets, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatasetsError, match="OPENLINEAGE_URL"):
        datasets.send()
    with collecting() as collector:
        monkeypatch.setenv("OPENLINEAGE_URL", collector.url.removesuffix("api/v1/lineage"))
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "planted-key")
        monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "shop")
        sender = datasets.send()
        datasets.record(SALE)
        wait(sender)
        sender.close()
    assert {headers["Authorization"] for headers in collector.headers} == {"Bearer planted-key"}
    assert {event["job"]["namespace"] for event in collector.taken} == {"shop"}
    assert "planted-key" not in repr(datasets.sending())
    for path in datasets.store.path.parent.iterdir():
        assert b"planted-key" not in path.read_bytes()


def test_a_store_that_cannot_be_written_fails_no_job(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    datasets = Datasets(DatasetStore(tmp_path / "file" / "datasets.sqlite"))
    datasets.record(SALE)
    with pytest.raises(DatasetsError, match="spool"):
        datasets.send("http://127.0.0.1:9/")

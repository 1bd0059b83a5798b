"""The command line: tables for a person, JSON for a program, errors on stderr with what to do, and what it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bigdebug.cli import QUESTIONS, main
from bigdebug.datasets.naming import of_path
from bigdebug.datasets.store import DatasetStore
from tests.unit.test_datasets_questions import CLEAN, LOOK, PUBLISH, SUM, process

Run = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(CLEAN, SUM, PUBLISH, LOOK, process(5, "odd", [of_path("/x/\x1b[31m\u202e<b>")], [of_path("/y")]))
    store.close()

    def ask(*words: str) -> tuple[int, str, str]:
        try:
            code = main(["datasets", *words, "--store", str(store.path)])
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return ask


@pytest.mark.parametrize(("words", "line"), [
    (("list",), "dataset"), (("list", "ord"), "shop.orders"), (("upstream", "report"), "shop.sales"), (("downstream", "orders"), "report "),
    (("upstream", "report", "-c", "total"), "value"), (("impact", "orders", "price"), "fails"), (("history", "orders"), "overwritten"),
    (("changed", "sum"), "It ran once"), (("show", "sales"), "total"), (("show", "p2"), "rows decided by"), (("processes", "--status", "succeeded"), "publish"),
])
def test_each_question_gives_a_table_and_json(run: Run, words: tuple[str, ...], line: str) -> None:
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert line in out
    code, out, _ = run(*words, "--json")
    assert code == 0
    told = json.loads(out)
    assert set(told) == {"title", "rows", "notes"}
    assert told["rows"] or told["notes"]
    assert all(name for row in told["rows"] for name in row)


@pytest.mark.parametrize(("words", "code", "said"), [
    (("upstream", "nothing like it"), 1, "Nothing was recorded"), (("upstream", "ordrs"), 1, "Do you mean"), (("impact", "orders", "nope"), 1, "no such column"),
    (("show", "\udcff"), 1, "Nothing was recorded"), (("list", "-n", "9" * 30), 1, "from 1 to"), (("send", "http://127.0.0.1:9/", "--seconds", "nan"), 2, "no number of seconds"),
    (("send", "http://127.0.0.1:9/", "--authorization", "NO_SUCH"), 1, "NO_SUCH, by which it is to know us, is not set"), (("send", ""), 1, "OPENLINEAGE_URL"),
    (("upstream",), 2, "bigdebug datasets upstream --help"), (("updown",), 2, "invalid choice"), (("processes", "--status", "odd"), 2, "choose from"),
])
def test_what_is_wrong_is_on_stderr_with_what_to_do(run: Run, words: tuple[str, ...], code: int, said: str) -> None:
    ended, out, err = run(*words)
    assert (ended, out) == (code, "")
    assert said in err
    assert err.startswith("bigdebug")


def test_a_terminal_obeys_nothing_of_the_users(run: Run) -> None:
    _, out, _ = run("list")
    assert "\\x1b[31m\\u202e<b>" in out
    assert "\x1b" not in out


def test_limits_and_exports(run: Run, tmp_path: Path) -> None:
    assert "limit" in run("list", "-n", "1")[1]
    assert run("export", str(tmp_path / "events.jsonl"))[0] == 0
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) >= 5


def test_help_needs_no_manual(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["datasets"], *(["datasets", name] for name in QUESTIONS)):
        with pytest.raises(SystemExit) as end:
            main([*words, "--help"])
        assert end.value.code == 0
    said = capsys.readouterr().out
    assert "bigdebug datasets impact orders price" in said
    assert "BIGDEBUG_HOME" in said


@pytest.mark.parametrize(("name", "said"), [
    ("x" * 300, "cannot be used: File name too long"), ("", "Name the file, as"), ("empty", "There is no store of datasets"), ("text", "If it is another's"),
])
def test_what_is_no_store_is_named_and_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello")
    assert main(["datasets", "list", "--store", str(tmp_path / name)]) == 1
    assert said in capsys.readouterr().err
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"empty": 0, "text": 5}


def test_an_export_does_not_take_the_place_of_the_store(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "s.sqlite")
    for name in ("s.sqlite", "s.sqlite-wal", "s-spool.sqlite", "link"):
        code, _, err = run("export", str(tmp_path / name))
        assert (code, "take the place of the store" in err) == (1, True)
    assert run("list")[0] == 0


@pytest.mark.parametrize("home", ["/tmp/50%off", "~nobody-like-that/x"])
def test_help_is_given_whatever_home_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: str) -> None:
    monkeypatch.setenv("BIGDEBUG_HOME", home)
    with pytest.raises(SystemExit, match="0"):
        main(["datasets", "list", "--help"])
    assert ("(/tmp/50%off/datasets.sqlite," if home.startswith("/") else "(none,") in capsys.readouterr().out
    assert main(["datasets", "list"]) == 1


def test_who_interrupts_sees_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object, **more: object) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr("bigdebug.datasets.questions.Datasets.find", interrupt)
    assert run("list") == (130, "", "bigdebug: interrupted\n")


def test_a_wheel_brings_the_command() -> None:
    text = (Path(__file__).resolve().parents[2] / "setup.py").read_text(encoding="utf-8")
    assert '"bigdebug = bigdebug.cli:main"' in text


def test_it_needs_no_spark_and_no_reader_that_stays(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(*(process(i, f"j{i}", [of_path(f"/in/{i}")], [of_path(f"/out/{i}")]) for i in range(1_500)))
    store.close()
    code = (
        "import sys; from bigdebug.cli import main; code = main(sys.argv[1:]); "
        "assert not {'pyspark', 'IPython', 'ipywidgets', 'pandas'} & set(sys.modules), 'slow'; sys.exit(code)"
    )
    asked = [sys.executable, "-c", code, "datasets", "list", "-n", "3000", "--store", str(store.path)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    cut = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert cut.stdout is not None
    assert cut.stderr is not None
    cut.stdout.readline()
    cut.stdout.close()
    assert (cut.stderr.read(), cut.wait()) == ("", 141)
    cut.stderr.close()
    none = subprocess.run([*asked[:-1], str(tmp_path / "none")], capture_output=True, text=True, check=False)
    assert (none.returncode, none.stdout) == (1, "")
    assert "There is no store of datasets" in none.stderr

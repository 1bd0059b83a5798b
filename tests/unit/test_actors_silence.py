"""Silence: while a function is tried, other threads write, warn and read as ever, nothing of ours is left behind, and nothing is asked."""

import bdb
import code
import contextlib
import fileinput
import io
import os
import subprocess
import sys
import threading
import warnings
from sys import settrace

import pandas as pd
import pytest
from jupyter_client.session import Session
from pandas.testing import assert_frame_equal

from bigdebug import actors
from bigdebug.actors.aside import aside, stopped
from bigdebug.actors.codes import Untried


def in_another_thread(call):
    """What a call gives in a thread that was started before any trial."""
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    return lambda: (thread.join(), found)[1]


class Tee:
    """A stream that tells nobody how much it wrote: many of the users' do so."""

    def __init__(self):
        self.texts = []

    def write(self, text):
        self.texts.append(text)

    def flush(self):
        pass


def test_a_stream_may_say_nothing_of_what_it_wrote(monkeypatch):
    tee, began = Tee(), threading.Event()
    monkeypatch.setattr(sys, "stdout", tee)

    def prints():
        began.wait(9)
        print("another's")  # noqa: T201
        return sys.stdout.write("its own")

    given = in_another_thread(prints)
    with aside():
        began.set()
        assert given() == [None]
        print("mine")  # noqa: T201
    assert "".join(tee.texts) == "another's\nits own"


def test_filters_of_warnings_that_another_thread_puts_back_are_without_ours():
    began, over = threading.Event(), threading.Event()

    def catches():
        began.wait(9)
        with warnings.catch_warnings():
            entered.set()
            over.wait(9)

    entered = threading.Event()
    with warnings.catch_warnings():
        before = [*warnings.filters]
        done = in_another_thread(catches)
        with aside():
            began.set()
            assert entered.wait(9)
        over.set()
        done()
        assert warnings.filters == before


# ---- what is asked --------------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"n": [1, 2, 3]})


def of_a_package(text, **names):
    """A function of a package's, of which it is not looked at what it names."""
    scope = {**names, "__name__": "pandas"}
    exec(f"def asks():\n    {text}\n", scope)
    return scope["asks"]


def beside(text, **names):
    asks = of_a_package(text, **names)
    return lambda f: f.assign(m=asks())


def read_by_fileinput(f):
    return f.assign(m=len(list(fileinput.input("-"))))


def talked_with(f):
    code.interact(banner="", readfunc=lambda prompt: (_ for _ in ()).throw(EOFError), exitmsg="")
    return f


def traced(f):
    settrace(None)
    return f


ASKING = {
    "fileinput": read_by_fileinput, "fileinput of a package": beside("return [*fileinput.input('-')][0]", fileinput=fileinput), "a console": talked_with, "tracing": traced, "input": beside("return input()"), "a line": beside("return sys.stdin.readline()", sys=sys),
    "lines": beside("return [*sys.stdin][0]", sys=sys), "the next": beside("return next(sys.stdin)", sys=sys), "the first of all": beside("return sys.__stdin__.readline()", sys=sys),
    "bytes": beside("return sys.stdin.buffer.read(2)", sys=sys), "within": beside("with sys.stdin as given: return given.read(3)", sys=sys),
}


@pytest.mark.parametrize("kind", ASKING)
def test_what_is_typed_or_piped_in_the_real_call_has(monkeypatch, tmp_path, kind):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))
    made = []
    for function in (ASKING[kind], actors.rows(ASKING[kind])):
        given = io.TextIOWrapper(io.BytesIO(b"one\ntwo\n"))
        for name in ("stdin", "__stdin__"):
            monkeypatch.setattr(sys, name, given)
        fileinput.close()  # what another test may have left
        made.append(function(FRAME.copy()))
        assert (sys.stdin, sys.__stdin__) == (given, given)
    assert_frame_equal(*made)
    assert any("was not tried" in each for each in actors.steps()[-1].incomplete)


def test_what_a_stream_says_of_itself_is_not_taken_of_it(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n"))
    shows = of_a_package("return sys.stdin.isatty() or sys.stdin.closed", sys=sys)
    assert not actors.rows(lambda f: f.assign(m=shows()))(FRAME).m.any()
    assert not any("was not tried" in each for each in actors.steps()[-1].incomplete)


def test_another_thread_reads_meanwhile(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\nthree\nfour"))
    began = threading.Event()

    def reads():
        began.wait(9)
        return sys.stdin.readline(), next(sys.stdin), next(iter(sys.stdin)), sys.stdin.read()

    given = in_another_thread(reads)
    with aside():
        began.set()
        assert given() == [("one\n", "two\n", "three\n", "four")]


def test_a_notebook_is_asked_nothing():
    for asks in (lambda: Session().send(None, "input_request", {"prompt": ""}), lambda: Session().send(stream=None, msg_or_type="input_request")):
        with pytest.raises(Untried, match="typed, or piped in"), aside(), stopped():
            asks()


def test_a_debugger_begins_in_the_real_call(monkeypatch):
    before = sys.gettrace()
    monkeypatch.setattr(sys, "gettrace", lambda: None)  # coverage traces all
    monkeypatch.setattr(threading, "gettrace", lambda: None)
    with pytest.raises(Untried, match="as a debugger does"), aside(), stopped(), contextlib.suppress(BaseException):
        bdb.Bdb().set_trace()
    monkeypatch.undo()
    assert sys.gettrace() is before


@pytest.mark.parametrize("kind", [sys, threading])
def test_what_traces_a_whole_process_traces_a_trial(monkeypatch, kind):
    """As coverage does in each thread that begins, and a debugger when somebody goes on."""
    monkeypatch.setattr(kind, "gettrace", lambda: print)
    with aside(), stopped():
        sys.audit("sys.settrace")


def test_a_debugger_that_a_package_begins_is_answered_once(tmp_path):
    script = """
import pandas as pd
from bigdebug import actors

scope = {"__name__": "pandas"}
exec("import pdb\\ndef looks():\\n    pdb.set_trace()\\n    return 2\\n", scope)
looks = scope["looks"]
print("made", actors.rows(lambda f: f * looks())(pd.DataFrame({"n": [1, 2]})).n.tolist(), input())
print([each for each in actors.steps()[-1].incomplete if "debugger" in each])
"""
    environment = {**os.environ, "BIGDEBUG_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], input="c\nline\n", capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert "made [2, 4] line" in done.stdout, done.stderr
    assert "was not tried" in done.stdout
    assert done.stdout.count("(Pdb)") == 1

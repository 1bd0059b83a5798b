"""Aside: of a trial nothing stays, nothing is seen, and nothing is sent: the step does what the plain call does, once."""

import abc
import atexit
import builtins
import codecs
import concurrent.futures
import contextlib
import ctypes
import decimal
import faulthandler
import functools
import gc
import http.client
import http.server
import io
import locale
import logging
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import types
import warnings
from functools import partial
from importlib import import_module
from importlib import import_module as imported
from os import write as written
from os.path import exists

import numpy as np
import pandas as pd
import pytest
import zmq
from jupyter_client.session import Session
from pandas.testing import assert_frame_equal
from pyarrow import Table
from pyarrow.parquet import read_table, write_to_dataset

from bigdebug import actors
from bigdebug.actors import promises, tried
from bigdebug.actors.aside import aside, being_tried, stopped
from bigdebug.actors.codes import Untried
from bigdebug.actors.fixed import fixed


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


FRAME = pd.DataFrame({"x": np.arange(60.0), "city": [f"c{n % 7}" for n in range(60)]})


def ended():
    """How the last step ended: told, believed, or refused."""
    notes = " ".join(actors.steps()[-1].incomplete)
    return "refused" if "has no lineage" in notes else "believed" if "was not tried" in notes else "told"


def lines(records):
    yield from records


# ---- what a function does besides -----------------------------------------------------------------------------


def makes_a_directory(f, work):
    (work / "out").mkdir()
    return f


def makes_a_file(f, work):
    with open(work / "new", "x") as file:
        file.write(str(len(f)))
    return f


def keeps_a_log(f, work):
    with open(work / "there", "a") as file, open(work / "bytes", "wb") as other:
        file.write(f"{len(f)}\n")
        other.write(b"x")
    return f


def reads_what_it_writes(f, work):
    with open(work / "there", "w") as file:
        file.write("".join(f.city))
    with open(work / "there") as file:
        return f.assign(n=file.read(2))


def appends(f, work):
    with (work / "there").open("a") as file:
        file.write(f"{len(f)}\n")
    return f


def takes_away(f, work):
    os.remove(work / "there")
    return f


def moves(f, work):
    shutil.move(work / "there", work / "done")
    return f


def mean_in_a_file(f, work):
    try:
        mean = float((work / "mean").read_text())
    except FileNotFoundError:
        mean = f.x.mean()
        (work / "mean").write_text(str(mean))
    return f.assign(n=mean)


def mean_in_a_file_that_is_there(f, work):
    if not exists(work / "mean"):
        f[["x"]].mean().to_frame().T.to_csv(work / "mean", index=False)
    return f.assign(n=pd.read_csv(work / "mean").x[0])


def inserts(f, work):
    with contextlib.closing(sqlite3.connect(work / "base")) as base:
        base.execute("create table if not exists t (n)")
        base.execute("insert into t values (?)", [len(f)])
        base.commit()
        return f.assign(n=base.execute("select count(*) from t").fetchone()[0])


def sends(f, work):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", int((work / "port").read_text())))
    return f


def starts(f, work):
    subprocess.run([sys.executable, "-c", f"open({str(work / 'there')!r}, 'a').write('x')"], check=True)
    return f


def swallows(f, work):
    with contextlib.suppress(BaseException):
        (work / "there").write_text((work / "there").read_text() + "x")
    return f


def in_a_thread(f, work):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(appends, f, work).result()


def goes_elsewhere(f, work):
    os.chdir(work)
    return f


def writes_a_dataset(f, work):
    f.to_parquet(work / "out", partition_cols=["city"])
    return f.assign(n=len([*(work / "out").rglob("*.parquet")]))


def writes_a_dataset_by_a_function(f, work):
    write_to_dataset(Table.from_pandas(f), work / "out")
    return f.assign(n=len([*(work / "out").rglob("*.parquet")]))


def looks_at_what_it_writes(f, work):
    with open(work / "fresh", "w") as file:
        file.write("".join(f.city))
    return f.assign(n=os.path.getsize(work / "fresh"))


def makes_a_pipe(f, work):
    os.mkfifo(work / f"pipe{len(f)}")
    return f.assign(n=len([*work.glob("pipe*")]))


def spawns(f, work):
    child = multiprocessing.get_context("spawn").Process(target=os.mkdir, args=(work / f"made{len(f)}",))
    child.start()
    child.join()
    return f.assign(n=len([*work.glob("made*")]))


def writes_to_a_descriptor(f, work):
    os.write(TAKEN, b"%d " % len(f))
    return f.assign(n=os.lseek(TAKEN, 0, os.SEEK_CUR))


def writes_to_a_descriptor_by_a_function(f, work):
    written(TAKEN, b"%d " % len(f))
    return f.assign(n=os.lseek(TAKEN, 0, os.SEEK_CUR))


KEPT = tempfile.TemporaryFile()  # it is open to the end
atexit.register(KEPT.close)
TAKEN = KEPT.fileno()

DOING = [keeps_a_log, reads_what_it_writes, makes_a_directory, makes_a_file, appends, takes_away, moves, mean_in_a_file, mean_in_a_file_that_is_there, inserts, sends, starts, swallows, in_a_thread, goes_elsewhere]
DOING += [looks_at_what_it_writes, writes_a_dataset, writes_a_dataset_by_a_function, makes_a_pipe, spawns, writes_to_a_descriptor, writes_to_a_descriptor_by_a_function]


def done(function, work):
    """What a call gives, and what there is afterwards."""
    work.mkdir()
    (work / "there").write_text("")
    KEPT.truncate(0)
    KEPT.seek(0)
    here = os.getcwd()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as got:
        got.bind(("127.0.0.1", 0))
        (work / "port").write_text(str(got.getsockname()[1]))
        try:
            made = function(FRAME.copy(), work)
        finally:
            moved = os.getcwd() != here
            os.chdir(here)
        got.setblocking(False)
        count = 0
        with contextlib.suppress(BlockingIOError):
            while got.recv(9):
                count += 1
    return made, moved, count, {each.name: each.read_bytes() for each in work.iterdir() if each.is_file() and each.name not in ("port", "base")}


@pytest.mark.parametrize("function", DOING)
def test_what_a_function_does_to_the_world_it_does_once(home, tmp_path, function):
    (frame, *wanted), (made, *given) = done(function, tmp_path / "plain"), done(actors.rows(function), tmp_path / "step")
    assert_frame_equal(made, frame)
    assert given == wanted
    assert ended() == ("told" if function in (makes_a_file, keeps_a_log) else "believed")


@pytest.mark.parametrize("function", [appends, takes_away, mean_in_a_file])
def test_so_does_a_generator(home, tmp_path, function):
    def each(records, work):
        for record in records:
            yield record, int(function(FRAME.assign(x=float(record)), work).iloc[0].get("n", 0))

    def once(records, work):
        appends(FRAME, work)
        yield from records

    for number, made in enumerate((each, once)):
        results = []
        for name, call in (("plain", made), ("step", actors.generator(made, each=True))):
            work = tmp_path / f"{name}{number}"
            work.mkdir()
            (work / "there").write_text("")
            results.append((list(call([7], work)), sorted((each.name, each.read_text()) for each in work.iterdir())))
        assert results[0] == results[1]
        assert ended() == "believed"


def test_what_only_reads_is_tried(home, tmp_path):
    (tmp_path / "rates.csv").write_text("city,rate\nc0,2.0\n")

    def reads(f):
        rates = pd.read_csv(tmp_path / "rates.csv")
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            print((tmp_path / "rates.csv").exists())  # noqa: T201
        return f.merge(rates, how="left", on="city").set_axis(f.index)

    actors.rows(reads)(FRAME)
    assert ended() == "told"


def test_what_may_be_read_unheard_is_told(home, tmp_path):
    FRAME.to_parquet(tmp_path / "looked", partition_cols=["city"])

    class Look:
        def up(self, f):
            return f.assign(n=f.x.map(pd.read_parquet(tmp_path / "looked").set_index("x").city))

    def arrow(f):
        return f.assign(n=f.x.map(read_table(tmp_path / "looked").to_pandas().set_index("x").city))

    def each(records):
        found = len(pd.read_parquet(tmp_path / "looked"))
        yield from ((record, found) for record in records)

    look = Look()
    for call, given, name in ((actors.rows(look.up), FRAME, "read_parquet"), (actors.rows(arrow), FRAME, "read_table"), (actors.generator(each, each=True), [1], "read_parquet")):
        list(call(given))
        assert ended() == "told"
        assert f"calls {name}(), which may read a file besides its input" in " ".join(actors.steps()[-1].incomplete)


@pytest.mark.parametrize(("path", "data"), [
    (f"{sys.prefix}-data/look.csv", True), (f"{sys.prefix}/look.csv", True), ("/dev/shm/look.csv", True), ("/etcetera/look.csv", True),
    (os.__file__.replace("os.py", "data.txt"), False), (pd.__file__.replace("__init__.py", "data.csv"), False), ("/dev/urandom", False), ("/etc/localtime", False),
])
def test_files_of_python_and_the_system_are_no_data_and_those_beside_are(path, data):
    """As the barrier tells of them: nothing is opened."""
    read = []
    with aside(read.append):
        sys.audit("open", path, "r", os.O_RDONLY)
    assert read == [path] * data


def test_a_module_that_is_imported_for_the_first_time_is_imported_whole(home, tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "imported_in_a_trial.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'cache')!r}).write_text('x')\nDOUBLE = 2\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def function(f):
        import imported_in_a_trial

        return f.assign(n=f.x * imported_in_a_trial.DOUBLE)

    actors.rows(function)(FRAME)
    assert ended() == "told"
    assert list(folder.glob("__pycache__/*.pyc"))


def test_what_a_module_sets_and_says_when_it_is_imported_stays(home, settings, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    lines = ["import decimal, random, sys, numpy as np", "sys.setrecursionlimit(4321)", "np.seterr(divide='raise')", "decimal.getcontext().prec = 7", "random.seed(5)", "print('imported')"]
    (folder / "setting_in_a_trial.py").write_text("\n".join([*lines, "def deep(n):", "    return n and 1 + deep(n - 1)", ""]))
    monkeypatch.syspath_prepend(str(folder))
    settings()

    def function(f):
        np.seterr(over="raise")
        decimal.getcontext().rounding = decimal.ROUND_UP
        import setting_in_a_trial

        return f.assign(n=setting_in_a_trial.deep(3000), m=str(decimal.Decimal(1) / 3), over=np.geterr()["over"], rounding=decimal.getcontext().rounding)

    with np.errstate(), decimal.localcontext():
        state = np.geterr()["over"]
        with aside(), stopped():
            few = function(FRAME[:1])
        assert (sys.getrecursionlimit(), np.geterr()["divide"], decimal.getcontext().prec, random.random()) == (4321, "raise", 7, random.Random(5).random())
        assert (np.geterr()["over"], decimal.getcontext().rounding) == (state, decimal.ROUND_HALF_EVEN)
        assert few.iloc[0][["n", "m", "over", "rounding"]].to_list() == [3000, "0.3333334", "raise", decimal.ROUND_UP]
    assert capsys.readouterr().out == "imported\n"


def test_a_module_that_cannot_be_imported_raises_in_a_trial_as_without(home, tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "raising_in_a_trial.py").write_text("raise ImportError('needs another')\n")
    monkeypatch.syspath_prepend(str(folder))

    def function(f):
        try:
            import raising_in_a_trial
        except ImportError as error:
            return f.assign(n=str(error))
        return raising_in_a_trial

    assert actors.rows(function)(FRAME).n[0] == "needs another"
    assert ended() == "told"


def test_a_step_of_a_module_that_is_imported_writes_once(home, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = ["import pandas as pd", "from bigdebug import actors", f"LOG = {str(tmp_path / 'log')!r}", "@actors.rows", "def step(f):", "    f.to_csv(LOG, mode='a', header=False)", "    return f"]
    (tmp_path / "pipeline_of_a_user.py").write_text("\n".join([*lines, "step(pd.DataFrame({'x': range(30)}))", ""]))
    import_module("pipeline_of_a_user")
    assert len((tmp_path / "log").read_text().splitlines()) == 30
    assert ended() == "believed"


@pytest.mark.parametrize("stop", [SystemExit, KeyError, GeneratorExit, type("Own", (BaseException,), {})])
def test_what_ends_a_call_on_few_rows_ends_no_program(home, stop):
    def function(f):
        if len(f) < 60:
            raise stop("too few rows")
        return f

    assert len(actors.rows(function)(FRAME)) == 60
    assert f"it raised {stop.__name__} on 1 of its rows alone" in actors.steps()[-1].incomplete[-1]
    assert list(actors.generator(lambda records: iter(function(FRAME[: 60 * len(list(records))]).x), each=True)(["a", "b"]))
    with pytest.raises(stop):
        actors.rows(function)(FRAME[:3])


def test_who_interrupts_a_trial_interrupts_his_program(home):
    def function(f):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        actors.rows(function)(FRAME)
    assert not being_tried()
    with pytest.raises(KeyboardInterrupt):
        list(actors.generator(function, each=True)([1]))
    assert not being_tried()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("error", [TimeoutError, type("Over", (BaseException,), {})])
@pytest.mark.parametrize("kind", ["function", "method", "object"])
def test_an_alarm_that_was_set_ends_the_program_it_was_set_for(home, error, kind):
    class Handler:
        def rings(self, *_):
            raise error("over")

        __call__ = rings

    handler = {"function": lambda *_: Handler().rings(), "method": Handler().rings, "object": Handler()}[kind]
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for call in (lambda: actors.rows(lambda f: (time.sleep(0.02), f)[1])(FRAME), lambda: list(actors.generator(lambda records: (time.sleep(0.02) or each for each in records), each=True)([*range(40)]))):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(error, match="over"):
                call()
            assert not being_tried()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("kind", [Exception, BaseException, TimeoutError])
def test_what_another_thread_throws_ends_the_program_it_is_thrown_into(home, kind):
    deadline = kind if kind is TimeoutError else type("Deadline", (kind,), {})

    def slow(given):
        for _ in range(400):
            time.sleep(0.001)
        return given

    me = ctypes.c_ulong(threading.get_ident())
    for call in (lambda: actors.rows(slow)(FRAME), lambda: list(actors.generator(slow, each=True)([1, 2]))):
        timer = threading.Timer(0.05, lambda: ctypes.pythonapi.PyThreadState_SetAsyncExc(me, ctypes.py_object(deadline)))
        timer.start()
        with pytest.raises(deadline):
            call()
        timer.join()
        assert not being_tried()


def goes_on(kind, work, out):
    """Something that was started in a trial and writes, prints and raises behind it; what is there then."""
    go, wrote, before = threading.Event(), threading.Event(), {*threading.enumerate()}

    def later(say=print):
        go.wait(9)
        try:
            say("later")
            work.joinpath("later").write_text(str(being_tried()))
        finally:
            wrote.set()
        raise ValueError("of a trial")

    start = {"thread": lambda: threading.Thread(target=functools.partial(later)).start(), "timer": lambda: threading.Timer(0.001, later).start()}.get(kind)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with aside(), stopped():
            if start is not None:
                start()
            elif kind == "pool":
                pool.submit(later)
            else:  # as a package does that keeps a pool
                exec("pool.submit(str)", {"__name__": "pandas", "pool": pool})
        if kind == "pool of a package":
            pool.submit(later)
        print("mine")  # noqa: T201
        go.set()
        assert wrote.wait(9)
    for each in {*threading.enumerate()} - before:
        each.join()
    return [each.read_text() for each in work.iterdir()], *out.readouterr()


@pytest.mark.parametrize("kind", ["thread", "timer", "pool"])
def test_a_thread_that_a_trial_leaves_behind_does_nothing(home, tmp_path, capsys, kind):
    stream = sys.stdout
    assert goes_on(kind, tmp_path, capsys) == ([], "mine\n", "")
    assert sys.stdout is stream
    assert not being_tried()


def test_a_trial_is_over_for_workers_that_a_package_keeps(home, tmp_path, capsys):
    assert goes_on("pool of a package", tmp_path, capsys) == (["False"], "mine\nlater\n", "")


def test_what_is_written_in_a_trial_is_written_nowhere(home, tmp_path):
    with pytest.raises(Untried, match="writes 'none'"), aside(), stopped(), contextlib.suppress(BaseException):
        (tmp_path / "none").write_text("")
    assert not (tmp_path / "none").exists()


# ---- what a function sets -------------------------------------------------------------------------------------


def option(f):
    pd.set_option("display.max_rows", pd.get_option("display.max_rows") + 1)
    return f.assign(n=pd.get_option("display.max_rows"))


def precision(f):
    decimal.getcontext().prec += 1
    return f.assign(n=decimal.getcontext().prec)


def errors(f):
    return f.assign(n=np.seterr(divide="ignore")["divide"])


def depth(f):
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    return f.assign(n=sys.getrecursionlimit())


def digits(f):
    np.set_printoptions(precision=np.get_printoptions()["precision"] + 1)
    return f.assign(n=np.get_printoptions()["precision"])


def language(f):
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "C.UTF-8" if before == "C" else "C")
    return f.assign(n=before)


def waits(f):
    socket.setdefaulttimeout(2 * (socket.getdefaulttimeout() or 1))
    return f.assign(n=socket.getdefaulttimeout())


def collects(f):
    was = gc.isenabled(), gc.get_threshold()[0], gc.get_debug()
    gc.disable()
    gc.set_threshold(was[1] + 1)
    gc.set_debug(gc.DEBUG_UNCOLLECTABLE)
    return f.assign(n=str(was))


def called(f):
    threading.current_thread().name += "*"
    return f.assign(n=threading.current_thread().name)


def long_numbers(f):
    sys.set_int_max_str_digits(sys.get_int_max_str_digits() + 1)
    return f.assign(n=sys.get_int_max_str_digits())


def draws(f):
    return f.assign(n=np.random.rand(len(f)))


def samples(f):
    return f.sample(frac=1.0)


def imports_by_name(f):
    import_module("helpers_of_a_third").SEEN.append(1)
    return f.assign(n=len(imported("helpers_of_a_third").SEEN))


def evaluates(f):
    return f.eval("n = @numbered(x)")


def numbered(x):
    sys.modules["helpers_of_a_third"].SEEN.append(1)
    return x * 0 + len(sys.modules["helpers_of_a_third"].SEEN)


@pytest.fixture
def settings():
    depth, bits, precise = sys.getrecursionlimit(), np.random.get_bit_generator(), decimal.getcontext().prec
    threshold, name, long = gc.get_threshold(), threading.current_thread().name, sys.get_int_max_str_digits()

    def begin():
        sys.modules["helpers_of_a_third"] = types.ModuleType("helpers_of_a_third")
        sys.modules["helpers_of_a_third"].SEEN = []
        pd.reset_option("display.max_rows")
        decimal.getcontext().prec = precise
        sys.setrecursionlimit(depth)
        locale.setlocale(locale.LC_NUMERIC, "C")
        np.random.set_bit_generator(np.random.PCG64(1))
        socket.setdefaulttimeout(None)
        gc.enable()
        gc.set_threshold(*threshold)
        gc.set_debug(0)
        threading.current_thread().name = name
        sys.set_int_max_str_digits(long)

    yield begin
    begin()
    np.random.set_bit_generator(bits)


@pytest.mark.parametrize("function", [option, precision, errors, depth, digits, language, waits, collects, called, long_numbers, draws, samples, imports_by_name, evaluates])
def test_what_a_function_sets_for_all_it_sets_once(home, settings, function):
    with np.errstate(), np.printoptions():
        settings()
        wanted = function(FRAME)
    with np.errstate(), np.printoptions():
        settings()
        assert_frame_equal(actors.rows(function)(FRAME), wanted)


def test_a_profiler_that_a_trial_begins_ends_with_it():
    before = sys.getprofile()
    with aside():
        sys.setprofile(lambda *_: None)
    assert sys.getprofile() is before


class Numbering(abc.ABC):  # noqa: B024
    """Of a user's."""


def traces_memory(f):
    was = tracemalloc.is_tracing()
    tracemalloc.start()
    return f.assign(n=was)


def tells_of_faults(f):
    was = faulthandler.is_enabled()
    faulthandler.enable() if not was else faulthandler.disable()
    return f.assign(n=was)


def is_another(f):
    class Number:
        pass

    was = issubclass(int, Numbering)
    Numbering.register(int)
    Numbering.register(Number)
    return f.assign(n=was)


def stacks(f):
    return f.assign(n=threading.stack_size(1 << 20))


def replaces_what_is_no_text(f):
    try:
        codecs.lookup_error("of.a.test")
        was = True
    except LookupError:
        was = False
    codecs.register_error("of.a.test", codecs.replace_errors)
    return f.assign(n=was)


@pytest.mark.parametrize("function", [traces_memory, tells_of_faults, is_another, stacks, replaces_what_is_no_text])
def test_what_cannot_be_put_back_the_real_call_alone_sets(home, function):
    enabled, tracing = faulthandler.is_enabled(), tracemalloc.is_tracing()
    try:
        made = actors.rows(function)(FRAME)
    finally:
        threading.stack_size(0)
        if tracemalloc.is_tracing() and not tracing:
            tracemalloc.stop()
        if faulthandler.is_enabled() is not enabled:
            faulthandler.enable() if enabled else faulthandler.disable()
    assert made.n[0] == {traces_memory: tracing, tells_of_faults: enabled}.get(function, False)
    assert "it changes what holds of the whole process" in " ".join(actors.steps()[-1].incomplete)


def test_what_a_package_sets_for_itself_stays(home):
    class Number:
        pass

    scope = {"__name__": "pandas"}
    exec("def knows(kind, number):\n    kind.register(number)\n", scope)
    with aside(), stopped():
        scope["knows"](Numbering, Number)
    assert issubclass(Number, Numbering)


# ---- what a function says -------------------------------------------------------------------------------------


def test_nobody_hears_a_trial(home, monkeypatch):
    out, err, logged = io.TextIOWrapper(io.BytesIO()), io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    log = logging.getLogger("of.a.test")
    handler = logging.StreamHandler(logged)
    log.addHandler(handler)

    def loud(f):
        print("out")  # noqa: T201
        sys.stdout.writelines(["lines\n"])
        sys.stdout.flush()
        sys.stdout.buffer.write(b"bytes\n")
        print("err", file=sys.stderr)  # noqa: T201
        log.warning("logged")
        logging.getLogger("of.a.test").error("by name")
        warnings.warn("warned", UserWarning, stacklevel=1)
        return f

    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("default")
            filters, handle = [*warnings.filters], logging.Logger.handle
            actors.rows(loud)(FRAME)
            assert list(actors.generator(lambda records: (loud(each) for each in records), each=True)([1])) == [1]
            assert (sys.stdout, sys.stderr, warnings.filters, logging.Logger.handle) == (out, err, filters, handle)
    finally:
        log.removeHandler(handler)
    out.flush()
    assert out.buffer.getvalue() == b"out\nlines\nbytes\n" * 2
    assert err.getvalue().count("err\n") == 2
    assert [str(each.message) for each in warned] == ["warned"] * len(warned)
    assert 1 <= len(warned) <= 2  # by the real calls; once if pandas did not let Python forget it
    assert logged.getvalue() == "logged\nby name\n" * 2


def test_nothing_is_shown_in_a_notebook(home):
    context = zmq.Context()
    try:
        with context.socket(zmq.PAIR) as kernel, context.socket(zmq.PAIR) as notebook:
            kernel.bind("inproc://notebook")
            notebook.connect("inproc://notebook")
            session = Session()
            before = Session.send
            with aside(), stopped():
                session.send(kernel, "display_data", content={"data": "a bar of progress"})
            session.send(kernel, "display_data", content={"data": "of the user"})
            _, message = session.recv(notebook, mode=0)
            assert message["content"] == {"data": "of the user"}
            assert Session.send is before
    finally:
        context.term()


def test_a_connection_that_a_library_keeps_open_is_not_used(home):
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        kept = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=9)
        kept.request("GET", "/first")
        kept.getresponse().read()
        with pytest.raises(Untried, match="connects with another program"), aside(), stopped(), contextlib.suppress(BaseException):
            kept.request("GET", "/tried")
        kept.close()
        thread.join()
    assert asked == ["/first"]


def test_display_that_was_imported_is_not_called_twice(home):
    shown = []
    library = types.ModuleType("IPython.core.display_functions")
    library.__dict__["SHOWN"] = shown
    exec("def display(what):\n    SHOWN.append(what)\n", library.__dict__)
    scope = {"display": library.display, "__name__": "__main__"}
    exec("def function(f):\n    display(f)\n    return f\n", scope)
    actors.rows(scope["function"])(FRAME)
    assert (len(shown), ended()) == (1, "believed")
    own = {"input": lambda f: f, "__name__": "__main__"}
    exec("def function(f):\n    return input(f)\n", own)
    actors.rows(own["function"])(FRAME)
    assert ended() == "told"  # a function of the user's of that name


def test_overlapping_trials_leave_streams_and_warnings_as_they_were(home):
    out, filters, handle, opened = sys.stdout, [*warnings.filters], logging.Logger.handle, builtins.open

    def run():
        for _ in range(3):
            actors.rows(lambda f: (time.sleep(0.001), f)[1])(FRAME)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (sys.stdout, [*warnings.filters], logging.Logger.handle, builtins.open) == (out, filters, handle, opened)


@pytest.mark.slow
def test_threads_that_print_while_others_are_tried_do_not_end_the_process(tmp_path):
    """``print`` of Python 3.11 holds no reference to the stream that it writes to."""
    script = """
import sys
from concurrent.futures import ThreadPoolExecutor
import pandas as pd
from bigdebug import actors

def step(number):
    return actors.rows(lambda frame: (print("said"), frame)[1])(pd.DataFrame({"x": range(60)}))

for _ in range(12):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(step, range(8)))
assert type(sys.stdout).__name__ == type(sys.stderr).__name__ == "TextIOWrapper"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env={**os.environ, "BIGDEBUG_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr, done.stdout.count("said")) == (0, "", 96)


def test_what_others_say_meanwhile_is_heard(home, capsys):
    with aside():
        thread = threading.Thread(target=lambda: print("mine"))  # noqa: T201
        thread.start()
        thread.join()
        print("mine")  # noqa: T201
    assert capsys.readouterr().out == ""
    trying, said = threading.Event(), threading.Event()

    def other():
        trying.wait(9)
        print("another's")  # noqa: T201
        warnings.warn("another's", UserWarning, stacklevel=1)
        with open(os.path.join(tempfile.mkdtemp(), "file"), "w") as file:
            file.write("x")
        said.set()

    thread = threading.Thread(target=other)
    thread.start()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with aside():
            trying.set()
            assert said.wait(9)
            thread.join()
    assert capsys.readouterr().out == "another's\n"
    assert [str(each.message) for each in warned] == ["another's"]


def test_spark_is_not_asked_by_a_trial(home):
    scope = {"__name__": "__main__"}
    exec("from pyspark.sql import SparkSession\ndef function(f):\n    SparkSession.getActiveSession()\n    return f\n", scope)
    actors.rows(scope["function"])(FRAME)
    assert ended() == "believed"
    exec("def function(f):\n    import pyspark.sql\n    return f\n", scope)
    actors.rows(scope["function"])(FRAME)
    assert ended() == "believed"


# ---- how long it takes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [20, 60])
def test_a_function_that_takes_long_is_tried_on_fewer_rows(home, monkeypatch, count):
    monkeypatch.setattr(promises, "MOST_SECONDS", 1.2)

    def slow(f):
        time.sleep(0.8)
        return f

    actors.rows(slow)(FRAME[:count])
    assert ended() == "told"
    few = re.fullmatch(rf"what was promised was tried on (\d+) of {count} rows", actors.steps()[-1].believed)
    assert int(few[1]) < {20: 20, 60: 31}[count]  # so many it would be


def test_a_generator_that_takes_long_is_tried_on_fewer_records(home, monkeypatch):
    monkeypatch.setattr(tried, "MOST_SECONDS", 1.2)

    def slow(records):
        time.sleep(0.8)
        yield from records

    assert list(actors.generator(slow, each=True)([*range(9)])) == [*range(9)]
    assert ended() == "told"
    few = re.match(r"what was promised was tried on (\d) of 9 records", actors.steps()[-1].believed)
    assert int(few[1]) < 8


def test_of_many_outputs_of_a_record_few_are_held(home):
    tracemalloc.start()
    try:
        count = sum(1 for _ in actors.generator(lambda records: ((each, n, "x" * 9) for each in records for n in range(20_000)), each=True)([1, 2]))
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()
    assert count == 40_000
    assert ended() != "refused"


def test_what_is_written_on_a_frame_is_not_copied_for_each_column(home):
    class Model:
        copied = 0

        def __deepcopy__(self, memory):
            Model.copied += 1
            return self

    frame = pd.DataFrame({f"c{n}": range(60) if n % 2 else [f"t{n}"] * 60 for n in range(40)})
    sums = actors.groups(lambda f: f.groupby("c1", as_index=False).c3.sum(), by="c1")
    for function, given in ((actors.rows(lambda f: f[f.c1 > 3]), frame.copy()), (sums, frame.copy()), (actors.rows(lambda s: s * 2), frame.c1.copy())):
        given.attrs = {"lock": threading.Lock()}
        assert len(actors.rows(lambda f: f)(given)) == 60
        assert ended() == "believed"
        given.attrs = {"model": Model(), "list": [1]}
        Model.copied = 0
        plain = function.__wrapped__(given)
        taken, Model.copied = Model.copied, 0
        made = function(given)
        assert (ended(), len(made), made.attrs["list"]) == ("told", len(plain), plain.attrs["list"])
        assert Model.copied < 12 * taken + 12


@pytest.mark.skipif(pd.__version__ >= "3", reason="pandas has that one mode of copying alone")
@pytest.mark.parametrize("mode", [True, "warn"])
@pytest.mark.parametrize("step", [actors.rows, partial(actors.rows, check=False), partial(actors.groups, by="v"), actors.whole], ids=["rows", "unchecked", "groups", "whole"])
def test_a_frame_with_something_written_on_it_is_changed_in_place_as_it_is_without(home, step, mode):
    def function(f):
        f.loc[f.v > 1, "v"] = 1
        return f

    seen = []
    with pd.option_context("mode.copy_on_write", mode):
        for each in (function, step(function)):
            frame = pd.DataFrame({"v": [1, 2, 3]})
            frame.attrs["source"] = "x"
            column = frame["v"].to_numpy()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                each(frame)
            seen.append((column.tolist(), [str(each.message) for each in told]))
    assert seen[0] == seen[1] == ([1, 1, 1], [])


@pytest.mark.skipif(pd.__version__ >= "3", reason="there texts are always taken for such")
@pytest.mark.parametrize("by", ["k", ["k", "v"]])
def test_keys_that_are_objects_are_not_taken_for_texts(home, by):
    def function(f):
        return f.groupby(by, dropna=False).n.sum().reset_index()

    frame = pd.DataFrame({"k": pd.Series(["a", None, "b"] * 3, dtype=object), "v": [1, 2, 3] * 3, "n": range(9)})
    with pd.option_context("future.infer_string", True), warnings.catch_warnings():
        warnings.simplefilter("error")
        actors.groups(function, by=by)(frame)
    assert ended() == "told"


# ---- how loggers are set --------------------------------------------------------------------------------------

LOG = logging.getLogger("of.a.test.that.sets")
HANDLER = logging.StreamHandler(io.StringIO())

SETS = {
    "a handler": lambda: LOG.addHandler(logging.NullHandler()),
    "no handler": lambda: LOG.removeHandler(LOG.handlers[0]),
    "in its list": lambda: LOG.handlers.append(logging.NullHandler()),
    "another list": lambda: setattr(LOG, "handlers", [*LOG.handlers, logging.NullHandler()]),
    "a filter": lambda: LOG.addFilter(lambda record: True),
    "a level": lambda: LOG.setLevel(LOG.level + 1),
    "not upwards": lambda: setattr(LOG, "propagate", not LOG.propagate),
    "not at all": lambda: setattr(LOG, "disabled", not LOG.disabled),
    "all": lambda: logging.disable(logging.root.manager.disable + 1),
    "a handler's level": lambda: LOG.handlers[0].setLevel(LOG.handlers[0].level + 1),
    "a handler's filter": lambda: LOG.handlers[0].addFilter(logging.Filter("x")),
    "by name": lambda: logging.getLogger("of.a.test.that.sets").addHandler(logging.NullHandler()),
    "the root": lambda: logging.getLogger().addHandler(logging.NullHandler()),
    "once": lambda: hasattr(logging.getLogger("of.a.test.once"), "set") or (setattr(logging.getLogger("of.a.test.once"), "set", True), LOG.addHandler(logging.NullHandler())),
}


def as_first():
    LOG.handlers, LOG.filters, LOG.propagate, LOG.disabled, HANDLER.filters = [HANDLER], [], True, False, []
    for each in (LOG, HANDLER):
        each.setLevel(logging.NOTSET)
    logging.root.handlers[:] = [each for each in logging.root.handlers if type(each) is not logging.NullHandler]
    logging.disable(logging.NOTSET)
    vars(logging.getLogger("of.a.test.once")).pop("set", None)


def how_set():
    return [(each.level, each.propagate, each.disabled, len(each.handlers), len(each.filters)) for each in (LOG, logging.root)], HANDLER.level, len(HANDLER.filters), logging.root.manager.disable


@pytest.fixture
def loggers():
    as_first()
    yield
    as_first()
    LOG.handlers.clear()


@pytest.mark.parametrize("sets", SETS)
def test_a_logger_is_set_by_the_real_call_alone(home, loggers, sets):
    sets, first = SETS[sets], how_set()

    def step(frame):
        sets()
        LOG.warning("a line")
        return frame[frame.x > 3]

    sets()
    plain = how_set()
    assert plain != first
    as_first()
    actors.rows(step)(FRAME)
    assert how_set() == plain
    assert LOG.isEnabledFor(logging.WARNING) is not (LOG.disabled or logging.root.manager.disable >= logging.WARNING)
    assert "not tried" not in str((actors.steps(home)[-1].incomplete, actors.steps(home)[-1].believed))


def test_what_others_set_while_a_function_is_tried_stays(loggers, tmp_path, monkeypatch):
    (tmp_path / "sets_when_imported.py").write_text("import logging\nlogging.getLogger('of.a.test.that.sets').addHandler(logging.NullHandler())\n")
    monkeypatch.syspath_prepend(tmp_path)
    root = logging.root.level
    with concurrent.futures.ThreadPoolExecutor(1) as other:
        other.submit(int).result()
        with aside():
            other.submit(LOG.addHandler, logging.NullHandler()).result()
            logging.root.setLevel(logging.root.level + 1)
    assert (len(LOG.handlers), logging.root.level) == (2, root)
    with aside():
        import sets_when_imported  # noqa: F401
    assert len(LOG.handlers) == 3


@pytest.mark.parametrize("first", [0, 1])
def test_what_two_trials_set_in_vain_at_once_is_as_before_both(loggers, first):
    before, went, done = how_set(), threading.Barrier(2), [threading.Event(), threading.Event()]

    def tries(number):
        if number == 1:
            went.wait()
        with aside():
            LOG.addHandler(logging.NullHandler())
            LOG.setLevel(LOG.level + 1)
            if number == 0:
                went.wait()
            went.wait()  # now both have set it, and the second began where the first had
            if number != first:
                done[first].wait()
        done[number].set()

    threads = [threading.Thread(target=tries, args=(number,)) for number in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert how_set() == before


def test_loggers_with_attributes_of_the_users_are_not_shared():
    assert fixed(LOG)
    LOG.seen = []
    assert not fixed(LOG)
    del LOG.seen
    assert not fixed(logging.Logger("of.nobody"))

"""Steps over frames leave pandas as it is without them: what it shares and what it copies, what it warns of, and of whose line it says so."""

import os
import sys
import traceback
import warnings
from functools import partial

import pandas as pd
import pytest

from bigdebug import actors


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def told_by(call):
    """What it warns of, always."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in told]


MAKES = {
    "rows": actors.rows, "rows, believed": actors.rows(check=False), "whole": actors.whole, "groups": actors.groups(by="k"),
    "groups, believed": actors.groups(by="k", check=False), "groups of texts": actors.groups(by="t"), "groups of both": actors.groups(by=["t", "k"]),
}


@pytest.mark.parametrize("attrs", [{}, {"source": "x"}])
@pytest.mark.parametrize("mode", ["warn", True] if pd.__version__ < "3" else [True])
@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_what_is_changed_in_place_is_changed_where_it_is(make, mode, attrs):
    def zeros(frame):
        frame.loc[frame.k > 1, "k"] = 0
        return frame

    with pd.option_context("mode.copy_on_write", mode):
        for given in (pd.DataFrame({"k": range(1, 40), "t": list("abc") * 13}), pd.DataFrame({"k": range(1, 3), "t": ["a", "b"]})):
            given.attrs = attrs
            step, memory = make(zeros), given["k"].to_numpy()
            assert not told_by(lambda given=given, step=step: step(given))
            assert memory.tolist() == given.k.tolist() == [1] + [0] * (len(given) - 1)


KEYS = {
    "nulls": ["a", None, "b"] * 3, "many": [str(n % 50) for n in range(9_000)], "objects": ["a", 1, ("b", 2)] * 3, "times": [pd.Timestamp(0), None] * 4, "integers": [1, 2] * 3,
    "categories": pd.Categorical(["a", "b", None] * 2),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("names", ["k", ["k", "n"]])
@pytest.mark.filterwarnings("error")
def test_pandas_makes_no_other_keys_of_objects_where_it_makes_texts_of_them(home, name, names):
    cells = KEYS[name] if name == "categories" else pd.Series(KEYS[name], dtype=object)
    with pd.option_context("future.infer_string", True):
        frame = pd.DataFrame({"k": cells, "n": 1, "v": range(len(cells))})
        actors.groups(lambda f: f.groupby(names, observed=True, sort=False).v.sum().reset_index(), by=names)(frame)
        actors.rows(lambda f: f[f.v > 1])(frame)
        actors.merge(frame, frame, on=names)
    assert all("has no lineage" not in why for step in actors.steps(home) for why in step.incomplete)


def stale(frame):
    warnings.warn("stale", DeprecationWarning, stacklevel=2)
    return frame


def hands_to(function):
    def call(frame):
        return function(frame)

    return call


def stale_records(records):
    warnings.warn("stale", DeprecationWarning, stacklevel=2)
    yield from records


def all_of(function):
    def call(records):
        return list(function(records))

    return call


class Telling(pd.DataFrame):
    def to_csv(self, *args, **options):
        warnings.warn("odd", stacklevel=2)
        return super().to_csv(*args, **options)

    @property
    def _constructor(self):
        return Telling


FRAME = pd.DataFrame({"k": [1, 2], "v": [1.0, 2.0]})
SAYS = {
    "reader": (pd.read_csv, actors.read_csv, lambda path: (path,), {"parse_dates": ["k"], "infer_datetime_format": True}),
    "merge": (pd.merge, actors.merge, lambda path: (FRAME, pd.DataFrame({"k": [1.5, 2.0]})), {"on": "k"}),
    "writer": (Telling.to_csv, actors.to_csv, lambda path: (Telling(FRAME), path), {}),
    "rows": (stale, actors.rows(stale), lambda path: (FRAME.copy(),), {}),
    "whole": (stale, actors.whole(stale), lambda path: (FRAME.copy(),), {}),
    "generator": (stale, actors.generator(stale), lambda path: ([1, 2],), {}),
    "generator function": (all_of(stale_records), all_of(actors.generator(stale_records)), lambda path: ([1, 2],), {}),
    "generator function, each": (all_of(stale_records), all_of(actors.generator(stale_records, each=True)), lambda path: ([1, 2],), {}),
    "a step within one": (hands_to(stale), actors.rows(hands_to(actors.rows(stale))), lambda path: (FRAME.copy(),), {}),
}


OF_PANDAS_2 = pytest.mark.skipif(pd.__version__ >= "3", reason="what pandas 2 warns of")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[OF_PANDAS_2] if name in ("reader", "merge") else []) for name in SAYS])
def test_what_is_warned_of_is_said_of_the_line_that_calls_the_step(name, tmp_path):
    path, found = tmp_path / "a.csv", []
    FRAME.to_csv(path, index=False)
    plain, step, given, options = SAYS[name]
    for call in (plain, step):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            for _ in range(2):
                call(*given(path), **options)
            call(*given(path), **options)
        found.append([(each.filename, each.lineno, str(each.message)) for each in told])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", module=__name__.replace(".", r"\."))
            with pytest.raises(Warning, match=found[-1][0][2][:20]):
                call(*given(path), **options)
    assert found[0] == found[1]
    assert {file for file, _, _ in found[1]} == {__file__}


@OF_PANDAS_2
def test_what_pandas_calls_warns_of_the_line_that_called_pandas(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for read in (pd.read_csv, actors.read_csv):
        read = partial(read, **SAYS["reader"][3])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pd.Series([tmp_path / "a.csv"]).pipe(lambda paths, read=read: read(paths[0]))
            pd.Series([tmp_path / "a.csv"]).map(read)
        assert len(told) > 1
        assert {each.filename for each in told} == {__file__}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tracebacks say nothing of columns")
def test_a_traceback_underlines_nothing_else_on_the_line_that_calls_a_step(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        actors.read_csv(tmp_path / "nowhere.csv")
    first, second = (each for each in traceback.extract_tb(raised.tb) if each.filename == __file__)
    assert first.lineno == second.lineno
    assert first.name == second.name
    assert second.colno is None


def test_a_step_that_is_forgotten_while_it_runs_gives_what_it_gives(caplog):
    """Somebody tidies up in another shell."""
    @actors.rows(check=False)
    def slow(frame):
        for step in actors.steps():
            actors.forget(step)
        return frame.assign(m=1)

    assert list(slow(pd.DataFrame({"n": [1, 2]})).columns) == ["n", "m"]
    assert "is not captured" in caplog.text
    assert "somebody forgot it" in caplog.text
    assert actors.steps() == []


def test_a_generator_that_two_processes_go_through_behind_a_fork_gives_both_what_it_gives(caplog):
    def each(records):
        yield from records

    going = actors.generator(each)([1, 2, 3])
    assert next(going) == 1
    child = os.fork()
    if not child:
        os._exit(list(going) != [2, 3])
    status = os.waitpid(child, 0)[1]
    assert status == 0
    assert list(going) == [2, 3]
    assert "committed in another process" in caplog.text


def test_a_program_needs_no_temporary_directory(tmp_path, monkeypatch):
    """It is full, or nobody may write there."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    (tmp_path / "a").write_text("b\na\n")
    assert actors.program(["sort", "-o", "b", "a"], reads="a", writes="b", cwd=tmp_path).returncode == 0

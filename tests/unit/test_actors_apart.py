"""Trials leave the user's result alone: whatever a function remembers, a step gives what the plain call gives; what cannot be copied for certain is not tried, and that is said."""

import builtins
import collections
import concurrent.futures
import copyreg
import ctypes
import dataclasses
import enum
import functools
import gc
import importlib.util
import itertools
import os
import random
import sys
import tempfile
import threading
import time
import types
import weakref
from pathlib import Path
from random import Random
from random import random as drawn
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.fs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import random as npr
from numpy.random import rand
from pandas.testing import assert_frame_equal
from pyarrow.fs import copy_files
from pyspark.ml.linalg import Matrices, Vectors
from pyspark.sql import Row
from tqdm import tqdm

from bigdebug import actors
from bigdebug.actors.apart import Apart, Copies
from bigdebug.actors.aside import being_tried
from bigdebug.actors.codes import Untried
from bigdebug.actors.room import Room
from bigdebug.errors import IncompleteLineageError
from bigdebug.trace.across.located import Located, Unit


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


FRAME = pd.DataFrame({"x": np.arange(60.0), "city": [f"c{n % 7}" for n in range(60)], "k": np.repeat([0, 1, 2], 20)})


def ended():
    """How the last step ended: told, believed, or refused."""
    step = actors.steps()[-1]
    try:
        step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [0])])
    except IncompleteLineageError:
        return "refused"
    return "believed" if any("was not tried" in each for each in step.incomplete) else "told"


def note():
    return next(each for each in actors.steps()[-1].incomplete if "was not tried" in each)


# ---- what a function remembers --------------------------------------------------------------------------------


def codes():
    known = {}
    return lambda f: f.assign(c=[known.setdefault(each, len(known)) for each in f.city])


def own_generator():
    rng = np.random.default_rng(0)
    return lambda f: f.assign(n=rng.normal(size=len(f)))


def own_random():
    chance = Random(0)
    return lambda f: f.assign(n=[chance.random() for _ in range(len(f))])


def random_state():
    chance = np.random.RandomState(0)
    return lambda f: f.assign(n=chance.rand(len(f)))


def bound_draw():
    draw = Random(0).random
    return lambda f: f.assign(n=[draw() for _ in range(len(f))])


def counter():
    count = itertools.count()
    return lambda f: f.assign(n=[next(count) for _ in range(len(f))])


def nonlocal_counter():
    calls = 0

    def function(f):
        nonlocal calls
        calls += 1
        return f.assign(n=calls)

    return function


def cached_max():
    cache = {}

    def function(f):
        if "max" not in cache:
            cache["max"] = f.x.max()
        return f.assign(n=f.x / cache["max"])

    return function


def seen_before():
    seen = set()

    def function(f):
        fresh = f[~f.city.isin(seen)]
        seen.update(f.city)
        return fresh

    return function


def default_value():
    def function(f, known={}):  # noqa: B006
        return f.assign(c=[known.setdefault(each, len(known)) for each in f.city])

    return function


def attribute():
    def function(f):
        function.calls = getattr(function, "calls", 0) + 1
        return f.assign(n=function.calls)

    return function


class Scaler:
    def __init__(self):
        self.calls = collections.Counter()

    def once(self, f):
        self.calls["once"] += 1
        if not hasattr(self, "mean"):
            self.mean = f.x.mean()
        return f.assign(n=f.x - self.mean, calls=self.calls["once"])

    __call__ = once


def partial_list():
    return functools.partial(lambda found, f: f.assign(n=[found.append(1) or len(found) for _ in range(len(f))]), [])


def decorated():
    calls = []

    def logged(inner):
        @functools.wraps(inner)
        def call(f):
            calls.append(len(f))
            return inner(f).assign(n=len(calls))

        return call

    return logged(lambda f: f[f.x > 3])


def recursive():
    depths = []

    def down(f, n=3):
        depths.append(n)
        return down(f, n - 1) if n else f.assign(n=len(depths))

    return down


def lru_cached():
    @functools.lru_cache
    def number(city):
        numbers.append(city)
        return len(numbers)

    numbers = []
    return lambda f: f.assign(n=[number(each) for each in f.city])


def frame_in_closure():
    memory = pd.DataFrame({"n": [0.0]})

    def function(f):
        memory.loc[0, "n"] += len(f)
        return f.assign(n=memory.n[0])

    return function


def array_and_its_view():
    base = np.zeros(4)
    view = base[1:3]

    def function(f):
        view[0] += len(f)
        return f.assign(n=base[1])

    return function


def bound_append():
    found = []
    add = found.append
    return lambda f: (add(len(f)), f.assign(n=len(found)))[1]


def two_share():
    held = [[], None]
    held[1] = held[0]

    def function(f):
        held[0].append(1)
        return f.assign(n=len(held[1]))

    return function


def global_random():
    random.seed(3)
    return lambda f: f.assign(n=[random.random() + drawn() for _ in range(len(f))])


def global_numpy():
    np.random.seed(3)
    return lambda f: f.assign(n=np.random.rand(len(f)))


def sampled():
    np.random.seed(3)
    return lambda f: f.sample(frac=1.0).assign(n=len(f))


COUNTS = {"calls": 0}
CALLS = 0


def _helper(f):
    COUNTS["calls"] += 1
    return f


def globals_of_a_helper():
    COUNTS["calls"] = 0
    return lambda f: _helper(f).assign(n=COUNTS["calls"])


def global_number():
    global CALLS  # noqa: PLW0603
    CALLS = 0

    def function(f):
        global CALLS  # noqa: PLW0603
        CALLS += 1
        return f.assign(n=CALLS)

    return function


class Tally:
    count = 0


def class_attribute():
    Tally.count = 0

    def function(f):
        Tally.count += 1
        Tally.last = len(f)
        return f.assign(n=Tally.count)

    return function


def users_module():
    module = sys.modules["helpers_of_a_user"] = types.ModuleType("helpers_of_a_user")
    exec("SEEN = []\ndef number(f):\n    SEEN.append(len(f))\n    return f.assign(n=len(SEEN))\n", module.__dict__)
    scope = {"helpers_of_a_user": module, "__name__": "__main__"}
    exec("def function(f):\n    return helpers_of_a_user.number(f).assign(m=len(helpers_of_a_user.SEEN))\n", scope)
    return scope["function"]


class Kind(enum.Enum):
    ONE = 1


def enum_member():
    vars(Kind.ONE).pop("calls", None)

    def function(f):
        Kind.ONE.calls = getattr(Kind.ONE, "calls", 0) + 1
        return f.assign(n=Kind.ONE.calls)

    return function


def class_method():
    class Numbers:
        last = 0

        @classmethod
        def number(cls, f):
            cls.last += len(f)
            return f.assign(n=cls.last)

    return Numbers.number


def own_iterator():
    class Numbers:
        def __init__(self):
            self.last = 0

        def __next__(self):
            self.last += 1
            return self.last

    numbers = Numbers()
    return lambda f: f.assign(n=[next(numbers) for _ in range(len(f))])


def default_of_a_counter():
    numbers = collections.defaultdict(itertools.count().__next__)
    return lambda f: f.assign(n=[numbers[each] for each in f.city])


def arrays():
    held = [pd.array([1, 2], dtype="Int64"), np.ma.array([0, 1]), np.zeros(1, [("a", int)])[0], np.array([[], {}], dtype=object)]

    def function(f):
        held[0][0] += len(f)
        held[1][0] += 1
        held[2]["a"] += 1
        held[3][0].append(1)
        return f.assign(n=held[0][0], m=held[1][0], o=held[2]["a"], p=len(held[3][0]))

    return function


def grouped():
    memory = pd.DataFrame({"a": [0, 0], "b": [1.0, 2.0]})
    by = memory.groupby("a")

    def function(f):
        memory.loc[0, "b"] += len(f)
        return f.assign(n=by.b.sum()[0])

    return function


def in_threads():
    seen = []

    def function(f):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(seen.append, range(len(f))))
        return f.assign(n=len(seen))

    return function


class Slotted:
    __slots__ = ("calls",)

    def __init__(self):
        self.calls = []


def slotted():
    held = Slotted()
    return lambda f: (held.calls.append(1), f.assign(n=len(held.calls)))[1]


@dataclasses.dataclass
class Notes:
    calls: list = dataclasses.field(default_factory=list)
    limit: float = 3.0


def dataclass_held():
    notes = Notes()
    return lambda f: (notes.calls.append(1), f[f.x > notes.limit].assign(n=len(notes.calls)))[1]


def subclass_held():
    class Memory(dict):
        total = 0

        def __missing__(self, name):
            self[name] = len(self)
            return self[name]

    memory = Memory()
    return lambda f: f.assign(c=[memory[each] for each in f.city])


def drawn_by_name():
    np.random.seed(3)
    return lambda f: f.assign(n=rand(len(f)) + npr.normal(size=len(f)))


def seeds():
    return lambda f: (np.random.seed(1), random.seed(1), f.assign(n=np.random.rand(len(f)) + random.random()))[2]


def attributes_of_the_frame():
    return lambda f: (f.attrs.setdefault("seen", []).append(len(f)), setattr(f.columns, "name", (f.columns.name or 0) + 1), f.assign(n=len(f.attrs["seen"])))[2]


def step_that_calls_itself():
    depths = []

    @actors.rows
    def down(f, n=2):
        depths.append(n)
        return down(f, n - 1) if n else f.assign(n=len(depths))

    return down.__wrapped__


def module_that_computes_its_attributes():
    module = sys.modules["helpers_that_compute"] = types.ModuleType("helpers_that_compute")
    exec("SEEN = []\ndef __getattr__(name):\n    SEEN.append(name)\n    if name != 'COUNT':\n        raise AttributeError(name)\n    return len(SEEN)\n", module.__dict__)
    scope = {"helpers_that_compute": module, "__name__": "__main__"}
    exec("def function(f):\n    return f.assign(n=helpers_that_compute.COUNT)\n", scope)
    return scope["function"]


def module_named_as_one_of_python():
    module = sys.modules["profile"] = types.ModuleType("profile")
    module.__file__ = "/home/somebody/pipeline/profile.py"
    exec("SEEN = []\ndef number(f):\n    SEEN.append(len(f))\n    return f.assign(n=len(SEEN))\n", module.__dict__)
    scope = {"profile": module, "__name__": "__main__"}
    exec("def function(f):\n    return profile.number(f)\n", scope)
    return scope["function"]


def class_of_the_frame():
    pd.DataFrame.calls_of_a_frame = 0

    def function(f):
        type(f).calls_of_a_frame += 1
        return f.assign(n=f.calls_of_a_frame)

    return function


REMEMBERING = [
    module_that_computes_its_attributes, module_named_as_one_of_python, class_of_the_frame,
    codes, own_generator, own_random, random_state, bound_draw, counter, nonlocal_counter, cached_max, seen_before, default_value, attribute, lambda: Scaler().once, Scaler, partial_list,
    decorated, recursive, lru_cached, frame_in_closure, array_and_its_view, bound_append, two_share, global_random, global_numpy, sampled, globals_of_a_helper, global_number,
    class_attribute, users_module, slotted, dataclass_held, subclass_held, drawn_by_name, seeds, attributes_of_the_frame, step_that_calls_itself,
    enum_member, class_method, own_iterator, default_of_a_counter, arrays, grouped, in_threads,
]


@pytest.fixture
def as_it_was():
    yield
    sys.modules.pop("helpers_that_compute", None)
    sys.modules.pop("profile", None)
    if hasattr(pd.DataFrame, "calls_of_a_frame"):
        del pd.DataFrame.calls_of_a_frame


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.parametrize("make", REMEMBERING)
def test_a_step_gives_what_the_plain_call_gives_twice(home, make):
    plain = make()
    expected = [plain(FRAME.copy()), plain(FRAME.copy())]
    step = actors.rows(make(), name="step")
    for wanted in expected:
        assert_frame_equal(step(FRAME.copy()), wanted)
        assert ended() != "believed"


@pytest.mark.parametrize("make", [codes, own_generator, counter, cached_max, lambda: Scaler().once, partial_list])
def test_lineage_of_what_numbers_its_rows_is_refused(home, make):
    actors.rows(make(), name="step")(FRAME.copy())
    assert ended() == "refused"


@pytest.mark.parametrize("make", [nonlocal_counter, attribute, globals_of_a_helper, class_attribute, users_module])
def test_what_counts_its_calls_gives_each_row_the_same_alone(home, make):
    for _ in range(2):  # each copy remembers what the function does when it is called
        actors.rows(make(), name="step")(FRAME.copy())
        assert ended() == "told"


def test_a_function_that_only_reads_what_it_holds_is_tried_and_told(home):
    table, rates, wanted, model = {f"c{n}": n for n in range(7)}, np.arange(60.0), ["c1", "c2"], types.SimpleNamespace(coef={"x": 2.0})
    lookup = pd.DataFrame({"city": [*table], "pop": range(7)}).set_index("city")

    def function(f):
        kept = f[f.city.isin(wanted)]
        return kept.assign(n=kept.city.map(table), m=kept.x * model.coef["x"], r=rates[kept.x.astype(int)], pop=kept.city.map(lookup["pop"]))

    assert_frame_equal(actors.rows(function)(FRAME), function(FRAME))
    assert ended() == "told"


def test_groups_that_remember(home):
    def make():
        numbers = {}
        return lambda f: f.groupby("k", as_index=False).x.sum().assign(n=lambda g: [numbers.setdefault(each, len(numbers)) for each in g.k])

    expected = make()(FRAME)
    assert_frame_equal(actors.groups(make(), by="k")(FRAME), expected)
    assert ended() == "refused"


def test_classes_are_as_they_were_before_a_trial(home):
    function = class_attribute()
    Tally.last = "last"
    with Copies().of(function) as (copy,):
        assert copy(FRAME).n[0] == 1
    assert (Tally.count, Tally.last) == (0, "last")


# ---- generators -----------------------------------------------------------------------------------------------


def numbering():
    count = itertools.count(1)

    def number(records):
        for record in records:
            yield next(count), record

    return number


def unique():
    seen = set()

    def fresh(records):
        for record in records:
            if record not in seen:
                seen.add(record)
                yield record

    return fresh


class Deduped:
    def __init__(self):
        self.seen = set()

    def __call__(self, records):
        for record in records:
            if record not in self.seen:
                self.seen.add(record)
                yield record


@pytest.mark.parametrize("make", [numbering, unique, Deduped, lambda: functools.partial(lambda held, records: (held.append(each) or len(held) for each in records), [])])
def test_generators_give_what_they_give_without(home, make, tmp_path):
    records = ["a\n", "b\n", "a\n", "c\n", "b\n"] * 4
    plain, step = make(), actors.generator(make(), each=True)
    for _ in range(2):
        assert list(step(list(records))) == list(plain(list(records)))
    plain, (tmp_path / "in").write_text("".join(records))
    wanted = "".join(map(str, make()(iter(records))))
    fresh = make()
    actors.lines(lambda given: map(str, fresh(given)), each=True)(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out").read_text() == wanted


def test_a_generator_that_numbers_is_refused(home):  # copies of the same beginning: one copy would number the records as the function does
    list(actors.generator(numbering(), each=True)(["a", "b"]))
    assert "has no lineage" in str(actors.steps()[-1].incomplete)


class Counting:
    """Counts how often it is copied, and leaves out what it counts."""

    def __init__(self):
        self.copied = 0
        self.calls = []

    def __getstate__(self):
        self.copied += 1
        return {}

    def number(self, f):
        self.calls.append(1)
        return f.assign(n=self.copied, m=len(self.calls))


class Locking:
    """Cannot be copied by its attributes, and says how to make a whole one."""

    def __init__(self):
        self.lock, self.weight, self.copied = threading.Lock(), 2.0, 0

    def __getstate__(self):
        return {name: each for name, each in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state):
        self.__dict__.update(state, lock=threading.Lock())

    def predict(self, f):
        with self.lock:
            return f.assign(n=f.x * self.weight, copied=self.copied, locked=hasattr(self, "lock"))


class Changed(Locking):
    def __getstate__(self):
        self.copied += 1
        self.__dict__.pop("lock")
        return self.__dict__


class Memory(dict):
    def __getstate__(self):
        return None


def memory():
    held = Memory()
    return lambda f: f.assign(n=held.setdefault("n", len(held)))


def test_an_object_that_says_how_to_make_a_whole_one_is_copied_so_and_one_that_changes_by_it_is_not_tried(home):
    for make, how in ((Locking, "told"), (Changed, "believed")):
        plain, step = make(), make()
        wanted = plain.predict(FRAME)
        assert_frame_equal(actors.rows(step.predict)(FRAME), wanted)
        assert ended() == how


@pytest.mark.parametrize("kind", [Locking, Changed, Counting])
def test_outputs_of_a_generator_are_not_touched(home, kind):
    given = list(actors.generator(lambda records: (kind() for _ in records), each=True)([1, 2, 3]))
    assert [each.__dict__.keys() for each in given] == [kind().__dict__.keys()] * 3
    assert [each.copied for each in given] == [0, 0, 0]
    assert ended() == ("told" if kind is Counting else "refused")  # locks are the same to nobody


class Registered:
    def __init__(self):
        self.copied = 0

    def number(self, f):
        return f.assign(n=self.copied)


def _reduced(value):
    value.copied += 1
    return Registered, ()


copyreg.pickle(Registered, _reduced)


def helper_module():
    module = sys.modules["typing_helpers"] = types.ModuleType("typing_helpers")
    exec("class Memory:\n    def __init__(self):\n        self.calls = 0\n", module.__dict__)
    memory = module.Memory()

    def function(f):
        memory.calls += 1
        return f.assign(n=memory.calls)

    return function


def typed():
    def cast(inner):
        return lambda f: inner(f.astype(inner.__annotations__))

    def function(f):
        return f

    function.__annotations__ = {"x": int}
    return cast(function)


class Pair(NamedTuple):
    calls: list
    limit: int


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    calls: list


def frozen():
    pair, held = Pair([], 3), Frozen([])
    return lambda f: (pair.calls.append(1), held.calls.append(1), f[f.x > pair.limit].assign(n=len(pair.calls) + len(held.calls)))[2]


@pytest.mark.parametrize("make", [frozen, memory, lambda: Counting().number, lambda: Registered().number, helper_module, typed])
def test_what_tells_less_of_itself_is_copied_whole(home, make):
    plain, step = make(), actors.rows(make())
    for _ in range(2):
        assert_frame_equal(step(FRAME), plain(FRAME))
        assert ended() == "told"


class Missing:
    pass


MISSING, NONE = Missing(), object()


def test_an_object_in_a_cell_that_the_function_knows_is_one_for_its_copy(home):
    frame = pd.DataFrame({"v": [(MISSING, NONE, n)[n % 3] for n in range(60)]})
    actors.rows(lambda f: f[[each is not MISSING and each is not NONE for each in f.v]])(frame)
    assert ended() == "told"


class Named:
    def __init__(self, name):
        self.name, self.calls = name, 0


@pytest.mark.parametrize("where", ["index", "columns", "categories", "attrs"])
def test_labels_that_may_change_are_not_touched_by_a_trial(home, where):
    names = [Named(n) for n in range(60)]
    frame = {
        "index": lambda: pd.DataFrame({"x": range(60)}, index=pd.Index(names, dtype=object)), "columns": lambda: pd.DataFrame([range(60)] * 60, columns=pd.Index(names, dtype=object)),
        "categories": lambda: pd.DataFrame({"x": pd.Categorical(names, categories=names)}), "attrs": FRAME.copy,
    }[where]()
    frame.attrs["held"] = names[0]
    of = {"index": lambda f: f.index, "columns": lambda f: f.columns, "categories": lambda f: f.x.cat.categories, "attrs": lambda f: [f.attrs["held"]]}[where]

    def count(f):
        for each in of(f):
            each.calls += 1
        return f.assign(n=of(f)[0].calls)

    actors.rows(count)(frame)
    assert [each.calls for each in names] == [1, *([0] if where == "attrs" else [1]) * 59]
    assert ended() == ("told" if where == "attrs" else "believed")
    actors.rows(lambda f: f)(pd.DataFrame([range(2)] * 60, columns=pd.Index([("a", 1), ("b", 2)], tupleize_cols=False)))
    assert ended() == "told"


class Ending:
    """Says when it is no more, as a connection or a large model would."""

    gone: list = []  # noqa: RUF012

    def __init__(self, name):
        weakref.finalize(self, self.gone.append, name)


NAMED = None


def _names_itself(f):
    return f.assign(n=0 if NAMED is None else 1) if len(f) else _names_itself(f)


@pytest.mark.usefixtures("uncollected")
def test_what_a_function_holds_is_gone_when_its_user_lets_it_go(home):
    """Not when Python looks for what holds itself: until then, copies of all trials would stay as well."""
    global NAMED  # noqa: PLW0603
    Ending.gone.clear()
    gc.collect()
    held, NAMED = Ending("held"), Ending("named")
    actors.rows(holding(held))(FRAME)
    assert ended() == "believed"  # its class has a list
    locked = [Ending("locked"), threading.Lock()]
    actors.rows(holding(locked))(FRAME)
    actors.rows(_names_itself)(FRAME)
    frame = FRAME.copy()
    weakref.finalize(frame, Ending.gone.append, "frame")
    actors.rows(holding(frame))(FRAME)
    assert ended() == "told"
    del held, locked, frame
    NAMED = None
    assert sorted(Ending.gone) == ["frame", "held", "locked", "named"]


# ---- what is not tried ----------------------------------------------------------------------------------------


class OfFile:
    def __init__(self):
        self.file = open(__file__)

    def close(self):
        self.file.close()


class Pretends:
    """Says that a copy of it is itself."""

    def __init__(self):
        self.seen = []

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        return (lambda: self), ()


class Cached:
    seen: dict = {}  # noqa: RUF012

    def number(self, f):
        return f.assign(n=[self.seen.setdefault(each, len(self.seen)) for each in f.city])


class OfGlobals:
    def number(self, f):
        COUNTS["calls"] += 1
        return f.assign(n=COUNTS["calls"])


FAREWELLS: list = []
"""Not a count that others read: Python may collect the object in the midst of another test."""


class Farewell:
    def __del__(self):
        FAREWELLS.append(1)


def holding(held):
    def function(f):
        if isinstance(held, list):
            held.append(1)
        return f.assign(n=0 if held is None else 1)

    return function


def dynamic(f):
    globals()["COUNTS"]["calls"] += 1
    return f.assign(n=COUNTS["calls"])


def marks_a_library(f):
    np.calls_of_a_test = getattr(np, "calls_of_a_test", 0) + 1
    return f.assign(n=np.calls_of_a_test)


def imports_its_module(f):
    import helpers_of_another_user

    helpers_of_another_user.SEEN.append(1)
    return f.assign(n=len(helpers_of_another_user.SEEN))


def _count_in(module):
    module.SEEN.append(1)
    return len(module.SEEN)


def hands_its_module_on(f):
    return f.assign(n=_count_in(HELPERS))


def reaches_its_globals(f):
    _helper.__globals__["COUNTS"]["calls"] += 1
    return f.assign(n=COUNTS["calls"])


def environment(f):
    return f.assign(n=os.environ.setdefault("BIGDEBUG_OF_A_TEST", str(len(f))))


def cached_in_a_file(f):
    if not CACHE.exists():
        CACHE.write_text(str(f.x.mean()))
    return f.assign(n=float(CACHE.read_text()))


def among_pythons_own(f):
    CALLS_OF_A_TEST.append(1)  # noqa: F821
    return f.assign(n=len(CALLS_OF_A_TEST))  # noqa: F821


def marks_a_class(f):
    pd.DataFrame.calls_of_a_test += 1
    return f.assign(n=pd.DataFrame.calls_of_a_test)


def vectorized():
    calls = []
    count = np.frompyfunc(lambda _: (calls.append(1), len(calls))[1], 1, 1)
    return lambda f: f.assign(n=count(f.x.to_numpy()))


def imports_and_marks(f):
    import sys as s

    s.calls_of_a_test += 1
    return f.assign(n=s.calls_of_a_test)


def imports_and_gives(f):
    import sys as s

    s.given_of_a_test = getattr(s, "given_of_a_test", 0) + 1
    return f.assign(n=s.given_of_a_test)


def imports_within_and_marks(f):
    import os.path as p

    def inner():
        p.calls_of_a_test += 1
        return p.calls_of_a_test

    return f.assign(n=inner())


def imports_and_sets(f):
    import builtins

    setattr(builtins, "CALLS_" + "OF_A_TEST", [*builtins.CALLS_OF_A_TEST, 1])
    return f.assign(n=len(builtins.CALLS_OF_A_TEST))


def imports_and_appends(f):
    import sys

    sys.path.append("of a test")
    return f.assign(n=sys.path.count("of a test"))


def imports_from_and_appends(f):
    from sys import path as p

    p.append("of a test")
    return f.assign(n=p.count("of a test"))


def sets_an_option(f):
    pd.options.display.max_rows += 1
    return f.assign(n=pd.options.display.max_rows)


def sets_an_option_of_what_it_holds(f):
    from pandas import options

    display = options.display
    display.max_rows += 1
    return f.assign(n=display.max_rows)


class Marks:
    def number(self, f):
        sys.calls_of_a_test += 1
        return f.assign(n=sys.calls_of_a_test)

    def path(self, f):
        sys.path.append("of a test")
        return f.assign(n=sys.path.count("of a test"))

    def imported(self, f):
        import sys as s

        s.calls_of_a_test += 1
        return f.assign(n=s.calls_of_a_test)


@pytest.mark.parametrize("step", [
    imports_and_marks, imports_and_gives, imports_within_and_marks, imports_and_sets, imports_and_appends, imports_from_and_appends, sets_an_option, sets_an_option_of_what_it_holds,
    Marks().number, Marks().path, Marks().imported,
], ids=lambda step: step.__name__)
def test_what_is_kept_in_a_module_of_pythons_is_not_tried_wherever_it_was_imported(home, monkeypatch, step):
    monkeypatch.setattr(os.path, "calls_of_a_test", 0, raising=False)
    for name in ("calls_of_a_test", "given_of_a_test"):
        monkeypatch.setattr(sys, name, 0, raising=False)
    monkeypatch.setattr(builtins, "CALLS_OF_A_TEST", [], raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pd.option_context("display.max_rows", 0):
        assert actors.rows(step)(FRAME).n[0] == 1
    assert ended() == "believed"


def imports_and_reads(f):
    import math
    import os.path as p
    from itertools import chain

    import numpy as np

    kept = f[f.x > math.floor(2.5)]
    kept.attrs["name"] = p.join("a", "b")
    kept.index.name = "n"
    return kept.assign(y=np.sqrt(kept.x) + len(list(chain([1], [2]))))


def test_a_function_that_imports_what_it_only_reads_is_tried(home):
    actors.rows(imports_and_reads)(FRAME)
    assert ended() == "told"


HELPERS = types.ModuleType("helpers_of_another_user")
CACHE = Path(tempfile.mkdtemp()) / "mean"


HELD = {
    "a lock": threading.Lock, "a generator": lambda: (n for n in range(3)), "an iterator": lambda: itertools.chain([1], [2]), "an event": threading.Event, "a file": OfFile,
    "what pretends": Pretends, "a memory": lambda: memoryview(bytearray(3)), "a weak one": lambda: weakref.ref(OfFile), "local to a thread": threading.local,
    "one with a farewell": Farewell, "a mapped file": lambda: np.memmap(__file__, mode="c"),
}


@pytest.mark.parametrize("name", HELD)
def test_what_is_not_known_to_be_copied_is_not_tried(home, name):
    held = HELD[name]()
    calls = []
    function = holding(held)
    result = actors.rows(lambda f, inner=function: (calls.append(1), inner(f))[1])(FRAME)
    assert_frame_equal(result, FRAME.assign(n=1))
    assert (ended(), calls) == ("believed", [1])
    assert "'held'" in note()
    if isinstance(held, OfFile):
        held.close()


@pytest.mark.parametrize("step", [
    Cached().number, OfGlobals().number, dynamic, marks_a_library, imports_its_module, hands_its_module_on, reaches_its_globals, environment, cached_in_a_file, marks_a_class, among_pythons_own,
])
def test_what_a_class_or_hidden_code_remembers_is_not_tried(home, step):
    def run(function):
        COUNTS["calls"] = 0
        Cached.seen.clear()
        HELPERS.SEEN = []
        sys.modules["helpers_of_another_user"] = HELPERS
        os.environ.pop("BIGDEBUG_OF_A_TEST", None)
        np.calls_of_a_test = pd.DataFrame.calls_of_a_test = 0
        builtins.CALLS_OF_A_TEST = []
        CACHE.unlink(missing_ok=True)
        return function(FRAME)

    assert_frame_equal(run(actors.rows(step)), run(step))
    assert ended() == "believed"


def _count(f):
    COUNTS["calls"] += 1
    return f.assign(n=COUNTS["calls"])


class Accessor:
    def __init__(self, frame):
        self.frame = frame

    def number(self):
        return _count(self.frame)


class Counted(pd.DataFrame):
    _metadata = ["called"]  # noqa: RUF012

    @property
    def _constructor(self):
        return Counted

    def of_its_own(self):
        return _count(self)


class Measured(pd.DataFrame):
    _metadata = ["called"]  # noqa: RUF012

    @property
    def _constructor(self):
        return Measured

    def long(self):
        return self[self.x > 3]


def test_what_somebody_gave_to_a_library_is_looked_into(home, monkeypatch):
    monkeypatch.setattr(pd.DataFrame, "numbered", _count, raising=False)
    monkeypatch.setattr(pd.DataFrame, "_accessors", {*pd.DataFrame._accessors})
    monkeypatch.setattr(np, "numbered", _count, raising=False)
    monkeypatch.setattr(pd, "wide_to_long", _count)
    pd.api.extensions.register_dataframe_accessor("of_a_test")(Accessor)
    frame = Counted(FRAME)
    frame.called = "counted"
    for call in (lambda f: f.numbered(), lambda f: f.of_a_test.number(), lambda f: (f, np.numbered(f))[1], lambda f: (f, pd.wide_to_long(f))[1], lambda f: f.of_its_own()):
        COUNTS["calls"] = 0
        assert actors.rows(call)(frame).n[0] == 1
        assert ended() == "believed"
    del pd.DataFrame.of_a_test
    actors.rows(lambda f: f.long())(Measured(FRAME))
    assert ended() == "told"


def test_methods_that_somebody_gave_to_frames_and_that_remember_nothing_are_tried(home, monkeypatch):
    monkeypatch.setattr(pd.DataFrame, "over", lambda f, least: f[f.x > least], raising=False)
    actors.rows(lambda f: f.over(3))(FRAME)
    assert ended() == "told"


def test_a_function_within_a_ufunc_is_not_tried(home):
    expected = vectorized()(FRAME)
    assert_frame_equal(actors.rows(vectorized())(FRAME), expected)
    assert ended() == "believed"


def test_what_is_believed_is_in_the_notes_of_a_flow(home):
    from bigdebug.trace.across.pipelines import pipeline

    actors.rows(holding(threading.Lock()), name="locked")(FRAME)
    every = pipeline(actors.steps)
    flow = every.backward(every.step("locked"))
    assert any("was not tried" in each and "'held'" in each for each in flow.notes)
    assert not flow.exact


def test_what_was_tried_on_some_rows_is_exact_by_the_word_of_its_user_and_a_note_says_so(home, tmp_path):
    from bigdebug.trace.across.pipelines import pipeline

    pd.DataFrame({"x": range(5_000)}).to_csv(tmp_path / "in.csv", index=False)
    actors.to_csv(actors.rows(lambda frame: frame.query("x >= 0"), name="all of it")(actors.read_csv(tmp_path / "in.csv")), tmp_path / "out.csv", index=False)
    flow = pipeline(actors.steps).backward(str(tmp_path / "out.csv"), rows=[7])
    assert ["'all of it' is believed: what was promised was tried on " in each for each in flow.notes] == [True]
    assert flow.exact


def test_too_much_is_not_copied_and_it_takes_no_time(home):
    model = np.zeros(1 << 30, np.uint8)
    began = time.thread_time()
    for much in (model, types.SimpleNamespace(layers=[{"weights": model}])):
        with pytest.raises(Untried, match="too much"):
            Apart().of(holding(much))
    assert time.thread_time() - began < 0.5
    for much in ([[n] for n in range(200)], dict.fromkeys(range(5_000)), pd.DataFrame({"a": np.zeros(5_000)}), pd.Index(np.zeros(5_000)), set(range(5_000))):
        with pytest.raises(Untried, match="too much"):
            Apart(Room(30_000, 100)).of(holding(much))
    actors.rows(holding(model))(FRAME)
    assert ended() == "believed"


class Framed(pd.DataFrame):
    _metadata = ["memory"]  # noqa: RUF012

    @property
    def _constructor(self):
        return Framed


def test_a_frame_whose_class_hands_on_what_may_change_is_not_tried(home):
    def remembers(f):
        f.memory.append(len(f))
        return f.assign(n=len(f.memory))

    frame = Framed(FRAME)
    frame.memory = []
    assert actors.rows(remembers)(frame).n[0] == 1
    assert (ended(), frame.memory) == ("believed", [60])


def test_lists_of_tuples_are_copied_at_once():
    held = {f"k{n}": (n, None, (1.0)) for n in range(50_000)}
    copied = Apart(Room(objects=10)).of([held])[0]
    assert copied == held
    assert copied is not held
    inner = {"k": (1, [2])}
    assert Apart().of(inner)["k"][1] is not inner["k"][1]


def test_a_generator_with_a_lock_is_believed(home):
    lock, calls = threading.Lock(), []

    def locked(records):
        calls.append(1)
        for record in records:
            with lock:
                yield record

    assert list(actors.generator(locked, each=True)([1, 2])) == [1, 2]
    assert (ended(), calls) == ("believed", [1])


LIBC = ctypes.CDLL(None)
LABS = LIBC.labs
SYSTEM = pyarrow.fs.LocalFileSystem()


class OwnLibrary(ctypes.CDLL):
    """Of a user's."""


OWN = OwnLibrary(None)


class Calling:
    def __init__(self):
        self.library = OwnLibrary(None)

    def __call__(self, f):
        return f.assign(n=self.library.abs(-2))


def calling_what_the_function_around_has():
    import ctypes as c
    from ctypes import CDLL

    return lambda f: f.assign(n=c.CDLL(None).abs(-2)), lambda f: f.assign(n=CDLL(None).abs(-2))


def calling_what_it_imports(f):
    from ctypes import CDLL

    return f.assign(n=CDLL(None).abs(-2))


CALLING = {
    "a library": lambda f: f.assign(n=LIBC.abs(-2)), "a function of one": lambda f: f.assign(n=LABS(-2)), "one of a class of the user's": lambda f: f.assign(n=OWN.abs(-2)), "one that an object has": Calling(),
    "python": lambda f: f.assign(n=2 if ctypes.pythonapi else 0), "what is imported": calling_what_it_imports, "by an argument": lambda f, library=LIBC: f.assign(n=library.abs(-2)),
    **dict(zip(("a module of the function around", "a class of the function around"), calling_what_the_function_around_has())),
}


@pytest.mark.parametrize("name", CALLING)
def test_a_library_in_c_that_a_function_calls_is_called_by_the_real_call_alone(home, name):
    assert (actors.rows(CALLING[name])(FRAME).n == 2).all()
    assert ended() == "believed"


def test_so_is_one_by_cffi(home):
    foreign = pytest.importorskip("cffi").FFI()
    foreign.cdef("int abs(int);")
    library = foreign.dlopen(None)
    of_library = library.abs
    for step in (lambda f: f.assign(n=library.abs(-2)), lambda f: f.assign(n=of_library(-2))):
        assert (actors.rows(step)(FRAME).n == 2).all()
        assert "stands for something elsewhere" in note()


def moves_what_it_has_taken(f):
    pyarrow.fs.LocalFileSystem().move("inbox", "done")
    return f


def makes_a_folder(f):
    SYSTEM.create_dir("out")
    return f


def copies_files(f):
    copy_files("inbox", "done")
    return f


def takes_a_file_away(f):
    from pyarrow import fs

    fs.LocalFileSystem().delete_file("inbox")
    return f


def writes_a_table(f):
    table = pyarrow.table({"x": [1]})
    with pyarrow.ipc.new_file("out", table.schema) as out:
        out.write(table)
    return f


@pytest.mark.parametrize("step", [moves_what_it_has_taken, makes_a_folder, copies_files, takes_a_file_away, writes_a_table])
def test_what_arrow_does_to_files_it_does_once(home, tmp_path, monkeypatch, step):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").write_text("x")
    actors.rows(step)(FRAME)
    assert ended() == "believed"


def test_a_step_that_makes_rows_of_sparks_is_tried(home):
    actors.rows(lambda f: f.assign(n=[Row(x=each).x for each in f.x]))(FRAME)
    assert ended() == "told"


# ---- steps within steps, and threads --------------------------------------------------------------------------


@actors.rows
def _inner(f):
    COUNTS["calls"] += 1
    return f.assign(y=f.x * 2)


def test_trying_a_step_that_calls_steps_commits_none(home, tmp_path):
    COUNTS["calls"] = 0

    @actors.rows
    def outer(f):
        assert list(actors.generator(lambda rs: (r for r in rs), each=True)([1])) == [1]
        made = actors.merge(_inner(f), FRAME[["x"]], on="x").set_axis(f.index)
        actors.to_csv(made, tmp_path / "out.csv", index=False)
        return actors.read_csv(tmp_path / "out.csv").set_axis(f.index)

    outer(FRAME)
    assert sorted(step.name for step in actors.steps()) == ["<lambda>", "_inner", "merge", "outer", "write out.csv"]
    assert COUNTS["calls"] == 1
    assert not being_tried()


def test_registering_within_a_trial_is_refused_by_name(home):
    def registers(f):
        with actors.register("mine"):
            return f.assign(n=1)

    assert_frame_equal(actors.rows(registers)(FRAME), FRAME.assign(n=1))
    assert sorted(step.name for step in actors.steps()) == ["mine", "registers"]
    assert any("being tried" in each for step in actors.steps() for each in step.incomplete)


def test_other_threads_draw_what_they_draw_without(home):
    """Own generators apart, a trial takes none of the numbers that others draw meanwhile."""
    random.seed(5)
    wanted = [random.random() for _ in range(3)]
    random.seed(5)
    got, go, done = [], threading.Event(), threading.Event()
    module = types.SimpleNamespace(go=go)

    def other():
        go.wait(5)
        got.extend(random.random() for _ in range(3))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    apart = Apart().of(lambda: [random.random(), drawn()])
    first = apart()
    module.go.set()
    done.wait(5)
    thread.join()
    assert got == wanted
    assert first == wanted[:2]


# ---- copies ---------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.tuples(inner, inner) | inner.map(lambda v: types.SimpleNamespace(v=v))
    | st.lists(inner, max_size=3).map(collections.deque) | inner.map(lambda v: functools.partial(print, v)) | inner.map(lambda v: np.array([v, None], object))
    | inner.map(lambda v: Row(a=v, b=1)) | st.lists(inner, max_size=3).map(lambda values: Row(*values)),
    max_leaves=12,
)


def changing(value, found):
    """The ids of all objects in a value that may be changed."""
    if id(value) in found:
        return found
    parts = []
    if isinstance(value, (list, tuple, collections.deque)):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.SimpleNamespace):
        parts = list(vars(value).values())
    elif isinstance(value, functools.partial):
        parts = list(value.args)
    elif isinstance(value, np.ndarray):
        parts = value.tolist()
    if isinstance(value, (list, dict, types.SimpleNamespace, collections.deque, np.ndarray)):
        found[id(value)] = value
    for each in parts:
        changing(each, found)
    return found


def shown(value):
    return repr(value) if not isinstance(value, functools.partial) else shown(value.args)


@given(VALUES)
@settings(max_examples=150)
def test_a_copy_says_the_same_and_shares_nothing_that_may_change(value):
    copied = Apart().of(value)
    mine, theirs = changing(value, {}), changing(copied, {})
    assert not mine.keys() & theirs.keys()
    assert len(mine) == len(theirs)
    if not any(isinstance(each, functools.partial) for each in [value]):
        assert type(copied) is type(value)
    assert shown(copied).count("None") == shown(value).count("None")


@pytest.mark.parametrize("value", [Row(a=[1], b=Row(c="x")), Row("a", "b"), Row("a", "b")(1, [2]), Vectors.dense([1.0, 2.0]), Vectors.sparse(3, {1: 2.0}), Matrices.dense(1, 2, [1.0, 2.0])])
def test_values_of_sparks_are_copied(value):
    copied = Apart().of(value)
    assert (type(copied), copied) == (type(value), value)
    assert getattr(copied, "__fields__", None) == getattr(value, "__fields__", None)


def test_a_step_over_rows_of_sparks_is_tried(home):
    """As ``toPandas()`` gives them."""
    from bigdebug.trace.across.pipelines import pipeline

    actors.rows(lambda frame: frame[frame.n > 1], name="tried")(pd.DataFrame({"n": [1, 2, 3], "row": [Row(a=1), Row(a=[2]), Row(a=Row(b=3))]}))
    every = pipeline(actors.steps)
    assert not any("was not tried" in each for each in every.backward(every.step("tried")).notes)


def test_what_holds_itself_is_copied():
    held = [1]
    held.append({"me": held, "pair": (held,)})
    copied = Apart().of(held)
    assert copied is copied[1]["me"] is copied[1]["pair"][0]
    assert copied is not held


def test_code_of_libraries_is_not_copied():
    for each in (len, np.sum, pd.concat, functools.reduce, importlib.util.find_spec, str.upper, np.add, int, collections.OrderedDict):
        assert Apart().of(each) is each


# ---- what others give to classes meanwhile --------------------------------------------------------------------


def test_a_package_that_is_imported_in_a_trial_gives_classes_what_stays(home, tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    lines = ["import pandas as pd", "@pd.api.extensions.register_dataframe_accessor('loud')", "class Loud:", "    def __init__(self, frame):", "        self.frame = frame"]
    (folder / "accessor_of_a_package.py").write_text("\n".join([*lines, "    def up(self):", "        return self.frame.assign(city=self.frame.city.str.upper())", ""]))
    monkeypatch.syspath_prepend(str(folder))

    def function(f):
        import accessor_of_a_package  # noqa: F401

        return f.loud.up()

    try:
        for _ in range(2):
            assert actors.rows(function)(FRAME).city[0] == "C0"
            assert ended() == "told"
    finally:
        del pd.DataFrame.loud


def test_what_a_package_gives_to_a_class_in_a_trial_is_taken_back(home):
    def function(f):
        had = hasattr(pd.DataFrame, "progress_apply")
        tqdm.pandas(disable=True)
        return f.assign(n=f.x.progress_apply(lambda x: x + 1), had=had)

    assert not hasattr(pd.DataFrame, "progress_apply")
    try:
        assert not actors.rows(function)(FRAME).had.any()
        assert ended() == "told"
    finally:
        del pd.DataFrame.progress_apply


def test_what_another_thread_gives_to_a_class_stays(home):
    class Progress:
        done = 0

        def half(self, x):
            return x / 2

    progress = Progress()

    def counts():
        for _ in range(60):
            Progress.done += 1
            time.sleep(0.001)

    def function(f):
        time.sleep(0.01)
        return f.assign(n=progress.half(f.x))

    thread = threading.Thread(target=counts)
    thread.start()
    actors.rows(function)(FRAME)
    thread.join()
    assert (Progress.done, ended()) == (60, "told")

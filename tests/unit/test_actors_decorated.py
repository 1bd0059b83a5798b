"""A step stands where its function stood: it is called, bound, named, pickled and asked what it is as the function would be."""

from __future__ import annotations

import abc
import copy
import functools
import inspect
import pickle
import pydoc
import subprocess
import sys
from contextlib import nullcontext
from types import MethodType

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from pyspark import cloudpickle

from bigdebug import actors
from bigdebug.errors import ActorError

FRAME = pd.DataFrame({"x": range(60), "city": [f"c{n % 7}" for n in range(60)]})

STEPS = {"rows": actors.rows, "groups": actors.groups(by="city"), "whole": actors.whole}


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def last():
    return actors.steps()[-1]


def untold(step):
    """What is not exact of a step, but for where its input came from."""
    return [each for each in step.incomplete if "came from no step" not in each and "is said to be made of all" not in each]


PROGRAM = """
import multiprocessing, sys
import pandas as pd
from bigdebug import actors

@actors.rows
def clean(frame, least=3):
    return frame[frame.x > least]

@actors.groups(by="city")
def sums(frame):
    return frame.groupby("city", as_index=False).sum()

@actors.whole
def total(frame):
    return frame[["x"]].sum().to_frame()

class Job:
    @actors.rows
    def odd(self, frame):
        return frame[frame.x % 2 == 1]

if __name__ == "__main__":
    frame = pd.DataFrame({"x": range(9), "city": list("abcabcabc")})
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        for step in (clean, sums, total, Job().odd):
            print(len(pool.map(step, [frame, frame])[1]))
    print(len(actors.steps()), len(actors.steps()[0].incomplete))
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_step_goes_to_other_processes_by_its_name(tmp_path, how):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py"), how], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["5", "3", "1", "4", "8", "1"]


@actors.rows
def clean(frame, least=3):
    """Those above."""
    return frame[frame.x > least]


@actors.groups(by="city")
def sums(frame):
    return frame.groupby("city").sum()


def unnamed(frame):
    return frame


steps_by_another_name = actors.groups(unnamed, by="city", name="another")


def test_a_pickle_of_a_step_is_the_step_as_that_of_a_function_is(monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or inspect.getmodule(clean))
    for each in (clean, sums, Static.plain, Static.of_both):
        assert pickle.loads(pickle.dumps(each)) is each
        assert cloudpickle.loads(cloudpickle.dumps(each)) is each
        assert copy.copy(each) is copy.deepcopy(each) is each
    other = pickle.loads(pickle.dumps(steps_by_another_name))
    assert other is not steps_by_another_name
    assert_frame_equal(other(FRAME), FRAME)
    assert last().name == "another"
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(actors.rows(lambda frame: frame))


@pytest.mark.parametrize("name", ["clean", "flat"])
def test_cloudpickle_takes_a_step_of_a_program_along_with_all_that_it_needs(tmp_path, name):
    program = (
        "import sys\nfrom pyspark import cloudpickle\nfrom bigdebug import actors\n"
        "LEAST = 7\n"
        "@actors.rows\ndef clean(frame):\n    return frame[frame.x > LEAST] if len(frame) > 1 else clean.__wrapped__ and frame[frame.x > LEAST]\n"
        "@actors.generator\ndef flat(records):\n    for each in records:\n        if isinstance(each, list):\n            yield from flat(each)\n        elif each > LEAST:\n            yield each\n"
        "sys.stdout.buffer.write(cloudpickle.dumps(globals()[sys.argv[1]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, name], check=True, capture_output=True)
    step = pickle.loads(done.stdout)
    given = step(FRAME) if name == "clean" else [*step([1, [8, [9]]])]
    assert [*map(str, given)] == (["x", "city"] if name == "clean" else ["8", "9"])
    assert last().name == name


def test_a_lambda_and_a_function_within_another_are_taken_along_by_cloudpickle(home):
    step = actors.groups(lambda frame: frame.groupby("city").sum(), by="city", name="sums")
    assert_frame_equal(pickle.loads(cloudpickle.dumps(step))(FRAME), FRAME.groupby("city").sum())
    assert untold(last()) == []


# ---- methods --------------------------------------------------------------------------------------------------


class Methods:
    """The same functions plain and as steps; ``kept`` is what they remember."""

    def __init__(self, least=3):
        self.least = least

    def plain(self, frame, more=0):
        """Those above."""
        return frame[frame.x > self.least + more]

    step = actors.rows(plain)
    whole = actors.whole(plain)

    @classmethod
    def of_class(cls, frame):
        return frame.assign(kind=cls.__name__)


class Static:
    @staticmethod
    @actors.rows
    def plain(frame, more=0):
        return frame[frame.x > more]

    @actors.rows
    @staticmethod
    def of_both(frame, more=0):
        return frame[frame.x > more]

    @classmethod
    @actors.rows
    def of_class(cls, frame, more=0):
        return frame[frame.x > more].assign(kind=cls.__name__)

    @actors.rows
    @classmethod
    def of_class_too(cls, frame, more=0):
        return frame[frame.x > more].assign(kind=cls.__name__)


class Inner(Static):
    pass


def test_a_step_in_a_class_is_a_method_of_its_objects(home):
    job = Methods()
    for call in (job.step, job.whole, functools.partial(Methods.step, job), functools.partial(Methods.step, self=job)):
        for args, named in (((FRAME,), {}), ((), {"frame": FRAME, "more": 2})):
            if args and "self" in getattr(call, "keywords", ()):
                continue
            before = len(actors.steps())
            assert_frame_equal(call(*args, **named), job.plain(*args, **named))
            assert (len(actors.steps()), untold(last())) == (before + 1, [])
    assert job.step == job.step
    assert job.step.__self__ is job
    assert job.step.__func__ is Methods.step
    assert job.step.__name__ == "plain"


@pytest.mark.parametrize("owner", [Static, Static(), Inner, Inner()])
@pytest.mark.parametrize("name", ["plain", "of_both", "of_class", "of_class_too"])
def test_static_and_class_methods_are_steps_in_both_orders(home, owner, name):
    kind = owner if isinstance(owner, type) else type(owner)
    wanted = FRAME[FRAME.x > 5]
    wanted = wanted.assign(kind=kind.__name__) if "class" in name else wanted
    for given in (getattr(owner, name)(FRAME, 5), getattr(owner, name)(frame=FRAME, more=5)):
        assert_frame_equal(given, wanted)
        assert untold(last()) == []
    assert len(actors.steps()) == 2


def test_a_class_method_is_known_where_it_asks_no_function_how_it_is_bound(home):
    """As those of Python 3.13 do."""
    given = MethodType(vars(Static)["of_class"].__func__, Inner)(FRAME)
    assert list(given.kind.unique()) == ["Inner"]
    assert untold(last()) == []


def test_what_a_class_does_with_methods_it_does_with_steps(home):
    class Base(abc.ABC):
        @actors.rows
        @abc.abstractmethod
        def odd(self, frame):
            return frame[frame.x % 2 == 1]

        most = functools.partialmethod(actors.rows(lambda self, frame, most: frame[frame.x < most]), most=9)

        @actors.rows
        def __call__(self, frame):
            return frame[frame.x > 50]

    class Odd(Base):
        def odd(self, frame):
            return super().odd(frame)

    with pytest.raises(TypeError, match="abstract"):
        Base()
    job = Odd()
    assert [len(each(FRAME)) for each in (job.odd, job.most, job)] == [30, 9, 9]
    assert len(actors.steps()) == 3


def test_what_no_class_binds_is_not_bound(home):
    class Callable:
        def __call__(self, frame):
            return frame[frame.x > 50]

    class Job:
        of_object = actors.rows(Callable())
        of_method = actors.rows(Methods(50).plain)
        of_partial = actors.rows(functools.partial(Methods.plain, Methods(50)))

    if sys.version_info < (3, 14):
        with pytest.warns(FutureWarning) if sys.version_info >= (3, 13) else nullcontext():  # as Python says it of one that is no step
            assert len(Job().of_partial(FRAME)) == 9
    assert (len(Job().of_object(FRAME)), len(Job().of_method(FRAME))) == (9, 9)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_says_of_itself_what_its_function_says(name):
    def function(self, frame, *, more: int = 3):
        """What it is for."""

    class Plain:
        method = function

    class Job:
        method = STEPS[name](function)

    step = STEPS[name](function)
    for one, other in ((step, function), (Job.method, Plain.method), (Job().method, Plain().method)):
        assert inspect.signature(one) == inspect.signature(other)
        assert inspect.getfullargspec(one) == inspect.getfullargspec(other)
        assert (one.__name__, one.__qualname__, one.__doc__, one.__module__) == (other.__name__, other.__qualname__, other.__doc__, other.__module__)
    assert "function" in inspect.signature(type(step)).parameters
    assert pydoc.plain(pydoc.render_doc(step)).split("\n", 1)[1] == pydoc.plain(pydoc.render_doc(function)).split("\n", 1)[1]


# ---- calls ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STEPS)
def test_a_frame_is_given_by_name_as_to_the_function(home, name):
    def function(frame, more=0):
        return frame.assign(x=frame.x + more)

    def behind(*, frame, more=0):
        return function(frame, more)

    for each in (function, behind):
        for named in ({"frame": FRAME}, {"more": 2, "frame": FRAME}):
            assert_frame_equal(STEPS[name](each)(**named), each(**named))
            assert name == "groups" or untold(last()) == []
    assert len(actors.steps()) == 4


def test_what_a_wrong_call_raises_is_what_the_function_raises(home):
    def function(frame, more=0):
        return frame

    for args, named in (((), {}), ((), {"more": 2}), ((), {"frames": FRAME}), ((FRAME,), {"frame": FRAME}), ((FRAME, 1, 2), {})):
        with pytest.raises(TypeError) as plain:
            function(*args, **named)
        with pytest.raises(TypeError) as step:
            actors.rows(function)(*args, **named)
        assert str(step.value) == str(plain.value)


def test_a_frame_that_is_a_default_is_the_input_and_without_any_nothing_is_captured(home, caplog):
    mine = FRAME.copy()
    assert len(actors.rows(lambda frame=mine: frame[frame.x > 50])()) == 9
    assert untold(last()) == []
    assert len(actors.rows(lambda **frames: frames["one"])(one=FRAME)) == 60
    assert "is not captured" in caplog.text
    assert len(actors.steps()) == 1


def test_a_step_that_uses_steps_is_tried(home):
    class Job:
        least = 3

        @actors.rows
        def part(self, frame):
            return frame[frame.x > self.least]

        @actors.rows
        def all(self, frame):
            return clean(self.part(frame), least=5)

    assert len(Job().all(FRAME)) == 54
    assert untold(last()) == []


@pytest.mark.parametrize("make", [*STEPS.values(), actors.generator, actors.lines])
def test_what_is_async_is_refused_by_name_where_it_is_decorated(make):
    async def later(frame):
        return frame

    async def each_later(frame):
        yield frame

    class Later:
        async def __call__(self, frame):
            return frame

    for function in (later, each_later, functools.partial(later), Later(), staticmethod(later)):
        with pytest.raises(ActorError, match="async"):
            make(function)

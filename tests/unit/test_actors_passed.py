"""A generator that is a step is a generator still: what is sent, thrown, returned and closed is what it is without, and lineage is what it is without all that."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import itertools
import sys
import types
import weakref
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.trace.across.located import Located, Unit


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def made(step, count):
    """The inputs of each of so many outputs."""
    found = [step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [n])]) for n in range(count)]
    return [each[0].positions.tolist() if each else [] for each in found]


class Own(Exception):
    pass


class Thrown(Exception):
    pass


def talks(records, heard, leaves="passes"):
    """Gives records and what it hears; what is thrown it answers, and when it is closed it does what ``leaves`` says."""
    try:
        for record in records:
            with contextlib.suppress(Own):
                heard.append((yield record))
                continue
            heard.append((yield "caught"))
    except GeneratorExit:
        heard.append("exit")
        if leaves == "returns":
            return "left"
        if leaves == "ignores":
            yield "still here"
        raise
    finally:
        heard.append("finally")
        if leaves == "raises":
            raise KeyError("in finally")
    return "over"


def told(function, calls, count, leaves):
    """All that a generator does when it is called so, and what it hears."""
    heard = []
    generator = function(iter(range(count)), heard, leaves)
    return [answer(generator, *each) for each in (*calls, ("close",))], heard


def answer(generator, name, *args):
    try:
        return "gave", next(generator) if name == "next" else getattr(generator, name)(*args)
    except BaseException as error:
        return type(error).__name__, str(error), getattr(error, "value", None)


CALLS = st.lists(
    st.just(("next",)) | st.tuples(st.just("send"), st.sampled_from([None, 1, "x"])) | st.sampled_from([("throw", Own("own")), ("throw", Own), ("throw", ValueError("other")), ("close",)]),
    min_size=1, max_size=25,
)

KINDS = {
    "since the beginning": {},
    "each": {"each": True},
    "each, believed": {"each": True, "check": False},
    "tags": {"tags": (lambda record: record, str)},
}


@pytest.mark.parametrize("kind", KINDS)
@given(CALLS, st.integers(0, 15), st.sampled_from(["passes", "returns", "ignores", "raises"]))
@settings(max_examples=60)
def test_whatever_is_done_with_a_generator_its_step_does_what_it_does(tmp_path_factory, kind, calls, count, leaves):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    if leaves == "ignores":  # then it goes on, which its step does not
        calls = [*itertools.takewhile(lambda each: each[0] != "close", calls)]
    wanted = told(talks, calls, count, leaves)
    assert told(actors.generator(talks, home=home, **KINDS[kind]), calls, count, leaves) == wanted
    known = actors.steps(home)
    outputs = [each[1] for each in wanted[0] if each[0] == "gave"]
    if kind == "since the beginning" and known and isinstance(known[0], actors.ActorStep) and not known[0].culprits and leaves == "passes":
        read = list(itertools.accumulate(isinstance(each, int) for each in outputs if each is not None))
        assert made(known[0], len(read)) == [list(range(each)) for each in read]


def test_what_is_sent_is_heard_and_lineage_is_of_what_was_read(home):
    def running(records):
        total, factor = 0, 1
        for record in records:
            total += record * factor
            factor = (yield total) or factor
        return total

    for promise in ({}, {"each": True, "check": False}):
        step = actors.generator(running, **promise)(iter(range(1, 6)))
        assert [next(step), step.send(10), next(step), step.send(1), next(step)] == [1, 21, 51, 55, 60]
        with pytest.raises(StopIteration) as end:
            next(step)
        assert end.value.value == 60
    since, each = actors.steps()
    assert made(since, 5) == [list(range(n)) for n in range(1, 6)]
    assert made(each, 5) == [[n] for n in range(5)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_generator_returns_comes_to_who_delegates_to_it(home, kind):
    def delegates(function):
        found = yield from function(range(20), [])
        yield "returned", found

    assert [*delegates(actors.generator(talks, **KINDS[kind]))] == [*delegates(talks)] == [*range(20), ("returned", "over")]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_when_it_is_closed_is_heard(home, kind, monkeypatch):
    unheard = []
    monkeypatch.setattr(sys, "unraisablehook", unheard.append)
    step = actors.generator(talks, **KINDS[kind])(range(20), [], "raises")
    next(step)
    with pytest.raises(KeyError, match="in finally"):
        step.close()
    assert "it failed: KeyError" in actors.steps()[-1].incomplete[0]
    assert unheard == []


def test_a_generator_step_is_the_body_of_a_context(home):
    heard = []

    @contextlib.contextmanager
    @actors.generator
    def held(records):
        try:
            yield from records
        finally:
            heard.append("let go")

    for error in (Own, GeneratorExit, KeyboardInterrupt):
        context = held(["one"])
        assert context.__enter__() == "one"
        thrown = error()
        assert not context.__exit__(error, thrown, None)
    assert heard == ["let go"] * 3


def test_what_it_reads_is_a_generator_too_if_it_was_one(home):
    def source(heard):
        try:
            for n in range(20):
                heard.append((yield n))
        finally:
            heard.append("closed")
        return "all"

    def through(records):
        found = yield from records
        yield found

    for promise in KINDS.values():
        if "tags" in promise:
            continue
        heard = []
        step = actors.generator(through, **promise)(source(heard))
        assert [next(step), step.send("a"), next(step)] == [0, 1, 2]
        step.close()
        assert heard == ["a", None, "closed"]
        assert [*actors.generator(through, **promise)(source([]))][-1] == "all"


def test_an_exception_that_was_thrown_is_let_go(home):
    gc.disable()
    try:
        for function in (talks, *(actors.generator(talks, **promise) for promise in KINDS.values())):
            error = Thrown("thrown")
            known = weakref.ref(error)
            step = function(range(20), [])
            next(step)
            with contextlib.suppress(Thrown):
                step.throw(error)
            del error, step
            assert known() is None
    finally:
        gc.enable()


# ---- when it is called ----------------------------------------------------------------------------------------


def passes_on(function):
    @functools.wraps(function)
    def inner(*args, **named):
        return function(*args, **named)

    return inner


def test_wrong_arguments_are_refused_where_the_function_would_refuse_them(home):
    def function(records, more, *, other=0):
        yield from records

    for args, named in (((), {}), (([],), {}), (([], 1, 2), {}), (([], 1), {"another": 1}), (([], 1), {"records": []}), ((), {"more": 1})):
        for each in (function, passes_on(function)):
            with pytest.raises(TypeError) as plain:
                each(*args, **named)
            with pytest.raises(TypeError) as step:
                actors.generator(each)(*args, **named)
            assert str(step.value) == str(plain.value)


def test_what_is_no_iterable_is_told_when_it_is_asked_for_records(home):
    def function(records):
        yield "first"
        yield from records

    step = actors.generator(function)(7)
    assert next(step) == "first"
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        next(step)


def test_a_source_is_asked_for_its_records_when_the_function_asks(home):
    asked = []

    class Source:
        def __iter__(self):
            asked.append("iter")
            return iter([1, 2])

    def function(records):
        asked.append("called")
        yield "first"
        yield from records

    assert [*actors.generator(function)(Source())] == ["first", 1, 2]
    assert asked == ["called", "iter"]


GIVEN = {
    "list": lambda records: [each * 2 for each in records], "tuple": lambda records: (*records,), "sorted": sorted, "set": set, "dict": dict.fromkeys,
    "deque": deque, "nothing": lambda records: None, "a number": sum,
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_function_that_is_no_generator_is_called_at_once_and_gives_what_it_gives(home, name):
    for promise in ({}, {"each": True}):
        given_ = actors.generator(GIVEN[name], name=name, **promise)([3, 1, 2])
        assert type(given_) is type(GIVEN[name]([3, 1, 2]))
        assert given_ == GIVEN[name]([3, 1, 2])
    since, each = actors.steps()
    outputs = [] if name in ("nothing", "a number") else [[0, 1, 2]] * 3
    assert since.incomplete == ()
    assert made(since, len(outputs)) == outputs
    assert any("has no lineage" in why for why in each.incomplete)


def test_of_another_iterable_a_generator_is_given_and_nobody_need_ask_for_anything(home):
    called = []

    def squares(records):
        called.append(True)
        return (each * each for each in records)

    step = actors.generator(squares, each=True)
    assert [*step([1, 2, 3])] == [1, 4, 9]
    assert called == [True]
    unasked = step([1, 2, 3])
    assert (called, len(actors.steps())) == ([True, True], 2)
    del unasked
    assert isinstance(actors.steps()[-1], actors.ActorStep)
    given_ = actors.generator(lambda records: map(str, records))([1, 2])
    assert isinstance(given_, types.GeneratorType)
    assert [*given_] == ["1", "2"]


def test_what_a_function_raises_at_once_is_raised_at_once(home):
    for error in (ZeroDivisionError, StopIteration):
        def function(records):
            next(records)
            raise error("at once")  # noqa: B023

        with pytest.raises(error, match="at once"):
            actors.generator(function, name=error.__name__)(iter([1, 2]))
        step = actors.steps()[-1]
        assert [each.number for each in step.culprits] == [0]


# ---- how it is called -----------------------------------------------------------------------------------------


def test_a_function_may_call_its_parameters_as_it_likes(home):
    def function(records, name, home, promise, function, args, kwargs, self):
        yield records, name, home, promise, function, args, kwargs, self

    named = dict.fromkeys(("name", "home", "promise", "function", "args", "kwargs", "self"), 1)
    for promise in ({}, {"each": True}):
        ((_, *others),) = actors.generator(function, **promise)([], **named)
        assert others == [1] * 7
        assert len([*actors.generator(function, **promise)(records=[], **named)]) == 1


def test_records_are_given_by_name_as_to_the_function(home):
    def function(recs, more=0):
        for each in recs:
            yield each + more

    def behind(*, recs, more=0):
        return function(recs, more)

    for each in (function, behind):
        step = actors.generator(each, each=True)
        assert [*step(recs=[1, 2])] == [1, 2]
        assert [*step(more=3, recs=[1, 2])] == [4, 5]
        assert actors.steps()[-1].incomplete == ()
        assert made(actors.steps()[-1], 2) == [[0], [1]]


def test_a_step_is_known_for_a_generator_function_by_who_asks():
    def function(records):
        yield from records

    assert inspect.isgeneratorfunction(actors.generator(function))
    assert inspect.isgenerator(actors.generator(function)([]))
    assert actors.generator(function)([]).__qualname__ == function.__qualname__
    assert not inspect.isgeneratorfunction(actors.generator(sorted))
    assert not hasattr(actors.generator(function), "another")


class Job:
    factor = 2

    @actors.generator(each=True)
    def times(self, records, more=0):
        for each in records:
            yield each * self.factor + more

    @classmethod
    @actors.generator(each=True)
    def of_class(cls, records):
        for each in records:
            yield each * cls.factor

    @actors.generator(each=True)
    @staticmethod
    def of_none(records):
        yield from records

    @actors.lines(each=True)
    def upper(self, lines, ends=""):
        """Each in capitals."""
        for line in lines:
            yield f"{line.upper().strip()}{ends * self.factor}\n"


def test_a_generator_in_a_class_is_a_method_of_its_objects(home, tmp_path):
    job = Job()
    for given_, wanted in ((job.times([1, 2], more=1), [3, 5]), (Job.times(job, records=[1, 2]), [2, 4]), (Job.of_class([1]), [2]), (job.of_class(records=[1]), [2]), (job.of_none([1]), [1])):
        assert [*given_] == wanted
        step = actors.steps()[-1]
        assert step.incomplete == ()
        assert made(step, len(wanted)) == [[n] for n in range(len(wanted))]
    (tmp_path / "in").write_text("a\nb\n")
    for call in (job.upper, functools.partial(Job.upper, job)):
        call(tmp_path / "in", tmp_path / "out", ends="!")
        assert (tmp_path / "out").read_text() == "A!!\nB!!\n"
        assert actors.steps()[-1].incomplete == ()


def test_lines_take_files_by_position_or_name_and_leave_all_other_names_to_the_function(home, tmp_path):
    def function(lines, source="s", target="t", encoding="e"):
        for line in lines:
            yield f"{line.strip()}{source}{target}{encoding}\n"

    (tmp_path / "in").write_text("a\n")
    step = actors.lines(function, each=True)
    for args, named, wanted in (
        ((tmp_path / "in", tmp_path / "out"), {}, "aste\n"),
        ((tmp_path / "in", tmp_path / "out"), {"source": 1, "target": 2, "encoding": 3}, "a123\n"),
        ((), {"source": tmp_path / "in", "target": tmp_path / "out"}, "aste\n"),
        ((tmp_path / "in",), {"target": tmp_path / "out"}, "aste\n"),
    ):
        step(*args, **named)
        assert (tmp_path / "out").read_text() == wanted
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'target'"):
        step(tmp_path / "in")


def test_lines_say_that_they_take_two_files():
    assert str(inspect.signature(Job().upper)) == "(source, target, ends='') -> None"
    assert str(inspect.signature(Job.upper)) == "(self, source, target, ends='') -> None"
    assert str(inspect.signature(actors.lines(lambda lines, source, /, *more: lines))) == "(source_, target, source, /, *more) -> None"
    assert inspect.getdoc(Job.upper) == "Each in capitals."

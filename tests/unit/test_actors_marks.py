"""A function that leaves something in what all share, a module or a class of a library, is called once: of that a trial has no copy, by whichever name the function has it."""

import math
import os
import random
import string
import sys

import numpy as np
import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.actors.named import named


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    math.calls, paths = 0, [*sys.path]
    yield actors.ActorHome()
    sys.path[:] = paths
    for owner in (math, string.Template, os.path):
        for name in vars(owner).keys() & {"calls", "mark"}:
            delattr(owner, name)


FRAME = pd.DataFrame({"a": range(12)})


def as_another_name(f):
    import math as m

    m.calls += 1
    return f


def new(f):
    import math

    math.mark = getattr(math, "mark", 0) + 1
    return f


def by_a_second_name(f):
    m = math
    m.mark = getattr(m, "mark", 0) + 1
    return f


def by_a_name_of_several(f):
    m = f
    m = math
    m.mark = getattr(m, "mark", 0) + 1
    return f


def by_a_function_within(f):
    import math

    def count():
        math.mark = getattr(math, "mark", 0) + 1

    count()
    return f


def by_the_function_around():
    import math as m

    def count(f):
        m.mark = getattr(m, "mark", 0) + 1
        return f

    return count


def by_its_argument(f, m=math):
    m.mark = getattr(m, "mark", 0) + 1
    return f


def by_all_of_them(f):
    import math

    math.__dict__["mark"] = math.__dict__.get("mark", 0) + 1
    return f


def by_a_text(f):
    import math

    setattr(math, "mark", getattr(math, "mark", 0) + 1)  # noqa: B010
    return f


def in_a_class(f):
    from string import Template

    Template.mark = getattr(Template, "mark", 0) + 1
    return f


def in_a_module_within(f):
    import os.path as p

    p.mark = getattr(p, "mark", 0) + 1
    return f


class Method:
    def __call__(self, f):
        math.calls += 1
        return f


class MethodThatImports:
    def __call__(self, f):
        import math

        math.calls += 1
        return f


MARKS = {
    "as another name": (as_another_name, math), "new": (new, math), "by a second name": (by_a_second_name, math), "by a name of several": (by_a_name_of_several, math),
    "by a function within": (by_a_function_within, math), "by the function around": (by_the_function_around(), math), "by its argument": (by_its_argument, math),
    "by all of them": (by_all_of_them, math), "by a text": (by_a_text, math), "in a class": (in_a_class, string.Template), "in a module within": (in_a_module_within, os.path),
    "method": (Method(), math), "method that imports": (MethodThatImports(), math),
}


def not_tried(home):
    return [why for why in actors.steps(home)[-1].incomplete if "was not tried" in why]


@pytest.mark.parametrize("name", MARKS)
def test_what_gets_an_attribute_gets_it_once(home, name):
    function, owner = MARKS[name]
    actors.rows(function)(FRAME)
    assert (getattr(owner, "calls", 0) or getattr(owner, "mark", 0)) == 1
    assert "another attribute" in not_tried(home)[0]


def appended(f):
    import sys

    sys.path.append("lib")
    return f


def taken_out(f):
    from sys import path

    path.append("lib")
    return f


class Appending:
    def __call__(self, f):
        sys.path.append("lib")
        return f


@pytest.mark.parametrize("function", [appended, taken_out, Appending()])
def test_what_a_module_holds_is_changed_once(home, function):
    actors.rows(function)(FRAME)
    assert sys.path.count("lib") == 1
    assert "sys.path may change" in not_tried(home)[0]


def option(f):
    pd.options.display.max_rows += 1
    return f


def option_by_a_second_name(f):
    display = pd.options.display
    display.max_rows += 1
    return f


def option_that_is_imported(f):
    from pandas import options

    options.display.max_rows += 1
    return f


def option_of_several(f):
    for each in (pd.options.display,):
        each.max_rows += 1
    return f


def option_that_is_held(f):
    DISPLAY.max_rows += 1
    return f


def option_of_an_argument(f, options=pd.options):
    options.display.max_rows += 1
    return f


class HoldingOptions:
    def __init__(self):
        self.options = pd.options

    def __call__(self, f):
        self.options.display.max_rows += 1
        return f


DISPLAY = pd.options.display
OPTIONS = [option, option_by_a_second_name, option_that_is_imported, option_of_several, option_that_is_held, option_of_an_argument, HoldingOptions()]


@pytest.mark.parametrize("function", OPTIONS)
def test_an_option_of_pandas_is_set_once(home, function):
    with pd.option_context("display.max_rows", 60):
        actors.rows(function)(FRAME)
        assert pd.get_option("display.max_rows") == 61
    assert not_tried(home)


def importing(f):
    import re
    import sys
    from collections import OrderedDict
    from datetime import datetime

    import numpy
    import pandas

    out = pandas.DataFrame({"a": f.a, "b": [re.sub("1", "", str(each)) for each in f.a]})
    out.columns, out.attrs = ["c", "d"], OrderedDict(since=datetime(2020, 1, 1), bits=sys.maxsize)
    out.index.name = "n"
    return out[numpy.abs(out.c) > 1]


class Importing:
    def __call__(self, f):
        import math

        return f.assign(b=f.a * math.pi + np.abs(f.a) + random.random() * 0, c=len(string.digits))


@pytest.mark.parametrize("function", [importing, Importing()])
def test_what_imports_and_leaves_nothing_there_is_tried(home, function):
    actors.rows(function)(FRAME)
    assert not actors.steps(home)[-1].incomplete[1:]


def naming(f):
    import a.b
    import a.b.c as d

    from ..g import h as i  # type: ignore[import-not-found]
    from ..g import j
    from . import e  # type: ignore[attr-defined]

    return a, d, e, i, j


def test_what_is_imported_is_known_by_where_it_is():
    found = named(naming.__code__)
    assert found.imported == {("a", "a"), ("d", "a.b.c"), ("e", ".e"), ("i", "..g.h"), ("j", "..g.j")}
    assert found.imports == {"a.b", "a.b.c", ".", "..g"}

"""The law of plain functions: what is read to keep its promise keeps it of all rows: of a row alone, or of a group alone, it gives what it gives of it among all others. Over programs drawn from what
functions over frames do, right and wrong, on values that pandas treats in ways of their own."""

import random
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from bigdebug.actors.arguments import Arguments
from bigdebug.actors.plain.promise import read
from bigdebug.actors.plain.straight import watched

pytestmark = pytest.mark.skipif(watched(), reason="somebody follows each line: no function is read then")

NUMBERS, FLAGS, TEXTS, TIMES = ["a", "b", "c", "i"], ["d"], ["t", "k"], ["w"]

RATE, WANTED, CODES = 1.17, ["x", "y"], {"x": 1, "y": 2, "": 0}


class Writer:
    """Writes a function, by a source of chances."""

    def __init__(self, random):
        self.random = random
        self.made = []

    def one(self, *choices):
        return self.random.choice(choices)

    def column(self, names):
        return f"g.{self.random.choice(names + (self.made if self.random.random() < 0.2 else []))}"

    def number(self, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            return self.column(NUMBERS)
        n = self.number(depth - 1)
        return self.one(
            f"({n} {self.one('+', '-', '*', '/', '//', '%')} {self.one('2', '0', '1.5', '-3', 'RATE', 'f_rate', self.number(depth - 1))})", f"({self.one('2', '-1.5')} {self.one('+', '-', '*', '/')} {n})",
            f"-{n}", f"abs({n})", f"round({n}, 1)", f"{n}.clip({self.one('0', '0.5', '-1, 2')})", f"{n}.fillna({self.one('0', '1.5')})", f"({n} ** {self.one('2', '-1', '0.5', n)})",
            f"np.{self.one('sqrt', 'log1p', 'floor', 'abs', 'ceil')}({n})", f"np.where({self.flag(depth - 1)}, {n}, {self.one('0', 'np.nan', '1.5', n)})", f"{n}.where({self.flag(depth - 1)}{self.one('', ', 0', ', ' + n)})",
            f"{self.text(depth - 1)}.str.len()", f"{self.column(TIMES)}.dt.{self.one('year', 'hour', 'date')}", f"{n}.astype({self.one('float', 'int', 'bool', repr('int64'))})",
f"{self.text(depth - 1)}.map({self.one('CODES', repr(CODES))})", f"{self.flag(depth - 1)}.astype(int)",
        )

    def flag(self, depth=2):
        if depth == 0:
            return self.one(f"({self.column(NUMBERS)} > 1)", self.column(FLAGS), f"{self.column(NUMBERS + TEXTS + TIMES)}.{self.one('isna', 'notna')}()")
        if self.random.random() < 0.3:
            return f"({self.flag(depth - 1)}) {self.one('&', '|', '^')} ({self.flag(depth - 1)})"
        return self.one(
            f"({self.number(depth - 1)} {self.one('>', '<=', '==', '!=')} {self.one('1', '0.5', self.number(depth - 1))})", f"~({self.flag(depth - 1)})", f"{self.column(NUMBERS)}.isin([0, 1])",
            f"{self.text(depth - 1)}.isin({self.one('WANTED', repr(WANTED))})", f"{self.column(NUMBERS)}.between(0, 2)", f"({self.column(TIMES)} >= '2020-01-02')",
            f"{self.text(depth - 1)}.str.{self.one('contains', 'startswith')}('x'{self.one('', ', na=False')})", f"({self.text(depth - 1)} == 'x')", f"{self.text(depth - 1)}.str.isdigit()",
            f"{self.text(depth - 1)}.str.contains('y').fillna(False)", f"pd.isna({self.column(NUMBERS)})",
        )

    def text(self, depth=2):
        if depth == 0 or self.random.random() < 0.4:
            return self.column(TEXTS)
        t = self.text(depth - 1)
        return self.one(
            f"{t}.str.{self.one('upper()', 'strip()', 'zfill(3)', 'slice(0, 1)', 'replace(chr_x, chr_y)', 'get(0)', 'title()')}", f"({t} + {self.one(repr('!'), t)})", f"('<' + {t})", f"{t}.str[0]",
            f"{t}.str[:1]", f"{t}.str.split(' ').str[0]", f"{t}.fillna('x')", f"{self.number(depth - 1)}.astype(str)", f"np.where({self.flag(depth - 1)}, 'x', {self.one(repr('y'), t)})",
            f"{t}.str.split(' ').str[1].str.strip()", f"{t}.where({self.flag(depth - 1)}, 'none')",
        )

    def wrong(self):
        n = self.column(NUMBERS)
        return self.one(
            f"{n}.shift()", f"{n}.cumsum()", f"({n} - {n}.mean())", f"{n}.rank()", f"{n}.ffill()", f"({n} * len(g))", f"{n}.iloc[0]", "np.arange(len(g))", f"({n} > {n}.max())", f"{n}.diff()", f"{n}.values.sum()",
            f"np.cumsum({n})", f"np.sort({n})", f"{self.column(TEXTS)}.astype('category').cat.codes", "g.index", "f[f.a > 1].b", "g.groupby('k').a.transform('sum')",
        )

    def value(self):
        return self.wrong() if self.random.random() < 0.04 else self.one(self.number, self.flag, self.text)()

    def lines(self):
        for _ in range(self.random.randint(1, 4)):
            if self.random.random() < 0.5:
                name = self.one("x", "y", "z", "a", "total")
                value = self.value()
                yield self.one(f"g = g.assign({name}={value})", f"g = g.copy(); g[{name!r}] = {value}", f"g = g.assign({name}=lambda g: {value})", f"at = g.copy(); see = at.loc; at[{name!r}] = {value}; g = see[at.a > 0]")
                self.made.append(name)
            else:
                yield self.one(
                    f"g = g[{self.flag()}]", f"g = g.loc[{self.flag()}]", f"g = g.dropna(subset=[{self.one(*map(repr, NUMBERS + TEXTS))}])", f"g = g.sort_values({self.one(*map(repr, NUMBERS))}{self.one('', ', kind=' + repr('stable'))})",
                    f"g = g.fillna({self.one(repr({'b': 0.5}), '0', '0.1', repr({'t': 'x', 'c': 1}))})", "g = g.dropna()", f"g = g.astype({{{self.one(*map(repr, NUMBERS))}: {self.one('float', 'str', 'int')}}})",
                    "g = g.drop(columns='d').assign(d=True)", "g = helper(g)", "g = g.assign(s=sets)", f"g = g.rename(columns={{'{self.one('a', 'b')}': 'q'}}).rename(columns={{'q': '{self.one('a', 'b')}'}})",
                    f"s = g.{self.one('a', 'i', 'b')}; s {self.one('+', '*', '-', '//')}= 2",
                )

    def groups(self):
        yield from self.lines()
        how = self.one("sum", "mean", "min", "max", "count", "nunique", "first", "last", "std", "median", "any")
        column = self.one("a", "b", "c", "t", "d", *self.made)
        by = self.one("'k'", "['k', 'a']", "['k']")
        yield self.one(
            f"g = g.groupby({by}).{self.one('b', 'c', 'a')}.{how}()" if "a" not in by else f"g = g.groupby({by}).b.{how}()", f"g = g.groupby({by}, as_index=False).agg(n=({column!r}, {how!r}), m=('b', 'mean'))",
            f"g = g.groupby({by}).agg({{'b': {how!r}, 'c': 'sum'}})", f"g = g.groupby({by})[['b', 'c']].{how}()", f"g = g.groupby({by}).size()", f"g = g.assign(s=g.groupby({by}).b.transform({how!r}))",
            f"g = g.groupby({by}, dropna=False).b.{how}()", "g = g.groupby('a').b.sum()", f"g = g.groupby({by}, sort=False)['b'].agg(['min', {how!r}])",
        )
        if self.random.random() < 0.5:
            yield self.one("g = g.reset_index()", "g = g.reset_index(name='n')", "g = g.sort_values('k')", "g = g.rename(columns={'b': 'total'})", "g = g.cumsum()")
        if self.random.random() < 0.3:
            yield self.one("g = g.assign(r=g.b * 2)", "g = g[g.b > 0]", "g = g.set_index('k')", "g = g.assign(r=g.b.rank())", "g = g.head(1)", "g = g[g.n > 1]")


def written(lines):
    source = "def helper(f):\n    return f.assign(h=f.a * RATE)\n\ndef sets(f):\n    f['b'] = f.b * 2\n    return f.a\n\ndef function(f):\n    g = f\n" + "".join(f"    {line}\n" for line in lines) + "    return g\n"
    scope = {"np": np, "pd": pd, "RATE": RATE, "WANTED": WANTED, "CODES": CODES, "chr_x": "x", "chr_y": "yy", "f_rate": 3}
    exec(source, scope)
    return scope["function"]


FLOATS = st.sampled_from([None, 0.0, -0.0, 0.2, 1.0, 2.5, -3.0, float("inf"), 1e30])
ROW = st.tuples(
    st.sampled_from([-3, 0, 1, 2, 3, 2**60 + 1]), FLOATS, FLOATS, st.integers(0, 3) | st.just(255), st.booleans(), st.sampled_from(["x", "", "y z", " x", "12", "2020-01-01"]), st.sampled_from([None, "x", "y", ""]),
    st.sampled_from([None, "2020-01-01", "2020-01-02 13:00", "1999-12-31"]),
)
ROWS = st.lists(ROW, min_size=1, max_size=12) | st.lists(ROW, min_size=30, max_size=60)


def frame_of(rows, shuffled, full):
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "i", "d", "t", "k", "w"]).astype({"a": "int64", "b": "float64", "c": "float32", "i": "uint8", "d": bool, "t": object, "k": object, "w": "datetime64[ns]"})
    if full:
        frame = frame.assign(k=frame.k.fillna("x"))
    frame.index = list(range(100, 100 + len(frame)))
    return frame.sample(frac=1, random_state=1) if shuffled else frame


def said(value, exact):
    """What a cell holds, as a text: numbers are the same as floats, where they are the same, and nulls as nulls. Not ``exact``: floats to six digits, for a sum may have been rounded to 32 bits."""
    if value is None or value is pd.NaT or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return "null"
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)):
        if np.isfinite(value) and value == int(value) and (exact or isinstance(value, (int, np.integer)) or abs(value) < 1e6):
            return str(int(value))
        return repr(float(value)) if exact else f"{float(value):.6g}"
    return f"{type(value).__name__} {value}" if isinstance(value, str) else str(value)


def rows_of(result, labels):
    table = result.to_frame("value") if result.ndim == 1 else result
    table = table.astype(object)
    return [(said(label, labels) if labels else "", *(said(cell, labels) for cell in row)) for label, row in zip(table.index, table.itertuples(index=False))]


def called(function, frame):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(frame)


def check(function, frame, parts, labels):
    """What it gives of all is, part by part, what it gives of the part alone, if it gives anything."""
    before = frame.copy()
    try:
        result = called(function, frame)
    except Exception as error:  # what is drawn may make no sense
        event(f"raises {type(error).__name__}")
        return False
    finally:
        assert_frame_equal(frame, before)
    given = sorted(rows_of(result, labels))
    try:
        alone = [row for part in parts for row in rows_of(called(function, part.copy()), labels)]
    except Exception as error:  # as a column of nulls alone, which has no texts
        event(f"alone raises {type(error).__name__}")
        return False
    assert given == sorted(alone)
    return True


@given(ROWS, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_read_to_give_of_each_row_one_row_does(rows, chances, shuffled):
    function = written(Writer(chances).lines())
    frame = frame_of(rows, shuffled, False)
    known = read(function, Arguments((), (), {}), frame, ()) is not None
    event(f"known: {known}")
    if known:
        event(f"holds: {check(function, frame, [frame.iloc[[n]] for n in range(len(frame))], True)}")


@given(ROWS, st.randoms(use_true_random=False), st.booleans(), st.booleans())
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_read_to_give_of_each_group_its_rows_does(rows, chances, shuffled, full):
    function = written(Writer(chances).groups())
    frame = frame_of(rows, shuffled, full)
    known = read(function, Arguments((), (), {}), frame, ["k"]) is not None
    event(f"known: {known}")
    if known:
        event(f"holds: {check(function, frame, [part for _, part in frame.groupby('k', dropna=False)], False)}")


def test_many_of_what_is_drawn_are_read():
    """Or the laws say nothing."""
    frame = frame_of([(n % 3, 0.5, 1.0, 1, True, "x", "y", None) for n in range(20)], False, False)
    drawn = [Writer(random.Random(seed)) for seed in range(400)]
    assert sum(read(written(writer.lines()), Arguments((), (), {}), frame, ()) is not None for writer in drawn) > 100
    assert sum(read(written(writer.groups()), Arguments((), (), {}), frame, ["k"]) is not None for writer in drawn) > 25

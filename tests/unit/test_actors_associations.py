"""Paired capture: what is reconstructed is what the paper's own words give (Newt 3.2), and what Figures 4 and 5 draw."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.actors.associations import Groups, Intervals, Pairs, Spans, all_of_all, load, made_of, one_to_one, union
from bigdebug.actors.columns import Column
from bigdebug.actors.kinds import RECORD
from bigdebug.actors.log import ANY, Log
from bigdebug.errors import ActorError

TAGS = st.sampled_from(["a", "b", ANY, 1, None, "א"])
MANY = TAGS | st.sets(TAGS, min_size=1)
CALLS = st.lists(
    st.tuples(st.sampled_from(["input", "output", "reset"]), MANY) | st.just(("pair", ANY)) | st.just(("lone", ANY)), max_size=60,
)


def tags_of(tag):
    return tag if isinstance(tag, (set, frozenset)) else {tag}


def oracle(calls):
    """Table 1, word for word: addInput adds to D_T, addOutput associates all of D_T, reset empties D_T. One set of inputs for each output."""
    sets, inputs, made = {}, 0, []
    for what, tag in calls:
        if what == "input":
            for each in tags_of(tag):
                sets.setdefault(each, set()).add(inputs)
            inputs += 1
        elif what == "output":
            made.append(set().union(*(sets.get(each, set()) for each in tags_of(tag))))
        elif what == "reset":
            for each in tags_of(tag):
                sets[each] = set()
        else:
            if what == "pair":
                made.append({inputs})
            inputs += 1
    return inputs, made


def noted(calls) -> Log:
    log = Log(RECORD, RECORD)
    for what, tag in calls:
        if what == "input":
            log.add_input("i", tag, None)
        elif what == "output":
            log.add_output("o", tag, None)
        elif what == "reset":
            log.reset(tag)
        elif what == "pair":
            log.capture("i", "o")
        else:
            log.lone("i")
    return log


def numbers(*values):
    return np.array(sorted(set(values)), np.int64)


def pairs(found, outputs):
    return [set(found.backward(numbers(output)).tolist()) for output in range(outputs)]


@given(CALLS, st.data())
def test_what_is_reconstructed_is_what_the_paper_says(calls, data):
    inputs, made = oracle(calls)
    found = noted(calls).associations()
    assert pairs(found, len(made)) == made
    some = data.draw(st.sets(st.integers(0, max(0, len(made) - 1)), max_size=5)) if made else set()
    assert found.backward(numbers(*some)).tolist() == sorted(set().union(*(made[each] for each in some)))
    for each in range(inputs):
        assert found.forward(numbers(each)).tolist() == [output for output, of in enumerate(made) if each in of]
    few = data.draw(st.sets(st.integers(0, max(0, inputs - 1)), max_size=5)) if inputs else set()
    assert found.forward(numbers(*few)).tolist() == [output for output, of in enumerate(made) if of & few]


@given(CALLS)
@settings(max_examples=30)
def test_what_is_written_is_what_is_read(tmp_path_factory, calls):
    home = tmp_path_factory.mktemp("arrays")
    _, made = oracle(calls)
    log = noted(calls)
    found = load(log.associations().dump(home), home.__truediv__, log.inputs.count, log.outputs.count)
    assert pairs(found, len(made)) == made


def test_figure_4_an_output_of_a_reduce_is_made_of_what_came_before_it():
    """Left: three values and two outputs of a key are six associations. Right: paired capture has those that happened before, and a reset ends a key."""
    log = Log(RECORD, RECORD)
    for call in ("i", "o", "i", "i", "o", "r", "i", "o"):
        {"i": lambda: log.add_input("v", ANY, None), "o": lambda: log.add_output("w", ANY, None), "r": lambda: log.reset(ANY)}[call]()
    found = log.associations()
    assert pairs(found, 3) == [{0}, {0, 1, 2}, {3}]
    assert sum(map(len, pairs(found, 2))) < 3 * 2


def test_figure_5_tags_tell_groups_apart_that_were_all_read_before_the_first_output():
    """HashGroup (6.2): reads k1, k2, k1, k2, k2, and then gives a tuple for each."""
    log = Log(RECORD, RECORD)
    for key in ("k1", "k2", "k1", "k2", "k2"):
        log.add_input(key, key, None)
    for key in ("k1", "k2"):
        log.add_output(key, key, None)
        log.reset(key)
    log.add_output("k1", "k1", None)
    found = log.associations()
    assert pairs(found, 3) == [{0, 2}, {1, 3, 4}, set()]


def test_a_buffering_actor_takes_two_numbers_an_output_not_all_pairs():
    log = Log(RECORD, RECORD)
    log.add_many(log.inputs, 200_000, ANY)
    log.add_many(log.outputs, 100_000, ANY)
    found = log.associations()
    assert found.backward(numbers(0, 99_999)).tolist() == list(range(200_000))
    assert len(found.forward(numbers(199_999))) == 100_000


def test_an_output_before_any_input_was_made_of_nothing():
    log = Log(RECORD, RECORD)
    log.add_output("o", ANY, None)
    log.add_input("i", ANY, None)
    assert pairs(log.associations(), 1) == [set()]
    assert log.associations().forward(numbers(0)).tolist() == []


def test_no_tags_are_refused_and_change_nothing():
    log = Log(RECORD, RECORD)
    with pytest.raises(ActorError, match="one at least"):
        log.add_input("i", set(), None)
    log.add_output("o", ANY, None)
    assert pairs(log.associations(), 1) == [set()]


@given(st.lists(st.integers(0, 6), max_size=20), st.lists(st.integers(0, 6), max_size=20), st.booleans())
def test_groups_are_made_of_their_inputs(of_inputs, of_outputs, steps):
    found = Groups(*(Column.of(np.array(each, np.int64)) if steps else Column(np.array(each, np.int64)) for each in (of_inputs, of_outputs)))
    for output, group in enumerate(of_outputs):
        assert found.backward(numbers(output)).tolist() == [i for i, each in enumerate(of_inputs) if each == group]
    for taken, group in enumerate(of_inputs):
        assert found.forward(numbers(taken)).tolist() == [o for o, each in enumerate(of_outputs) if each == group]


@given(st.integers(0, 5), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=12))
def test_pairs_are_made_of_a_left_and_a_right_input_or_of_one(tmp_path_factory, left, rows):
    rows = [(min(one, left), other) for one, other in rows]
    home = tmp_path_factory.mktemp("pairs")
    made = Pairs(*(Column.of(np.array([row[side] for row in rows], np.int64)) for side in (0, 1)), left)
    wanted = [{*([one - 1] if one else []), *([left + other - 1] if other else [])} for one, other in rows]
    for found in (made, load(made.dump(home), home.__truediv__, left + 4, len(rows))):
        assert pairs(found, len(rows)) == wanted
        assert found.backward(np.arange(len(rows))).tolist() == sorted(set().union(*wanted))
        for number in range(left + 4):
            assert found.forward(numbers(number)).tolist() == [row for row, each in enumerate(wanted) if number in each]
        assert found.forward(np.arange(left + 4)).tolist() == [row for row, each in enumerate(wanted) if each]
    for inputs, outputs in ((left - 1, len(rows)), (left + 4, len(rows) + 1)):
        with pytest.raises(ValueError, match="not there"):
            load(made.dump(home), home.__truediv__, inputs, outputs)


@given(st.lists(st.integers(0, 1 << 40), max_size=30) | st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 9)), st.lists(st.integers(0, 60)))
def test_a_column_is_its_integers_whatever_it_is_kept_as(tmp_path_factory, values, wanted):
    if isinstance(values, tuple):
        values = [values[0] + values[1] * n for n in range(values[2])]
    home, wanted = tmp_path_factory.mktemp("column"), numbers(*wanted)
    plain = np.array(values, np.int64)
    made = Column.of(plain)
    for column in (made, Column(plain), Column.load(made.dump(home, "c"), home.__truediv__)):
        assert (len(column), column.array.tolist()) == (len(values), values)
        assert column.take(np.arange(len(values))).tolist() == values
        assert column.holding(wanted).tolist() == [i for i, each in enumerate(values) if each in wanted]
        if values == sorted(values):
            assert column.below(wanted).tolist() == [sum(each < one for each in values) for one in wanted]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20))
def test_a_union_of_intervals_is_all_that_they_cover(intervals):
    starts, stops = (np.array([each[side] for each in intervals], np.int64) for side in (0, 1))
    assert union(starts, stops).tolist() == sorted({n for start, stop in intervals for n in range(start, stop)})


@given(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=20))
def test_spans_are_what_each_input_gave(before, counts):
    found = Spans(Column.of(np.cumsum([before, *counts])))
    made = [[]] * before + [[n] for n, count in enumerate(counts) for _ in range(count)]
    assert [found.backward(numbers(n)).tolist() for n in range(len(made) + 2)] == [*made, [], []]
    for n in range(len(counts) + 1):
        assert found.forward(numbers(n)).tolist() == [output for output, of in enumerate(made) if n in of]


def test_what_is_said_in_a_word_takes_no_array():
    for found in (one_to_one(10**9), all_of_all(10**9, 3), made_of(Column.steps(10**9, 5, 2))):
        assert isinstance(found, (Intervals, Groups))
    assert one_to_one(10**9).backward(numbers(7, 10**9 - 1)).tolist() == [7, 10**9 - 1]
    assert one_to_one(10**9).backward(numbers(10**9)).tolist() == []

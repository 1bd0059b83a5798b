"""Ranges of sorted runs: all values are in one, equal ones together, and none takes more than it may, as far as values can be told apart."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.provgraph import numbering
from bigdebug.provgraph.numbering import NumberRun, merged, ranges, run_of
from bigdebug.provgraph.spilling import Spill

NUMBERS = st.integers(0, 40) | st.integers(-(2**63), 2**63 - 1)
ALIKE = st.tuples(st.sampled_from(["", "p" * 8, "p" * 40]), st.text("ab", max_size=6)).map("".join)


def run(values, spill):
    values = sorted(set(values), key=lambda value: value.encode() if isinstance(value, str) else value)
    return run_of(pa.array(values, pa.large_string()) if isinstance(values[0], str) else np.array(values, np.int64), spill)


def read(one, part):
    some = one.read(*part)
    return some.tolist() if isinstance(some, np.ndarray) else [value.encode() for value in some.to_pylist()]


@given(st.lists(st.lists(NUMBERS, min_size=1), min_size=1, max_size=8) | st.lists(st.lists(ALIKE, min_size=1), min_size=1, max_size=8), st.integers(1, 400))
def test_ranges_have_all_values_and_equal_ones_together(tmp_path_factory, values, budget):
    spill = Spill(tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as short:
        short.setattr(numbering, "_LONGER", 16)
        runs = [run(some, spill) for some in values]
        runs = [one if isinstance(one, NumberRun) else numbering.replace(one, beginning=4) for one in runs]
        found = [[read(one, part) for one, part in zip(runs, parts)] for parts in ranges(runs, budget)]
    assert [[value for some in found for value in some[number]] for number in range(len(runs))] == [read(one, (0, len(one))) for one in runs]
    for one, other in pairwise(found):
        assert max(value for some in one for value in some) < min(value for some in other for value in some)
    spill.close()


@pytest.mark.many
@pytest.mark.parametrize("prefix", ["", "p" * 1_500])
def test_a_range_takes_what_it_may_also_where_values_begin_alike(tmp_path, prefix):
    spill, rng = Spill(tmp_path), np.random.default_rng(3)
    runs = [run([f"{prefix}{number:020}{'x' * 300}" for number in rng.integers(0, 2**62, 400).tolist()], spill) for _ in range(60)]
    sizes = [sum(run.part(*part).bytes for run, part in zip(runs, parts)) for parts in ranges(runs, 400_000)]
    assert max(sizes) <= 400_000
    assert sum(sizes) / len(sizes) > 100_000
    whole = list(merged(runs, 400_000))
    assert sum(len(part.values) for part in whole) == len({text for one in runs for text in read(one, (0, len(one)))})
    spill.close()


def test_of_many_runs_there_are_not_more_samples_than_memory_has(tmp_path):
    spill, rng = Spill(tmp_path), np.random.default_rng(3)
    runs = [NumberRun(spill, spill.write(np.sort(rng.integers(0, 2**62, 300)))) for _ in range(120)]
    most = []

    class Told(NumberRun):
        def samples(self, step):
            found = super().samples(step)
            most.append(len(found))
            return found

    sizes = [sum(stop - start for start, stop in parts) * 8 for parts in ranges([Told(one.spill, one.extent) for one in runs], 20_000)]
    assert sum(most[:120]) <= 8 * 120
    assert max(sizes) <= 20_000
    assert sum(sizes) == 120 * 300 * 8
    spill.close()

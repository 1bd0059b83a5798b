"""The law of lost values: whatever an output holds that is there by one record alone, and whatever right outputs hold, no innocent record is the culprit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from bigdebug.agents.judges import Judge
from tests.unit.test_lost_values import localized

BAR = 60
"""What is more is wrong."""

Field = Callable[[list[float], Any], Any]
"""Of facts, and of the rate that they are joined with; None where there is none."""

FIELDS: dict[str, Field] = {
    "total": lambda facts, rate: None if rate is None else sum(facts) * rate,
    "NaN": lambda facts, rate: math.nan if rate is None else sum(facts) * rate,
    "greatest": lambda facts, rate: None if rate is None else max(facts) * rate,
    "mean": lambda facts, rate: None if rate is None else sum(facts) / len(facts) * rate,
    "without rate": lambda facts, rate: sum(facts),
    "each": lambda facts, rate: [] if rate is None else [fact * rate for fact in facts],
    "texts": lambda facts, rate: [] if rate is None else ["x" * min(200, int(abs(fact * rate))) for fact in facts],
    "error": lambda facts, rate: None if rate is None or sum(facts) * rate < BAR else "late",
    "errors": lambda facts, rate: [] if rate is None else ["late" for fact in facts if fact * rate > BAR],
    "status": lambda facts, rate: None if rate is None else "late" if sum(facts) * rate > BAR else "fine",
    "both": lambda facts, rate: (None, None) if rate is None else (sum(facts) * rate, "late" if sum(facts) * rate > BAR else None),
    "by name": lambda facts, rate: {} if rate is None else {"total": sum(facts) * rate},
    "by number": lambda facts, rate: {} if rate is None else {place: fact * rate for place, fact in enumerate(facts)},
    "loss": lambda facts, rate: min((fact for fact in facts if fact < 0), default=None),
    "many": lambda facts, rate: len(facts),
    "text": lambda facts, rate: "k",
    "number": lambda facts, rate: 7,
    "null": lambda facts, rate: None,
}


def there(known: dict[str, Any]) -> dict[str, Any]:
    """The fields that hold something."""
    return {name: value for name, value in known.items() if value is not None and value == value and value not in ([], {})}


SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "tuple": lambda known: tuple(known.values()),
    "dict": dict,
    "dict of what is there": there,
    "list": lambda known: [*known.values()],
    "nested": lambda known: ("k", {"a": {"b": tuple(known.values())}}),
    "object": lambda known: SimpleNamespace(**known),
    "object of what is there": lambda known: SimpleNamespace(key=1, **there(known)),
    "dicts": lambda known: ("k", [there(known)]),
    "alone": lambda known: next(iter(known.values())),
}


def most(output: Any) -> float:
    """The most that there is in an output; of something late, too much."""
    if isinstance(output, str):
        return 1_000 if output == "late" else len(output)
    if isinstance(output, SimpleNamespace):
        output = vars(output)
    if isinstance(output, dict | list | tuple):
        return max((most(each) for each in (output.values() if isinstance(output, dict) else output)), default=0)
    return 0 if output is None or output != output else abs(output)


def is_wrong(output: Any) -> bool:
    return most(output) > BAR


FACTS = st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=5)
RATE = st.sampled_from([None, 0.5, 1, 2])


@given(
    st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=4, unique=True), st.sampled_from(sorted(SHAPES)), FACTS, RATE, st.sampled_from([1_000, 5_000, -1_000]),
    st.sets(st.integers(0, 5), min_size=1), st.lists(st.tuples(FACTS, RATE), max_size=6), st.randoms(use_true_random=False),
)
def test_no_innocent_record_is_the_culprit(
    fields: list[str], shape: str, facts: list[int], rate: Any, corrupt: int, where: set[int], others: list[tuple[list[int], Any]], random: Any,
) -> None:
    """``where`` the facts are corrupt; the place behind them is the rate's."""
    def output(known: Sequence[float], by: Any) -> Any:
        return SHAPES[shape]({name: FIELDS[name]([*known], by) for name in fields})

    def program(records: list[Any]) -> list[Any]:
        known = [value for side, value, _ in records if side == "fact"]
        return [output(known, next((value for side, value, _ in records if side == "rate"), None))] if known else []

    clean = [*(("fact", fact, False) for fact in facts), *([] if rate is None else [("rate", rate, False)])]
    records = [(side, abs(corrupt) if side == "rate" else corrupt, True) if place in where else (side, value, False) for place, (side, value, _) in enumerate(clean)]
    random.shuffle(records)
    assume(program(records) and is_wrong(program(records)[0]) and not is_wrong(program(clean)[0]))
    right = [each for each in (output(*other) for other in others) if not is_wrong(each)]
    for fault_set in localized(program, records, Judge(is_wrong), right).fault_sets:
        assert fault_set.verdict == "ambiguous" or all(source.record[2] for source in fault_set.records)

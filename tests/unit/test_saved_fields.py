"""Values of Arrow's are told as PySpark tells them, by Spark's types: rows with names, dictionaries, and moments as the program's clock said them."""

from __future__ import annotations

import copy
import datetime
import pickle
from typing import Any

import pyarrow as pa
import pytest

from bigdebug.errors import IncompleteLineageError
from bigdebug.trace.clock import zone_here
from bigdebug.trace.fields import Fields, fits, holds
from bigdebug.trace.rows import SavedRow

Z = {"type": "struct", "fields": [{"name": "z", "type": "timestamp", "nullable": True, "metadata": {}}]}
KIND: Any = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": Z, "containsNull": True}, "valueContainsNull": True}
HELD = pa.map_(pa.string(), pa.list_(pa.struct([("z", pa.timestamp("us", "UTC"))])))
NOON = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)


def told(column: pa.Array, kind: Any, zone: str = "Europe/Oslo") -> list[Any]:
    return [row.c for row in Fields(("c",), (kind,), zone).rows([column], len(column))]


def test_what_is_nested_is_told_whichever_part_of_it_is_asked() -> None:
    column = pa.array([[("a", [{"z": NOON}])], None, [], [("b", [None, {"z": None}]), ("c", None)]], HELD)
    assert fits(HELD, KIND)
    whole = told(column, KIND)
    assert whole == [{"a": [(datetime.datetime(2024, 7, 1, 14),)]}, None, {}, {"b": [None, (None,)], "c": None}]
    for start in range(4):
        assert told(column.slice(start), KIND) == whole[start:]
        assert told(column.take(pa.array([3, start])), KIND) == [whole[3], whole[start]]


def test_types_that_are_others_do_not_fit() -> None:
    odd = [
        (pa.timestamp("us"), "timestamp"), (pa.timestamp("ns", "UTC"), "timestamp"), (pa.uint64(), "long"), (pa.int64(), "integer"), (pa.float64(), "float"),
        (pa.decimal128(10, 2), "decimal(10,3)"), (pa.int32(), "interval year to month"), (pa.string(), "variant"), (pa.dictionary(pa.int8(), pa.string()), "string"), (pa.int32(), "double"),
        (pa.struct([("y", pa.int32())]), Z), (pa.binary(), "string"), (pa.int64(), {"type": "udt"}), (pa.list_(pa.int32()), KIND), (pa.int32(), None), (pa.int32(), 3),
    ]
    assert [pair for pair in odd if fits(*pair)] == []
    assert fits(pa.timestamp("us"), "timestamp", naive=True)
    assert not fits(pa.timestamp("us", "UTC"), "timestamp", naive=True)
    assert fits(pa.int64(), "interval day to second")


ALTERED: list[Any] = [
    3, True, [], ["long"], {}, {"type": [1]}, {"type": {}}, {"type": "struct"}, {"type": "struct", "fields": [1]}, {"type": "struct", "fields": [{"name": 1, "type": "long"}]}, {"type": "struct", "fields": 1},
    {"type": "array"}, {"type": "array", "elementType": [1]}, {"type": "map", "keyType": "string"}, {"type": "map", "keyType": "string", "valueType": {"type": 2}},
]


@pytest.mark.parametrize("kind", ALTERED)
def test_what_is_no_type_is_refused_where_it_is_read(kind: Any) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        Fields.load({"names": ["c"], "kinds": [kind], "zone": ""})


@pytest.mark.parametrize("data", [{"names": "c", "kinds": ["long"]}, {"names": [1], "kinds": ["long"]}, {"names": ["c"], "kinds": "l"}, {"names": ["c"], "kinds": []}, {"names": ["c"]}])
def test_columns_without_names_and_types_are_refused(data: Any) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        Fields.load({"zone": "", **data})


@pytest.mark.parametrize("kind", ["interval", "interval ", "interval  day", "intervals", "decimal", "decimal(x)", "decimal(10)", "", "moon", None, {"type": "moon"}, {"type": "udt", "sqlType": Z}, KIND])
def test_of_any_type_that_is_read_it_is_known_whether_values_are_told(kind: Any) -> None:
    known = Fields.load({"names": ["c"], "kinds": [kind], "zone": ""}).kinds[0]
    for held in (pa.int64(), pa.duration("us"), pa.decimal128(10, 2), pa.struct([("z", pa.int64())]), pa.null()):
        assert not fits(held, known)
    assert holds(known, ("timestamp",)) == (kind == KIND or (isinstance(kind, dict) and "sqlType" in kind))


def test_moments_that_python_has_not_are_told_as_text() -> None:
    assert list(map(str, told(pa.array([1 << 60], pa.timestamp("us", "UTC")), "timestamp"))) == [str(pa.array([1 << 60], pa.timestamp("us", "UTC")).cast(pa.string())[0])]


def test_a_clock_that_is_not_known_here_is_refused() -> None:
    with pytest.raises(IncompleteLineageError, match="Nowhere/Town"):
        told(pa.array([NOON]), "timestamp", "Nowhere/Town")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Oslo", "Australia/Lord_Howe"])
def test_the_zone_of_this_process_is_found(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert zone_here() == zone
        monkeypatch.setenv("TZ", "ABC-3DEF,M3.1.0,M4.1.0")  # a rule, and no place
        time.tzset()
        assert zone_here() == ""
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_row_is_asked_as_one_of_pyspark_is() -> None:
    row = SavedRow.of(("id", "in"), (1, [SavedRow.of(("z",), ({"k": SavedRow.of(("y",), (2,))},))]))
    assert row.id == 1
    assert "id" in row
    assert 1 not in row
    with pytest.raises(AttributeError, match="no field 'other'; it has id, in"):
        _ = row.other
    assert not hasattr(row, "__array__")
    assert row.asDict()["in"][0] == ({"k": (2,)},)
    assert row.asDict(recursive=True) == {"id": 1, "in": [{"z": {"k": {"y": 2}}}]}
    for again in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert again == row
        assert again.id == 1

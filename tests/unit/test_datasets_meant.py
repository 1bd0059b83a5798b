"""A name that several datasets have means what outlives its session, and never what another session had."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import AmbiguousDatasetError

AT = datetime(2026, 11, 1, tzinfo=timezone.utc)

RAW, OUT = Dataset("file", "/raw"), Dataset("file", "/out")
TABLE = Dataset("file:/wh", "default.orders", "table", "parquet", "file:/wh/orders")


def view(session: str, name: str = "orders", kind: str = "view") -> Dataset:
    return Dataset(f"spark:{session}", name, kind)


def wrote(output: Dataset, source: Dataset = RAW, mode: str = "created", how: str = "IDENTITY", session: str = "s") -> Process:
    identity = f"{output} {source} {session}"
    return Process(
        identity, f"write {identity}", "write", session, AT, AT, "succeeded", reads=(Access(source),), writes=(Access(output, mode, (Field("amt", "int"),)),),
        columns=(ColumnEdge(output, "amt", source, "amt", how),),
    )


@pytest.fixture
def store(tmp_path: Path) -> DatasetStore:
    made = DatasetStore(tmp_path / "datasets.sqlite")
    made.record(wrote(TABLE), wrote(OUT, TABLE, how="TRANSFORMATION"))
    return made


@pytest.mark.parametrize("kind", ["view", "cache"])
def test_a_view_or_a_cache_of_another_session_does_not_hide_a_table(store: DatasetStore, kind: str) -> None:
    store.record(wrote(view("old", kind=kind), mode="defined"))
    for session in ("", "new"):
        asked = Datasets(store, session)
        assert asked.impact("orders", "amt").column("effect") == ["fails", "stale"]
        assert "view" not in " ".join(asked.impact("orders", "amt").notes)


def test_a_cache_of_this_session_does_not_hide_its_table(store: DatasetStore) -> None:
    store.record(wrote(view("new", kind="cache"), TABLE))
    assert Datasets(store, "new").impact("orders", "amt").column("effect")[0] == "fails"


def test_a_view_of_this_session_beside_a_table_that_it_uses_is_said(store: DatasetStore) -> None:
    store.record(wrote(view("new"), mode="defined"), wrote(OUT, TABLE, how="TRANSFORMATION", session="new"))
    found = Datasets(store, "new").downstream("orders")
    assert found.column("dataset") == ["file:/out"]
    assert found.notes[0] == "This is file:/wh/default.orders. view spark:new/orders of this session is called so, too."
    assert Datasets(store, "new").upstream("spark:new/orders").column("dataset") == ["file:/raw"]


def test_a_view_of_this_session_comes_before_a_table_that_it_never_used(store: DatasetStore) -> None:
    store.record(wrote(view("new"), mode="defined"))
    found = Datasets(store, "new").upstream("orders")
    assert found.column("dataset") == ["file:/raw"]
    assert found.notes[0] == "file:/wh/default.orders is called so, too."
    assert Datasets(store, "other").downstream("orders").column("dataset") == ["file:/out"]


def test_a_view_of_this_session_comes_before_a_file_that_is_called_so_but_for_its_ending(store: DatasetStore) -> None:
    weather = Dataset("file", "/in/weather.csv")
    store.record(wrote(weather), wrote(view("new", "weather"), weather, mode="defined"))
    assert Datasets(store, "new").upstream("weather").column("dataset") == ["file:/in/weather.csv", "file:/raw"]
    assert "weather.csv is called so, too" in Datasets(store, "new").upstream("weather").notes[0]
    assert Datasets(store, "other").upstream("weather").column("dataset") == ["file:/raw"]


def test_of_two_that_outlive_their_sessions_none_is_preferred(store: DatasetStore) -> None:
    store.record(wrote(Dataset("sqlite", "orders", "jdbc")))
    with pytest.raises(AmbiguousDatasetError, match=r"default\.orders, sqlite/orders"):
        Datasets(store).impact("orders", "amt")


def test_of_views_that_two_sessions_of_an_application_have_none_is_preferred(store: DatasetStore) -> None:
    store.record(wrote(view("new", "v"), mode="defined"), wrote(view("new/2", "v"), TABLE, mode="defined"))
    with pytest.raises(AmbiguousDatasetError, match="spark:new/2/v, spark:new/v"):
        Datasets(store, "new").upstream("v")
    assert Datasets(store, "new").upstream("spark:new/v").column("dataset") == ["file:/raw"]


def test_a_column_that_is_no_text_is_refused(store: DatasetStore) -> None:
    with pytest.raises(TypeError, match="a column is named by text"):
        Datasets(store).upstream("orders", 3)  # type: ignore[arg-type]

"""Datasets are called as briefly as can be, and never so that two could be meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.datasets.brief import brief, is_called
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import UnknownDatasetError
from tests.sent import process

PART = st.text(st.sampled_from("ab. /:'ä"), max_size=3)
PLACES = st.builds("{}{}/{}/{}".format, st.sampled_from(["file:/", "s3://b", "/", "spark:local-1", "app.write.file:/"]), PART, PART, PART)


def test_names_are_the_last_parts_that_tell_them_apart() -> None:
    texts = [
        "file:/tmp/x/features", "flights.write.file:/tmp/x/features", "s3://b/in/orders.csv", "s3://b/out/orders.csv", "spark:local-17/range(0, 100, 1)",
        "file:/my data, old/it's", "flights.load./tmp/x/model", "file:/tmp/x/model", "flights.fit.Pipeline", "default.t", "",
    ]
    assert brief(texts) == {
        "file:/tmp/x/features": "features", "flights.write.file:/tmp/x/features": "flights.write.features", "s3://b/in/orders.csv": "in/orders.csv",
        "s3://b/out/orders.csv": "out/orders.csv", "spark:local-17/range(0, 100, 1)": "range(0, 100, 1)", "file:/my data, old/it's": "it's",
        "flights.load./tmp/x/model": "flights.load.model", "file:/tmp/x/model": "model",
    }


@given(st.lists(PLACES, max_size=8, unique=True))
def test_two_are_never_called_alike_and_a_name_is_an_end_of_its_own(places: list[str]) -> None:
    names = brief(places)
    whole = [names.get(place, place) for place in places]
    assert len(set(whole)) == len({place.replace("file:/", "/", 1) for place in places})
    assert all(name == place or is_called(place, name) for place, name in names.items())
    assert all(name == place or place.endswith(name.rsplit(".", 1)[-1]) for place, name in names.items())


def test_a_job_is_found_as_tables_call_it(tmp_path: Path) -> None:
    jobs = [f"app.insert.file:/{folder}" for folder in ("tmp/a/sales", "tmp/b/sales", "tmp/b/orders", "tmp/b/orders", "other")]
    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(*(replace(process(number), id=f"p{number}", job=job) for number, job in enumerate(jobs)))
    asked = Datasets(store)
    assert "app.insert.orders" in str(asked.processes())
    assert asked.processes("app.insert.orders").column("process") == ["p3", "p2"]
    assert asked.processes("insert.file:/tmp/b/or").column("process") == ["p3", "p2"]
    assert asked.processes("nothing").rows == ()
    assert asked.changed("app.insert.orders").title == "Changes of app.insert.file:/tmp/b/orders"
    assert asked.changed("app.insert.a/sales").title == "Changes of app.insert.file:/tmp/a/sales"
    with pytest.raises(UnknownDatasetError, match=r"tmp/a/sales, .*tmp/b/sales"):
        asked.changed("app.insert.sales")
    store.close()

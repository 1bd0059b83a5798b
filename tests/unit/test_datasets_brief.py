"""Datasets are called as briefly as can be, and never so that two could be meant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bigdebug.datasets.brief import brief

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
    assert all(name == place or place.endswith(name.rsplit(".", 1)[-1]) for place, name in names.items())

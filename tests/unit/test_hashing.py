"""Keys must go where PySpark sends them."""

from __future__ import annotations

import os
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from pyspark.core.rdd import portable_hash as pyspark_hash

from bigdebug.agents.hashing import portable_hash

keys = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda parts: st.tuples(parts) | st.tuples(parts, parts) | st.tuples(parts, parts, parts),
)


@given(keys)
def test_it_is_the_number_that_pyspark_gives(key: object) -> None:
    with mock.patch.dict(os.environ, PYTHONHASHSEED="0"):
        assert portable_hash(key) == pyspark_hash(key)

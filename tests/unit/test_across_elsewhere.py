"""Files that were changed since, and the rows of a result that each may have had: those of its folder, kept once for each folder."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bigdebug.spark.across.elsewhere import Elsewhere


def test_a_changed_file_may_have_the_rows_of_its_folder_and_files_of_one_folder_have_them_together() -> None:
    places = pa.array(["b", "a", "c", "b", "a", "b"])
    found = Elsewhere.of(places, {"1": "b", "2": "b", "3": "a", "4": "nobody's"})
    assert {path: found.rows(path).tolist() for path in "1234"} == {"1": [0, 3, 5], "2": [0, 3, 5], "3": [1, 4], "4": []}
    assert found.rows("1") is found.rows("2")
    assert (found.files, "4" in found, "5" in found) == (["1", "2", "3"], True, False)
    assert sorted(found.every.tolist()) == [0, 1, 3, 4, 5]
    assert found.certain(6).tolist() == [False, False, True, False, False, False]


def test_where_no_file_was_changed_all_rows_are_certain() -> None:
    for found in (Elsewhere.of(pa.array(["a"]), {}), Elsewhere.of(pa.array([], pa.string()), {"1": "a"})):
        assert found.certain(1).tolist() == [True]
        assert found.files == []
        assert found.every.dtype == np.int64

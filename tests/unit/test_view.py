"""Views: what they say unasked, and arrays beside messages."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import MessageError
from bigdebug.trace.table import Table
from bigdebug.views.buffers import PLACE, put_in, taken_out
from bigdebug.views.payload import VERSION, Request
from bigdebug.views.replies import Known
from bigdebug.views.view import View


class Doubling(View):
    kind = "doubling"

    @property
    def requests(self) -> Known:
        return {"twice": self._twice}

    def table(self) -> Table:
        return Table(("what",), [])

    def _twice(self, request: Request) -> dict[str, Any]:
        given = np.frombuffer(request.content["numbers"], dtype=np.int32)
        return {"numbers": given * 2}


def test_arrays_come_and_go_beside_messages() -> None:
    asked, buffers = taken_out({"version": VERSION, "id": 7, "request": "twice", "content": {"numbers": np.array([1, 2, 3], dtype=np.int32)}})
    said, back = taken_out(Doubling().answer(json.loads(json.dumps(asked)), buffers))
    assert json.loads(json.dumps(said)) == {"version": VERSION, "id": 7, "answer": "twice", "content": {"numbers": {PLACE: 0}}}
    assert np.frombuffer(back[0], dtype=np.int32).tolist() == [2, 4, 6]


@given(st.recursive(st.none() | st.integers() | st.text() | st.binary().map(lambda each: np.frombuffer(each, dtype=np.uint8)),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != PLACE), inner)))
def test_whatever_is_taken_out_comes_back(message: Any) -> None:
    sent, buffers = taken_out(message)
    assert _plain(put_in(json.loads(json.dumps(sent)), buffers)) == _plain(message)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | memoryview):
        return bytes(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("number", [1, -1, "0", None, True])
def test_a_place_without_a_buffer_is_refused(number: Any) -> None:
    with pytest.raises(MessageError, match="names another one"):
        put_in({"numbers": {PLACE: number}}, [b"12"])


def test_all_that_show_a_view_hear_it_until_they_leave_and_one_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    view, heard = Doubling(), []

    def gone(said: dict[str, Any]) -> None:
        raise RuntimeError("no comm")

    view.hear(gone)
    leave = view.hear(heard.append)
    with caplog.at_level(logging.WARNING, "bigdebug"):
        view.tell("moved", {"at": 1})
    assert "no comm" in caplog.text
    leave()
    leave()
    view.tell("moved", {"at": 2})
    assert heard == [{"version": VERSION, "event": "moved", "content": {"at": 1}}]

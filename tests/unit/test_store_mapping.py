"""Pages that a question will touch are asked for, all of them, each once, and few besides."""

import mmap

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.store.mapping import PAGE, Pages, mapped
from bigdebug.store.ranges import spread

WIDTH, VALUES = 8, 200 * PAGE // 8


class Asked(mmap.mmap):
    """A file that knows for which of its pages somebody asked the system."""

    pages: list[int]

    def madvise(self, option, start, length):
        assert option == mmap.MADV_WILLNEED
        assert start % PAGE == 0
        self.pages += range(start // PAGE, (start + length) // PAGE)
        super().madvise(option, start, length)


STRETCH = st.tuples(st.integers(0, VALUES - 1), st.integers(0, 3) | st.integers(0, 5_000)).map(
    lambda pair: (pair[0], min(pair[0] + pair[1], VALUES))
)


@settings(deadline=None)
@given(st.lists(st.lists(STRETCH, max_size=12), max_size=5))
def test_every_page_is_asked_for_before_it_is_touched(tmp_path_factory, questions):
    path = tmp_path_factory.mktemp("pages") / "array"
    np.arange(VALUES, dtype=np.int64).tofile(path)
    with path.open("rb") as file:
        held = Asked(file.fileno(), 0, access=mmap.ACCESS_READ)
    held.pages = []
    pages = Pages(held, WIDTH)
    touched: set[int] = set()
    for some in questions:
        before = len(held.pages)
        pages.want(np.array([start for start, _ in some], np.int64), np.array([stop for _, stop in some], np.int64))
        needed = {value * WIDTH // PAGE for start, stop in some for value in range(start, stop)}
        asked = held.pages[before:]
        assert needed <= touched | set(asked)
        # What lies between two needed ones is brought along, and nothing beyond them.
        assert all(any(abs(page - other) <= 4 for other in needed - touched) for page in asked)
        touched |= needed
    held.close()


@given(st.lists(st.tuples(st.integers(-5, 50), st.integers(0, 6))))
def test_numbers_are_spread(pairs):
    starts, counts = (np.array([pair[place] for pair in pairs], np.int64) for place in range(2))
    assert spread(starts, counts).tolist() == [start + step for start, count in pairs for step in range(count)]


def test_what_is_mapped_is_what_was_written(tmp_path):
    values = np.arange(100_000, dtype=np.uint32)
    values.tofile(tmp_path / "array")
    for scattered in (False, True):
        found, pages = mapped(tmp_path / "array", values.dtype, len(values), scattered=scattered)
        assert (found == values).all()
        assert not found.flags.writeable
        pages.want(np.array([5]), np.array([99_999]))
    (tmp_path / "none").touch()
    assert mapped(tmp_path / "none", values.dtype, 0).values.tolist() == []

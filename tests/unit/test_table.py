"""The small table: whatever stands in it is text, in a terminal and on a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.shown import plain
from bigdebug.trace.table import Table

nasty = st.text(
    st.sampled_from("\x00\x07\x1b\x9b\n\r\t\v\x85\u200b\u202e\u2028\ud800<>&\"'$\\") | st.characters(), max_size=12
)


@st.composite
def tables(draw: Any) -> Table:
    width = draw(st.integers(1, 4))
    row = st.lists(nasty, min_size=width, max_size=width)
    return Table(draw(row), draw(st.lists(row, max_size=4)), draw(st.lists(nasty, max_size=3)), draw(nasty))


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


class Page(HTMLParser):
    """The tags of a page, and its texts by the tag they stand in."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str | None]] = set()
        self.texts: list[tuple[str, str]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(attrs)
        if tag in ("p", "th", "td"):
            self.texts.append((tag, ""))

    def handle_data(self, data: str) -> None:
        tag, text = self.texts.pop()
        self.texts.append((tag, text + data))


@given(tables(), st.integers(1, 20))
@example(Table(["a"], [["<script>alert(1)</script>"]], ["&lt;"], "<b>"), 400)
@example(Table(["a"], [["x" * 50 + "&"]]), 51)
@example(Table(["$x$"], [["'\"><td>"]]), 400)
def test_a_page_shows_each_text_as_it_is_and_has_no_other_markup(table: Table, width: int) -> None:
    page = Page(table.html(width))
    columns = len(table.header)
    captions = [("p", plain(table.caption))] if table.caption else []
    cells = [("th", cut(plain(c), width)) for c in table.header] + [("td", cut(plain(c), width)) for r in table.rows for c in r]
    assert page.texts == [*captions, *cells, *[("p", plain(note)) for note in table.notes]]
    body = ["tbody", *(["tr", *["td"] * columns] * len(table.rows))]
    around = ["p"] * len(captions), ["p"] * len(table.notes)
    assert page.tags == ["div", *around[0], "table", "thead", "tr", *["th"] * columns, *body, *around[1]]
    # Nothing on it may be taken for a formula either.
    assert page.attributes == {("class", "tex2jax_ignore mathjax_ignore"), ("style", "text-align:left")}


@given(tables(), st.integers(1, 20))
def test_as_text_each_row_is_one_line_with_its_cells_under_the_header(table: Table, width: int) -> None:
    lines = table.text(width).split("\n")
    caption = [plain(table.caption)] if table.caption else []
    cells = [[cut(plain(c), width) for c in row] for row in (table.header, *table.rows)]
    assert lines[: len(caption)] == caption
    assert lines[len(lines) - len(table.notes) :] == [plain(note) for note in table.notes]
    header, rule, *rows = lines[len(caption) : len(lines) - len(table.notes)]
    assert len(rows) == len(table.rows)
    widths = [len(dashes) for dashes in rule.split("  ")]
    assert widths == [max(len(row[i]) for row in cells) for i in range(len(table.header))]
    for line, row in zip([header, *rows], cells, strict=True):
        starts = [sum(widths[:i]) + 2 * i for i in range(len(widths))]
        assert line == line.rstrip()
        assert [line[s : s + w].rstrip() for s, w in zip(starts, widths, strict=True)] == [cell.rstrip() for cell in row]


@given(st.text(max_size=300), st.integers(1, 50))
def test_a_cell_takes_no_more_room_than_it_is_given(text: str, width: int) -> None:
    table = Table(["a"], [[text]])
    assert all(len(line) <= width for line in table.text(width).split("\n"))
    assert all(len(shown) <= width for _, shown in Page(table.html(width)).texts)


@given(tables())
def test_a_notebook_is_given_both_forms(table: Table) -> None:
    assert table._repr_mimebundle_(include=None, exclude=None) == {"text/plain": table.text(), "text/html": table.html()}

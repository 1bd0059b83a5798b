"""A small table that displays as text and as HTML. Whatever stands in a cell is shown as text, never as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bigdebug.shown import plain

# JupyterLab sets $...$ in HTML as formulas, unless told not to.
_LITERAL = 'class="tex2jax_ignore mathjax_ignore"'

WIDTH = 100
"""Characters of a cell that text shows, if nothing else is said."""


@dataclass(frozen=True, repr=False)
class Table:
    """Columns with a header, and notes in whole sentences below; ``caption`` stands above."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    caption: str = ""

    def text(self, width: int = WIDTH) -> str:
        """Columns side by side; a cell longer than ``width`` is cut (0: none is), control characters are shown escaped."""
        cells = [[_cut(plain(c), width) for c in row] for row in (self.header, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in cells]
        lines.insert(1, "  ".join("-" * w for w in widths))
        return "\n".join([*map(plain, filter(None, [self.caption])), *lines, *map(plain, self.notes)])

    def html(self, width: int = 400) -> str:
        """The same as markup, with every character of the user's escaped."""
        left = "style='text-align:left'"
        head = "".join(f"<th {left}>{_text(h, width)}</th>" for h in self.header)
        body = "".join("<tr>" + "".join(f"<td {left}>{_text(c, width)}</td>" for c in row) + "</tr>" for row in self.rows)
        caption = f"<p>{_text(self.caption)}</p>" if self.caption else ""
        notes = "".join(f"<p>{_text(note)}</p>" for note in self.notes)
        return f"<div {_LITERAL}>{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


def _text(text: str, width: int | None = None) -> str:
    return escape(plain(text) if width is None else _cut(plain(text), width))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width or width < 1 else text[: width - 1] + "…"

"""A small table that displays as text and as HTML. Whatever stands in a cell is shown as text, never as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self, width: int = 100) -> str:
        """Columns side by side; a cell longer than ``width`` is cut, control characters are shown escaped."""
        cells = [list(self.header), *([_cut(_plain(c), width) for c in row] for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in cells]
        lines.insert(1, "  ".join("-" * w for w in widths))
        return "\n".join([*lines, *(_plain(note) for note in self.notes)])

    def html(self, width: int = 400) -> str:
        head = "".join(f"<th>{escape(h)}</th>" for h in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(_cut(_plain(c), width))}</td>" for c in row) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<p>{escape(_plain(note))}</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"

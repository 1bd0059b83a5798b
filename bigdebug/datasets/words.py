"""What several answers say in the same words."""

from __future__ import annotations

from collections.abc import Iterable


def hows(how: Iterable[str]) -> str:
    """How columns are used: ``group by, identity``."""
    return ", ".join(sorted(each.lower().replace("_", " ") for each in how))


def more(found: int, limit: int) -> str:
    """That there is more than an answer has; empty if there is not."""
    return f"These are the first {limit:,}; limit=... shows more." if found > limit else ""


def first_line(text: str) -> str:
    """What an error says first."""
    return text.strip().partition("\n")[0][:200]


def cell(notebook: str | None, count: int | None) -> str:
    """A cell of a notebook: ``sales.ipynb In[4]``."""
    if notebook is None:
        return ""
    return " ".join(filter(None, (notebook.rpartition("/")[2], "" if count is None else f"In[{count}]")))


def seconds(started: int, ended: int | None) -> float | None:
    """How long something took, in the store's times; None if it has not ended, or a clock was set back meanwhile."""
    return None if ended is None or ended < started else (ended - started) / 1e6

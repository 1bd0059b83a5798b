"""Stepped: what one operator gave of one record, and how to go on from there (simulated breakpoints, BigDebug 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from bigdebug.graph import Operator
from bigdebug.shown import plain, shown


@dataclass(frozen=True, repr=False)
class Stepped:
    """``operator`` gave ``outputs`` of ``record``, or raised ``raised`` after the last of them (None: it did not).

    Both are as they were, for functions are given copies; ``note`` says so where they are not.
    """

    operator: Operator
    record: Any
    outputs: tuple[Any, ...]
    raised: BaseException | None
    traceback: str
    going: Callable[[Operator, Any], list[Stepped]] = field(repr=False, compare=False)
    note: str = ""

    def next(self, output: int = 0) -> list[Stepped]:
        """One of the outputs through each operator that reads this one; none, if those take more than a record at a time.

        Raises IndexError where there is no such output.
        """
        return self.going(self.operator, self.outputs[output])

    def __repr__(self) -> str:
        lines = [f"{self.operator}", f"  of {shown(self.record)}", *([f"  {self.note}"] if self.note else [])]
        lines += [f"  gave {shown(output)}" for output in self.outputs[:10]]
        if len(self.outputs) > 10:
            lines.append(f"  and {len(self.outputs) - 10:,} more")
        if not self.outputs and self.raised is None:
            lines.append("  gave nothing")
        lines += self.traceback.splitlines()
        return "\n".join(map(plain, lines))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}


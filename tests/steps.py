"""Steps in plain Python that know their associations: what pipelines are tested with. Files are lists of lines, written as texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bigdebug.errors import UntraceableError
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.stamps import stamp_of

Place = tuple[str, int]
"""A file and a position in it."""


@dataclass(eq=False)
class PlainStep:
    """A step that holds which output was made of which inputs."""

    id: str
    reads: Sequence[Extent]
    writes: Sequence[Extent]
    pairs: Sequence[tuple[Place, Place]]
    """Output and input, each with its file."""
    began: float | None = None
    ended: float | None = None
    name: str = ""
    kind: str = "plain"
    incomplete: Sequence[str] = ()
    mute: bool = False
    asked: int = 0
    values: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.name or self.id

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        return self._answer(outputs, self.writes, self.reads, lambda o, i: (o, i))

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        return self._answer(inputs, self.reads, self.writes, lambda o, i: (i, o))

    def _answer(self, given: Sequence[Located], own: Sequence[Extent], other: Sequence[Extent], turn: Callable[[Place, Place], tuple[Place, Place]]) -> list[Located]:
        self.asked += 1
        if self.mute:
            raise UntraceableError("A plain step was told to say nothing", value=self.id)
        units = {e.path: e.unit for e in own}
        assert all(units[g.path] is g.unit for g in given)
        wanted = {(g.path, p) for g in given for p in g.positions.tolist()}
        there = {b for a, b in (turn(o, i) for o, i in self.pairs) if a in wanted}
        return [Located.of(e.path, e.unit, [p for path, p in there if path == e.path]) for e in other]


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def lines(path: Path | str, unit: Unit = Unit.LINE, form: str = "text", options: Sequence[tuple[str, str]] = ()) -> Extent:
    """The file as it now is."""
    return Extent(str(path), unit, form, tuple(options), stamp_of(str(path)))

"""Log-log charts as SVG, drawn here: no browser, no font files, the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 78, 300, 52, 62
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # Okabe and Ito: safe for all eyes
STROKES = ("none", "7 3", "2 3")
"""Of the first curve of a subject, the second, and the third."""
LABEL_GAP = 17


@dataclass(frozen=True)
class Series:
    """A named curve. All coordinates are positive. Curves of one subject share their colour and differ in their strokes."""

    name: str
    points: tuple[tuple[float, float], ...]
    subject: str | None = None


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis: ``at`` maps a value to a pixel."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterable[tuple[float, bool]]:
        """1, 2, ..., 9 of each decade, and whether it is a power of ten."""
        for exponent in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            for digit in range(1, 10):
                value = digit * 10.0**exponent
                if self.low * 0.999 <= value <= self.high * 1.001:
                    yield value, digit == 1


def chart(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """An SVG document: every point marked, every curve named at its right end, light lines of slope 1 behind."""
    points = [point for curve in series for point in curve.points]
    if not points:
        raise ValueError("a chart needs at least one point")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    horizontal = _Axis(min(xs) / 1.25, max(xs) * 1.25, LEFT, WIDTH - RIGHT)
    vertical = _Axis(_decade(min(ys), math.floor), _decade(max(ys), math.ceil), HEIGHT - BOTTOM, TOP)
    if vertical.low == vertical.high:
        vertical = _Axis(vertical.low / 10, vertical.high * 10, vertical.start, vertical.end)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13" fill="#222">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"/></clipPath>',
        f'<text x="{LEFT}" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
        *_grid(horizontal, vertical, sorted(set(xs))),
        *_linear(horizontal, vertical),
        *_curves(horizontal, vertical, series),
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" fill="none" stroke="#666"/>',
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, x_label, "middle"),
        f'<text transform="translate(20 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>',
        _text(LEFT + 8, HEIGHT - BOTTOM - 10, "grey: linear growth", "start", "#888"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _decade(value: float, towards: Callable[[float], int]) -> float:
    return float(10.0 ** towards(math.log10(value)))


def _grid(horizontal: _Axis, vertical: _Axis, xs: Sequence[float]) -> Iterable[str]:
    """Horizontal lines at powers of ten; marks below at the values that were measured."""
    for value, power in vertical.ticks():
        y = vertical.at(value)
        if power:
            yield _line(LEFT, y, WIDTH - RIGHT, y, "#ddd")
            yield _text(LEFT - 9, y + 4, _plain(value), "end")
        else:
            yield _line(LEFT, y, LEFT + 4, y, "#666")
    for value in xs:
        x = horizontal.at(value)
        yield _line(x, TOP, x, HEIGHT - BOTTOM, "#eee")
        yield _text(x, HEIGHT - BOTTOM + 19, _plain(value), "middle")


def _linear(horizontal: _Axis, vertical: _Axis) -> Iterable[str]:
    """One line of slope 1 for each decade of the vertical axis."""
    growth = horizontal.high / horizontal.low
    for value, power in vertical.ticks():
        for start in (value, value / 10) if power and value == vertical.low else (value,) if power else ():
            yield _line(
                horizontal.start, vertical.at(start), horizontal.end, vertical.at(start * growth), "#ccc",
                'stroke-dasharray="3 4" clip-path="url(#plot)"',
            )


def _curves(horizontal: _Axis, vertical: _Axis, series: Sequence[Series]) -> Iterable[str]:
    ends = _apart([vertical.at(curve.points[-1][1]) for curve in series])
    subjects = [curve.subject or curve.name for curve in series]
    known = list(dict.fromkeys(subjects))
    for number, (curve, end) in enumerate(zip(series, ends)):
        color = COLORS[known.index(subjects[number]) % len(COLORS)]
        stroke = STROKES[subjects[:number].count(subjects[number]) % len(STROKES)]
        places = [(horizontal.at(x), vertical.at(y)) for x, y in curve.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{stroke}"/>'
        for (x, y), (words, seconds) in zip(places, curve.points):
            tip = escape(f"{curve.name}: {seconds:.3g} at {words:g}")
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"><title>{tip}</title></circle>'
        x, y = places[-1]
        yield _line(x + 5, y, WIDTH - RIGHT + 10, end, color, 'stroke-width="0.7"')
        yield _text(WIDTH - RIGHT + 14, end + 4, curve.name, "start", color)


def _apart(places: Sequence[float]) -> list[float]:
    """Heights for labels: in the order of ``places`` and near them, but never on top of each other."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + LABEL_GAP)
    over = max([0.0, *(place - (HEIGHT - BOTTOM) for place in moved)])
    return [place - over for place in moved]


def _line(x1: float, y1: float, x2: float, y2: float, color: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" {more}/>'


def _text(x: float, y: float, text: str, anchor: str, color: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'


def _plain(value: float) -> str:
    return f"{value:.10f}".rstrip("0").rstrip(".") if value < 1 else f"{value:g}"

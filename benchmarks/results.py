"""Results: one line of JSON and one row of a table each, with the machine that they were measured on."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.pairs import Sample

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Result:
    """One number of one measure. ``must`` is the most it may be (None: no target); ``detail`` is for the JSON line."""

    measure: str
    subject: str
    unit: str
    value: float
    quartiles: tuple[float, float] | None
    scale: float
    must: float | None = None
    remark: str = ""
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool | None:
        return None if self.must is None else self.value <= self.must

    def row(self) -> tuple[str, ...]:
        spread = "" if self.quartiles is None else " to ".join(map(_short, self.quartiles))
        must = "" if self.must is None else f"{_short(self.must)}: {'yes' if self.reached else 'NO'}"
        return self.measure, self.subject, f"{self.scale:g}", f"{_short(self.value)} {self.unit}", spread, must, self.remark


def of_sample(measure: str, subject: str, unit: str, sample: Sample, scale: float, **more: Any) -> Result:
    """A result whose value is the median of ``sample``."""
    return Result(measure, subject, unit, sample.median, sample.quartiles, scale, **more)


def machine(cores: int) -> dict[str, Any]:
    """What the numbers depend on besides the code: hardware, versions, and how busy the machine was already."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(), "cores": os.cpu_count(), "cores_used": cores, "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(), "python": platform.python_version(), "spark": version("pyspark"),
        "java": _java(), "numpy": version("numpy"), "commit": _commit(),
        "load_before": round(os.getloadavg()[0], 1),
    }


class Report:
    """Results as they come: a JSON line each in ``NAME.jsonl`` at once, the table in ``NAME.md`` at the end."""

    def __init__(self, name: str, out: Path, about: dict[str, Any]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._name = name
        self._out = out
        self._about = about
        self._results: list[Result] = []
        self._lines().unlink(missing_ok=True)

    def _lines(self) -> Path:
        return self._out / f"{self._name}.jsonl"

    def add(self, result: Result) -> Result:
        self._results.append(result)
        line = {**asdict(result), "reached": result.reached, "machine": self._about}
        with self._lines().open("a") as file:
            file.write(json.dumps(line) + "\n")
        return result

    def close(self) -> str:
        """Write the table and give it."""
        about = self._about
        text = (
            f"{table(self._results)}\n\n{about['processor']}, {about['cores_used']} of {about['cores']} cores used, "
            f"{about['memory_gib']} GiB; Python {about['python']}, Spark {about['spark']}, Java {about['java']}; "
            f"commit {about['commit']}; load {about['load_before']} before and {os.getloadavg()[0]:.1f} after. "
            f"{about['method']}\n"
        )
        (self._out / f"{self._name}.md").write_text(text)
        return text


def table(results: Sequence[Result]) -> str:
    """A Markdown table."""
    head = ("measure", "what", "scale", "median", "quartiles", "must reach", "beside it")
    rows = [head, *(result.row() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _short(number: float) -> str:
    """Three digits, never in scientific notation."""
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}" if abs(number) >= 0.001 or not number else f"{number:.5f}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _java() -> str:
    answer = _said(["java", "-version"], errors=True)
    return answer.split('"')[1] if '"' in answer else "unknown"


def _commit() -> str:
    name = _said(["git", "-C", str(ROOT), "describe", "--always", "--dirty"])
    return name or "unknown"


def _said(command: list[str], errors: bool = False) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stderr if errors else done.stdout).strip()

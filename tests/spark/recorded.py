"""What a recording gave, as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bigdebug.datasets.model import Access, Dataset, Process
from bigdebug.spark.datasets.recording import Recording
from tests.validating import check_exports

Job = Callable[[Any, str], Any]


class Recorded:
    """What a recording gave, and the folder in which jobs read and write."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = str(folder)
        self._known: dict[str, Process] = {}
        self.recording = Recording(spark.sparkContext, lambda process: self._known.__setitem__(process.id, process))

    def of(self, job: Job) -> list[Process]:
        """The processes of a job, as others can be told of them. What it raises is its own affair."""
        self._settle()
        self._known.clear()
        try:
            job(self.spark, self.folder)
        except Exception as problem:
            self.raised = str(problem)
        self._settle()
        found = list(self._known.values())
        check_exports(found)
        return found

    def said(self, job: Job) -> str:
        """The same as text."""
        return "\n\n".join(map(self.text, self.of(job)))

    def text(self, process: Process) -> str:
        lines = [f"{process.sort} {process.status}{''.join(f' opaque {name}' for name in process.opaque)}"]
        lines += [self._access(access) for access in (*process.reads, *process.writes)]
        lines += [
            f"{edge.column or '*'} < {self._name(edge.input)}.{edge.used} {edge.how}{' masking' * edge.masking}" for edge in process.columns
            if not (edge.input.kind == "view" and len({each.input for each in process.columns}) > 1)
        ]
        return "\n".join(lines)

    def _access(self, access: Access) -> str:
        counted = "" if access.rows is None else f" {access.rows} rows"
        return f"{access.mode} {access.dataset.kind} {self._name(access.dataset)}{counted}"

    def _name(self, dataset: Dataset) -> str:
        name = re.sub(r"^result \w+$|^/.*/(?=\w+\.db$)", lambda found: "result" if found[0].startswith("result") else "", dataset.name.removeprefix(f"{self.folder}/"))
        return re.sub(r"_[0-9a-f]{12}$", "", re.sub(r"^cache \d+$", "cache", name))

    def _settle(self) -> None:
        assert self.recording.settled(30)

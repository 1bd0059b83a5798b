"""A shell for tests: IPython as a user has it."""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import bigdebug
from tests.kernel.test_notebook import rows_of

JOB = """%%lineage {}
lines = sc.parallelize(["a b", "b c", "c"], 2)
counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda n, m: n + m, 2)
sorted(counts.collect())"""


class Shell(InteractiveShell):
    """IPython as a user has it, with words for what the tests do."""

    def cell(self, source: str) -> Any:
        """Run a cell that must succeed; its value."""
        result = self.run_cell(source, store_history=True)
        result.raise_error()
        return result.result

    def failure(self, source: str) -> BaseException:
        """Run a cell that must fail; its error."""
        result = self.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        assert error is not None, f"{source} should have failed"
        return error

    def table(self, source: str) -> list[list[str]]:
        """Run a cell whose value is displayed as a table; its rows."""
        return rows_of(self.display_formatter.format(self.cell(source))[0])

    @property
    def runs(self) -> list[str]:
        return [run.name for run in bigdebug.attach(self.user_ns["spark"]).runs]

    @property
    def capturing(self) -> bool:
        return bigdebug.attach(self.user_ns["spark"]).context.isCaptureLineage()

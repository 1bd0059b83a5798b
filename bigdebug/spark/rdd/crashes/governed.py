"""Governed: jobs about a run that went on from crashes, or of which it is known what crashed. They go on from these, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import SparkContext

from bigdebug.spark.deferred import undisturbed
from bigdebug.spark.process import alive
from bigdebug.spark.rdd.sent import under


@dataclass(frozen=True)
class Governed:
    """What becomes of crashes in questions about a run. ``release`` has Spark let go of what such a job gave on its way, shuffled or cached: others would read it as if it were all."""

    policy: str
    release: Callable[[], None] = lambda: None

    @contextmanager
    def jobs(self, sc: SparkContext) -> Iterator[None]:
        """Within: jobs of this thread are such questions."""
        try:
            with under(sc, self.policy):
                yield
        finally:
            with undisturbed():
                if alive(sc):
                    self.release()

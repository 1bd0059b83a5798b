"""bigdebug: interactive, record-level debugging for PySpark.

Names are resolved on first use: executors import ``bigdebug.agents`` and must not import the world with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "attach": "bigdebug.session",
    "DebugSession": "bigdebug.session",
    "LineageContext": "bigdebug.spark.rdd.context",
    "LineageRDD": "bigdebug.spark.rdd.lineage_rdd",
    "Run": "bigdebug.trace.run",
    "Trace": "bigdebug.trace.trace",
    "BigdebugError": "bigdebug.errors",
    "open": "bigdebug.opening",
    "pipeline": "bigdebug.trace.across.pipelines",
    "provenance": "bigdebug.provgraph.graph",
    "Workflow": "bigdebug.provgraph.workflow",
    "read_letters": "bigdebug.trace.letters",
    "actors": "bigdebug.actors",
    "checks": "bigdebug.agents.checks",
    "view": "bigdebug.views.viewing",
    "brush": "bigdebug.views.linking",
    "chart": "bigdebug.views.charting",
    "Search": "bigdebug.localize.search",
}
# Names that are something else at home: ``open`` there would hide Python's own.
_RENAMED = {"open": "open_saved"}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (all of them are strings)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = import_module(_HOMES[name])
        return home if _HOMES[name].endswith(f".{name}") else getattr(home, _RENAMED.get(name, name))
    raise AttributeError(f"module 'bigdebug' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext bigdebug``: hands over to the kernel package."""
    import_module("bigdebug_kernel").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    import_module("bigdebug_kernel").unload_ipython_extension(shell)

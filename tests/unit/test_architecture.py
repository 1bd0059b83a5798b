"""The house of DESIGN.md, section 5: which module may import which. Each rule is shown to be able to fail."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 700

# Lowest first. A module may import what stands on lower floors; on its own floor, only its own unit.
FLOORS = [
    {"outside"},
    {"shown"},
    {"errors"},
    {"model"},
    {"graph", "store"},
    {"agents", "trace"},
    {"localize", "mining", "provgraph", "datasets", "actors"},
    {"spark"},
    {"session", "opening"},
    {"views", "cli"},
    {"bigdebug"},  # bigdebug/__init__.py itself
    {"kernel"},
]
FLOOR = {unit: number for number, floor in enumerate(FLOORS) for unit in floor}

OWNER = {
    "pyspark": "spark",
    "py4j": "spark",
    "ipywidgets": "views",
    "anywidget": "views",
    "plotly": "views",
    "IPython": "kernel",
    "ipykernel": "kernel",
}

# Agents travel to executors where nothing else is installed; so does what they import.
EXECUTOR_PACKAGES = sys.stdlib_module_names | {"numpy", "pyarrow"}
EXECUTOR_UNITS = {"agents", "store", "errors", "model", "outside", "shown"}
AT_ONCE = {unit: EXECUTOR_PACKAGES | {"bigdebug"} for unit in EXECUTOR_UNITS - {"agents"}} | {"bigdebug": sys.stdlib_module_names}


def unit_of(module: str) -> str:
    """``bigdebug.spark.rdd.stage`` belongs to ``spark``, ``bigdebug_kernel.magics`` to ``kernel``."""
    package, *inner = module.split(".")
    if package == "bigdebug_kernel":
        return "kernel"
    return inner[0] if inner else package


def module_of(path: str) -> str:
    """``bigdebug/spark/__init__.py`` is ``bigdebug.spark``."""
    return path.removeprefix("kernel/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, wherever it stands: in a function, or for the type checker alone."""
    package = module_of(path).split(".")
    if not path.endswith("__init__.py"):
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, *filter(None, [node.module]), alias.name])


def at_import_time(path: str, node: ast.AST) -> Iterator[tuple[int, str]]:
    """Those of the imports that run when the module is imported: none in functions, none under TYPE_CHECKING."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield from imports(path, child)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        elif not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from at_import_time(path, child)


def complaints(path: str, source: str) -> Iterator[str]:
    """One sentence for each import of the file that points the wrong way; ``path`` is relative to the root."""
    tree = ast.parse(source, path)
    unit = unit_of(module_of(path))
    if unit not in FLOOR:
        yield f"{path} has no floor: move it into a unit of DESIGN.md, section 5, or give '{unit}' a floor there and here."
        return
    for line, name in imports(path, tree):
        package = name.split(".")[0]
        if package in ("bigdebug", "bigdebug_kernel"):
            # A name that is no unit is one of the public names, which the roof resolves.
            wrong = wrong_unit(unit, unit_of(name) if unit_of(name) in FLOOR else "bigdebug")
        else:
            wrong = wrong_package(unit, package)
        if wrong:
            yield f"{path}:{line} imports {name}, but {wrong}."
    allowed = AT_ONCE.get(unit)
    for line, name in at_import_time(path, tree) if allowed else ():
        if name.split(".")[0] not in allowed:
            yield f"{path}:{line} imports {name} at once, but executors import this file: import it where it is used."


def wrong_unit(unit: str, target: str) -> str:
    """Why ``unit`` may not import ``target``; empty if it may."""
    if unit in (target, "bigdebug"):
        return ""
    if (unit, target) == ("views", "spark"):
        return "views never know Spark: let session hand them values"
    if unit == "agents" and target not in EXECUTOR_UNITS:
        return f"agents run on executors and may only use {', '.join(sorted(EXECUTOR_UNITS))}"
    if FLOOR[target] == FLOOR[unit]:
        return f"{unit} and {target} are siblings, and siblings are strangers: move what they share to a lower floor"
    if FLOOR[target] > FLOOR[unit]:
        return f"{unit} stands below {target} and arrows point down: move what they share down, or take it as an argument"
    return ""


def wrong_package(unit: str, package: str) -> str:
    """Why ``unit`` may not import the foreign ``package``; empty if it may."""
    if OWNER.get(package, unit) != unit:
        return f"only {OWNER[package]} may import {package}"
    if unit == "agents" and package not in EXECUTOR_PACKAGES:
        return "agents run on executors, where only the standard library, numpy and pyarrow can be counted on"
    return ""


def sources(*patterns: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for pattern in patterns for path in ROOT.glob(pattern))


PYTHON = sources("bigdebug/**/*.py", "kernel/**/*.py")
TYPESCRIPT = sources("labextension/src/**/*.ts", "labextension/src/**/*.tsx")


@pytest.mark.parametrize("path", PYTHON)
def test_arrows_point_down(path):
    found = list(complaints(path, (ROOT / path).read_text()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sources("bigdebug/spark/sql/plans/*.py"))
def test_what_reads_plans_knows_nothing_of_lineage(path):
    wing = [name for _, name in imports(path, ast.parse((ROOT / path).read_text())) if name.startswith("bigdebug.spark.sql")]
    assert all(name.startswith("bigdebug.spark.sql.plans") for name in wing), f"{path} imports {wing}: the rest of the wing stands on plans."


@pytest.mark.parametrize("path", PYTHON + TYPESCRIPT)
def test_a_module_has_one_noun(path):
    lines = len((ROOT / path).read_text().splitlines())
    assert lines <= LONGEST, f"{path} has {lines} lines; at {LONGEST} a module is several: split it by its nouns."
    stem = Path(path).stem.lower()
    assert not re.search("util|manager", stem), f"{path} is named for nothing in particular: name it for its domain."


@pytest.mark.parametrize("path", sources("bigdebug/trace/*.py"))
def test_what_a_trace_is_made_of_knows_nothing_of_what_is_saved_or_crossed(path):
    above = [name for _, name in imports(path, ast.parse((ROOT / path).read_text())) if re.match(r"bigdebug\.trace\.(saved|across|crossfilter)\b", name)]
    assert not above, f"{path} imports {above}: these stand on the modules beside it. Move what they share down."


def test_there_is_something_to_check():
    assert "bigdebug/errors.py" in PYTHON
    assert "kernel/bigdebug_kernel/__init__.py" in PYTHON


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("bigdebug/model.py", "from bigdebug.errors import BigdebugError"),
        ("bigdebug/store/block.py", "from . import catalog\nfrom ..model import Rids\ndef f():\n  import pyroaring"),
        ("bigdebug/agents/__init__.py", "import bisect, numpy.typing\nfrom pyarrow import ipc\nfrom bigdebug import store"),
        ("bigdebug/spark/rdd/stage.py", "import pyspark\nfrom ..sql import plan\nfrom bigdebug.localize.ddmin import ddmin"),
        ("bigdebug/views/run.py", "import anywidget, plotly.graph_objects\nfrom bigdebug.session import DebugSession"),
        ("bigdebug/cli.py", "import bigdebug.session, bigdebug.trace"),
        ("bigdebug/__init__.py", "import importlib\ndef attach():\n  from bigdebug.session import attach"),
        ("bigdebug/__init__.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from bigdebug.session import attach"),
        ("kernel/bigdebug_kernel/magics.py", "import IPython, bigdebug\nfrom bigdebug import attach, views\nfrom . import comms"),
    ],
)
def test_what_the_house_allows(path, source):
    assert list(complaints(path, source)) == []


@pytest.mark.parametrize(
    ("path", "source", "because"),
    [
        ("bigdebug/errors.py", "import bigdebug.model", "arrows point down"),
        ("bigdebug/trace/walk.py", "from bigdebug.spark.rdd import stage", "trace stands below spark"),
        ("bigdebug/trace/walk.py", "from ..spark import rdd", "trace stands below spark"),
        ("bigdebug/trace/walk.py", "from .. import spark", "trace stands below spark"),
        ("bigdebug/trace/__init__.py", "from ..session import attach", "trace stands below session"),
        ("bigdebug/graph.py", "def f():\n  from bigdebug.spark import rdd", "graph stands below spark"),
        ("bigdebug/graph.py", "if TYPE_CHECKING:\n  from bigdebug.trace import Trace", "graph stands below trace"),
        ("bigdebug/session.py", "from bigdebug import attach", "session stands below bigdebug"),
        ("bigdebug/session.py", "import bigdebug", "session stands below bigdebug"),
        ("bigdebug/cli.py", "import bigdebug_kernel.magics", "cli stands below kernel"),
        ("bigdebug/graph.py", "import bigdebug.store", "siblings are strangers"),
        ("bigdebug/localize/ddmin.py", "from bigdebug.mining import grubbs", "siblings are strangers"),
        ("bigdebug/cli.py", "from bigdebug.views import payload", "siblings are strangers"),
        ("bigdebug/views/run.py", "from bigdebug.spark import replay", "views never know Spark"),
        ("bigdebug/agents/tap.py", "from bigdebug.graph import Operator", "agents run on executors"),
        ("bigdebug/agents/tap.py", "import pyroaring", "agents run on executors"),
        ("bigdebug/agents/tap.py", "import pyspark", "only spark may import pyspark"),
        ("bigdebug/session.py", "from pyspark.sql import SparkSession", "only spark may import pyspark"),
        ("bigdebug/datasets/store.py", "import py4j.java_gateway", "only spark may import py4j"),
        ("bigdebug/session.py", "import ipywidgets", "only views may import ipywidgets"),
        ("kernel/bigdebug_kernel/panel.py", "from anywidget import AnyWidget", "only views may import anywidget"),
        ("bigdebug/mining.py", "import plotly.express", "only views may import plotly"),
        ("bigdebug/cli.py", "from IPython.display import display", "only kernel may import IPython"),
        ("bigdebug/__init__.py", "from bigdebug.session import attach", "import it where it is used"),
        ("bigdebug/__init__.py", "try:\n  import numpy\nexcept ImportError: pass", "import it where it is used"),
        ("bigdebug/store/__init__.py", "import pyroaring", "import it where it is used"),
        ("bigdebug/helpers.py", "", "has no floor"),
    ],
)
def test_what_it_forbids(path, source, because):
    (sentence,) = complaints(path, source)
    assert because in sentence
    assert sentence.startswith(path)
    assert sentence.endswith(".")

"""A real kernel: a notebook that loads bigdebug, starts Spark and asks, run from top to bottom twice."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Outputs = dict[str, list[Any]]
"""What each cell shows, by its name."""

KERNELSPEC = Path(__file__).resolve().parents[2] / "kernel" / "kernelspec"

# Cells by name; only one whose name ends with ! may fail.
NOTEBOOK = {
    "load": "%load_ext bigdebug",
    "without": "%%lineage early\n6 * 7",
    "ask without!": "%lineage",
    "spark": """%%lineage first
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").appName("<i>nightly</i>")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.python.unix.domain.socket.enabled", "true").getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
squares = spark.sparkContext.parallelize(range(4), 2).map(lambda n: n * n)
squares.collect()""",
    "names": "sc is dbg.context is spark.sparkContext, type(sc).__name__",
    "trace": "%lineage trace first --where 'r > 1' goBackAll",
    "slow": """import time, bigdebug.spark.bars
bigdebug.spark.bars.PATIENCE, patience = 0.0, bigdebug.spark.bars.PATIENCE
squares.getLineage().where(lambda n: time.sleep(0.7) is None).count()""",
    "patient": "bigdebug.spark.bars.PATIENCE = patience",
    "boom!": "%%lineage boom\nsc.parallelize([1]).count()\nraise LookupError('nothing <here>')",
    "after boom": "sc.isCaptureLineage()",
    "crash!": """%%lineage crash
import bigdebug.spark.crashes
bigdebug.spark.crashes.PATIENCE = 60.0
def half(n):
    return 6 // n
sc.parallelize([0, 1], 2).map(half).collect()""",
    "culprits": "%lineage culprits",
    "localize": "%lineage localize first 'r > 5'",
    "hostile": r"""
class Mute:
    def __repr__(self):
        raise RuntimeError("<b>no</b>")

class Rude:
    def __repr__(self):
        return "<script>rude</script>\x1b[2J\r\n\u202e"

class Liar(str):
    def __str__(self): return self
    def __repr__(self): return self
    def __format__(self, spec): return self
    def __len__(self): return 1
    def __getitem__(self, at): return self
    def replace(self, *args): return self
    def isprintable(self): return True

records = [
    "<script>alert(1)</script>", "a & b &lt; $x$", "\x1b[31mred\x1b[0m", "long " * 100_000,
    Mute(), Rude(), Liar("<script>liar</script>"), {"<k>": [Mute()]},
]
hostile = sc.parallelize(records, 2)
with dbg.capture("<script>run</script>"):
    hostile.count()""",
    "hostile records": "%lineage trace hostile",
    "runs": "%lineage",
    "session": "dbg",
}
HOSTILE = [
    "'<script>alert(1)</script>'", "'a & b &lt; $x$'", r"'\x1b[31mred\x1b[0m'", "'" + "long " * 79 + "long"[:3] + "…",
    "<Mute whose repr raised RuntimeError>", r"<script>rude</script>\x1b[2J\r\n\u202e", "<script>liar</script>",
    "{'<k>': [<Mute whose repr raised RuntimeError>]}",
]  # fmt: skip


# ---- what is displayed -------------------------------------------------------------------------------------------


class Markup(HTMLParser):
    """Tags, attributes, rows of the table and paragraphs, as a browser would read them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.rows: list[list[str]] = []
        self.paragraphs: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th", "p"):
            self._into = self.paragraphs if tag == "p" else self.rows[-1]
            self._into.append("")

    def handle_data(self, data: str) -> None:
        self._into[-1] += data


def rows_of(bundle: dict[str, str]) -> list[list[str]]:
    """The rows below the header of a displayed table, where HTML and plain text must say the same, without markup."""
    assert set(bundle) == {"text/plain", "text/html"}
    markup = Markup(bundle["text/html"])
    assert markup.tags <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert markup.attributes <= {"class", "style"}
    assert "".join(bundle.values()).replace("\n", "").isprintable()
    cells = [[cell if len(cell) <= 100 else cell[:99] + "…" for cell in row] for row in markup.rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    above = bundle["text/plain"].split("\n").index(lines[0])
    twin = [*markup.paragraphs[:above], *lines, *markup.paragraphs[above:]]
    assert bundle["text/plain"].split("\n") == twin
    return markup.rows[1:]


# ---- kernels -----------------------------------------------------------------------------------------------------


@contextmanager
def running(notebook: dict[str, str], specs: Path, name: str, home: Path) -> Iterator[Callable[[], Outputs]]:
    """A kernel of this Python, and a function that runs the notebook in it from top to bottom."""
    tags = [["raises-exception"] if cell.endswith("!") else [] for cell in notebook]
    cells = [new_code_cell(code, metadata={"tags": tagged}) for code, tagged in zip(notebook.values(), tags)]
    manager = AsyncKernelManager(kernel_name=name, kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(specs)]))
    place = {"metadata": {"path": str(home)}}
    client = NotebookClient(new_notebook(cells=cells), km=manager, timeout=120, resources=place)
    environment = {"IPYTHONDIR": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

    def run_all() -> Outputs:
        for index, cell in enumerate(cells):
            client.execute_cell(cell, index)
        return {name: copy.deepcopy(cell.outputs) for name, cell in zip(notebook, cells)}

    with client.setup_kernel(env={**os.environ, **environment}, cleanup_kc=True):
        yield run_all


@pytest.fixture(scope="module")
def passes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outputs, Outputs]:
    """What the notebook shows when it is run, and what when it is run again."""
    home = tmp_path_factory.mktemp("home")
    write_kernel_spec(home / "specs" / "python3")
    with running(NOTEBOOK, home / "specs", "python3", home) as run_all:
        return run_all(), run_all()


def printed(outputs: list[Any], stream: str = "stdout") -> str:
    return "".join(output.text for output in outputs if output.get("name") == stream)


def value(outputs: list[Any]) -> Any:
    """The mime bundle of a cell's value."""
    [bundle] = [output.data for output in outputs if output.output_type == "execute_result"]
    return bundle


def test_before_spark_runs_cells_run_and_the_magics_say_what_is_missing(passes: tuple[Outputs, Outputs]) -> None:
    first, _ = passes
    assert value(first["without"]) == {"text/plain": "42"}
    assert printed(first["without"]) == "No Spark session ran in this cell, so there is no lineage.\n"
    assert printed(first["ask without!"], "stderr").startswith("UsageError: no Spark session is running; make one")


def test_a_session_made_later_is_captured_from_the_cell_that_makes_it(passes: tuple[Outputs, Outputs]) -> None:
    first, _ = passes
    assert value(first["spark"]) == {"text/plain": "[0, 1, 4, 9]"}
    assert printed(first["spark"]).startswith("first: collect succeeded, 4 records in, 4 out")
    assert value(first["names"]) == {"text/plain": "(True, 'LineageContext')"}
    assert rows_of(value(first["trace"])) == [["parallelize[2]", "2"], ["parallelize[3]", "3"]]


def test_run_all_twice_gives_the_same_again_and_adds_its_runs(passes: tuple[Outputs, Outputs]) -> None:
    first, second = passes
    for cell in ("spark", "names", "after boom"):
        assert value(second[cell]) == value(first[cell])
    for cell in ("trace", "hostile records", "localize"):
        assert rows_of(value(second[cell])) == rows_of(value(first[cell]))
    names = [[run[1] for run in rows_of(value(outputs["runs"]))] for outputs in passes]
    assert names == [["first", "boom", "crash", "<script>run</script>"] * times for times in (1, 2)]
    complaints = {cell for cell, outputs in second.items() if printed(outputs, "stderr")}
    assert complaints == set()


def test_a_cell_that_raises_shows_its_exception_and_what_was_captured(passes: tuple[Outputs, Outputs]) -> None:
    for outputs in passes:
        [error] = [output for output in outputs["boom!"] if output.output_type == "error"]
        assert (error.ename, error.evalue) == ("LookupError", "nothing <here>")
        assert printed(outputs["boom!"]).startswith("boom: count succeeded")
        assert value(outputs["after boom"]) == {"text/plain": "False"}


def test_a_crash_is_shown_without_frames_of_spark_and_with_its_culprit(passes: tuple[Outputs, Outputs]) -> None:
    for outputs in passes:
        [error] = [output for output in outputs["crash!"] if output.output_type == "error"]
        shown = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
        assert error.ename == "PythonException"
        assert "----> 6 sc.parallelize([0, 1], 2).map(half).collect()" in shown
        assert "bigdebug: 1 record crashed with ZeroDivisionError" in shown
        assert re.search(r"  at Cell In\[\d+\], line 5: return 6 // n\n      n = 0\n", shown)
        assert not re.search(r"java_gateway|worker\.py|ipykernel_|actions\.py", shown)
        [row] = rows_of(value(outputs["culprits"]))
        assert (row[0], row[4]) == ("1", "0")
        assert re.fullmatch(r"Cell In\[\d+\], line 5", row[3])


def test_a_bar_leaves_nothing_to_see(passes: tuple[Outputs, Outputs]) -> None:
    for outputs in passes:
        assert value(outputs["slow"]) == {"text/plain": "4"}
        bars = [output for output in outputs["slow"] if output.output_type != "execute_result"]
        assert [(bar.output_type, bar.data) for bar in bars] == [("display_data", {"text/plain": ""})]


def test_hostile_records_and_names_are_shown_as_text(passes: tuple[Outputs, Outputs]) -> None:
    first, _ = passes
    assert [record for _, record in rows_of(value(first["hostile records"]))] == HOSTILE
    assert [run[1] for run in rows_of(value(first["session"]))][-1] == "<script>run</script>"
    assert "<debug session of '<i>nightly</i>'" in value(first["session"])["text/plain"]


def test_the_kernelspec_loads_bigdebug_and_leaves_pyspark_to_the_user(tmp_path: Path) -> None:
    notebook = {"magic": "%lineage off", "python": "import sys; sys.executable, 'pyspark' in sys.modules"}
    with running(notebook, KERNELSPEC.parent, KERNELSPEC.name, tmp_path) as run_all:
        outputs = run_all()
    assert outputs["magic"] == []
    assert value(outputs["python"]) == {"text/plain": str((sys.executable, False))}


def test_the_plain_file_of_the_readme_runs(tmp_path: Path) -> None:
    readme = Path(__file__).resolve().parents[2] / "README.md"
    [program] = re.findall(r"```py\n(.*?)```", readme.read_text(), re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^file:\S+/log\.txt:\d+ +'ERROR \d \d+'$", done.stdout, re.MULTILINE)
    assert "bigdebug: " not in done.stderr  # no bar where nobody sees it


def test_the_first_session_of_the_readme_runs_as_it_is_pasted(tmp_path: Path) -> None:
    write_kernel_spec(tmp_path / "specs" / "python3")
    readme = Path(__file__).resolve().parents[2] / "README.md"
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    patient = "import bigdebug.spark.crashes\nbigdebug.spark.crashes.PATIENCE = 60.0"  # a busy machine may need longer than a user waits
    with running({"patient": patient} | {f"block {i}": block for i, block in enumerate(blocks)}, tmp_path / "specs", "python3", tmp_path) as run_all:
        shown = run_all()
    assert printed(shown["block 2"]).startswith("errors: collect succeeded, 1,000 records in, 5 out")
    assert len(rows_of(value(shown["block 3"]))) == 20
    assert "1 added, 1 removed, 4 the same" in value(shown["block 4"])["text/plain"]
    assert printed(shown["block 7"]).startswith("bigdebug: 100 records crashed")
    assert value(shown["block 7"])["text/plain"] == str(sum(100 // (n % 10) for n in range(1000) if n % 10))
    assert value(shown["block 8"])["text/plain"].startswith("culprit: without 1 record, the wrong output is right")
    assert "1 -> 0" in value(shown["block 9"])["text/plain"]
    assert re.search(r"orders +amount +value +aggregation", value(shown["block 12"])["text/plain"])
    assert re.search(r"^stale +totals", value(shown["block 13"])["text/plain"], re.MULTILINE)
    assert "1 path from 1 to 5" in value(shown["block 15"])["text/plain"]
    assert "doubled.csv" in value(shown["block 16"])["text/plain"]
    assert "backward through 3 steps" in value(shown["block 17"])["text/plain"]

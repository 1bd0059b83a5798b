"""The demo's runner, with a notebook of a few cells and a real kernel."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "run_demo.py"


@pytest.fixture
def run(tmp_path):
    """Run a notebook of these (source, tags) cells; the finished process and the executed cells."""

    def run(*cells):
        source, target = tmp_path / "small.ipynb", tmp_path / "out" / "small.executed.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(code, metadata={"tags": tags}) for code, tags in cells]), source)
        done = subprocess.run([sys.executable, SCRIPT, source, "--output", target], capture_output=True, text=True, check=False)
        return done, nbformat.read(target, as_version=4).cells

    return run


def test_prints_what_the_tagged_cells_printed_and_where_the_rest_lies(run):
    done, cells = run(
        ("print('between us')", []),
        ("import os, sys\nprint('two')\nprint('lines')\nos.environ['PYSPARK_PYTHON'] == sys.executable", ["report"]),
        ("1 / 0", ["raises-exception"]),
        ("display({'text/plain': ''}, raw=True)\n6 * 7", ["report"]),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("two\nlines\nTrue\n\n42\n\nThe executed notebook lies in ")
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4]


@pytest.mark.slow
def test_several_notebooks_run_one_after_the_other_and_one_output_is_for_one(tmp_path):
    for name, source in {"one": "print('first')", "two": "1 / 0", "three": "print('third')"}.items():
        nbformat.write(new_notebook(cells=[new_code_cell(source, metadata={"tags": ["report"]})]), tmp_path / f"{name}.ipynb")
    notebooks = [tmp_path / f"{name}.ipynb" for name in ("one", "two", "three")]
    (tmp_path / "examples").mkdir()
    copy = shutil.copy(SCRIPT, tmp_path / "examples")
    done = subprocess.run([sys.executable, copy, *notebooks], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line for line in done.stdout.split("\n") if line and "executed" not in line] == [
        "==== one.ipynb ====", "first", "==== two.ipynb ====", "==== three.ipynb ====", "third",
    ]  # fmt: skip
    assert "two.executed.ipynb" in done.stderr
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == [f"{name}.executed.ipynb" for name in ("one", "three", "two")]
    refused = subprocess.run([sys.executable, copy, "--output", "o.ipynb"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--output is for one notebook: name it" in refused.stderr


def test_a_failing_cell_fails_the_demo_and_keeps_what_ran(run):
    done, cells = run(("print('so far')", ["report"]), ("int('seven')", []), ("print('never')", []))
    assert done.returncode == 1
    assert done.stdout.strip() == "so far"
    assert "ValueError" in done.stderr
    assert "small.executed.ipynb" in done.stderr
    assert [cell.execution_count for cell in cells] == [1, 2, None]

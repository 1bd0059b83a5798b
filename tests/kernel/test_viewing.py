"""What a view leaves in a notebook: a widget, and a table for when there is none; without Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbformat.v4 import new_code_cell, new_notebook

from bigdebug.views.bundle import missing
from tests.kernel.test_panel import kernel  # noqa: F401 (a fixture)

ROOT = Path(__file__).resolve().parents[2]
VIEW = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.unit.test_trace_view import RECORDS, view_of\nview_of(RECORDS)"
WIDGET = "application/vnd.jupyter.widget-view+json"

built = pytest.mark.skipif(missing() is not None, reason="the widgets have not been built, which takes Node: make panel")


def shown(kernel: Any, code: str) -> list[dict[str, Any]]:  # noqa: F811
    """The outputs of a cell, by their types."""
    found: list[dict[str, Any]] = []

    def hear(message: Any) -> None:
        if message["msg_type"] in ("display_data", "execute_result"):
            found.append(message["content"]["data"])

    reply = kernel.execute_interactive(code, timeout=20, output_hook=hear)
    assert reply["content"]["status"] == "ok"
    return found


@built
def test_a_view_is_a_widget_and_behind_it_a_table(kernel: Any) -> None:  # noqa: F811
    widget, table = shown(kernel, VIEW)
    assert set(widget) == {WIDGET, "text/plain"}
    assert widget["text/plain"].startswith("<view of ")
    assert set(table) == {"text/plain", "text/html"}
    assert table["text/html"].startswith('<div class="bd-fallback">')
    assert "&lt;script&gt;alert(1)" in table["text/html"]


@built
def test_without_the_extension_it_is_one_output_with_all_in_it(kernel: Any) -> None:  # noqa: F811
    (only,) = shown(kernel, f"%unload_ext bigdebug\n{VIEW}")
    assert {WIDGET, "text/plain", "text/html"} <= set(only)
    assert "bd-fallback" not in only["text/html"]
    assert len(shown(kernel, f"%load_ext bigdebug\n{VIEW}")) == 2


@built
def test_an_export_that_runs_the_notebook_shows_the_table(tmp_path: Path) -> None:
    write_kernel_spec(tmp_path / "share" / "jupyter" / "kernels" / "python3")
    nbformat.write(new_notebook(cells=[new_code_cell(f"%load_ext bigdebug\n{VIEW}")]), tmp_path / "view.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--ExecutePreprocessor.kernel_name=python3", "view.ipynb"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    html = (tmp_path / "view.html").read_text()
    assert '<div class="bd-fallback">' in html
    assert "report.py:7" in html.partition('<div class="bd-fallback">')[2].partition("</table>")[0]
    assert "<script>alert(1)" not in html

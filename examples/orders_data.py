"""Seven years of orders as Parquet files, as a warehouse would keep them: TPC-H at scale 0.1, with one mistake planted.

`ensure()` promises a directory with a folder of Parquet files for each of five tables, made by `tpchgen-cli`, with the
same rows each time. `lineitem` has seven files, in the order of l_orderkey. The mistake is made in `_plant`: the last
file is a small late delivery, the lines of the last 40 orders, and its l_extendedprice is in cents, where all others
are in dollars. What exists is kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SCALE = "0.1"
PARTS = {"nation,customer,part,orders": 1, "lineitem": 6}
"""Files of each table as they are made."""
LATE = 40
"""Orders in the late delivery."""


def ensure(directory: str | Path | None = None) -> Path:
    """Return a directory that holds the five tables; default: `data/tpch` beside this file, else a temporary one."""
    target = Path(directory) if directory is not None else _default_directory()
    if not target.exists():
        _write(target)
    return target


def _default_directory() -> Path:
    beside = Path(__file__).resolve().parent
    if os.access(beside, os.W_OK):
        return beside / "data" / "tpch"
    return Path(tempfile.gettempdir()) / f"tpch-{os.getuid()}"


def _write(target: Path) -> None:
    """Write all tables under a name of their own, then rename: a reader never sees half of them."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for tables, parts in PARTS.items():
            _generate(tables, parts, partial)
        _plant(partial / "lineitem")
        partial.chmod(0o755)  # as any directory, where mkdtemp's are private
        partial.rename(target)
    except OSError:
        if not target.exists():  # else somebody else was faster, with the same
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _generate(tables: str, parts: int, folder: Path) -> None:
    """For each table the files FOLDER/TABLE/TABLE.1.parquet to TABLE.PARTS.parquet."""
    tool = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpchgen-cli")
    if tool is None:
        raise SystemExit("The orders are made by tpchgen-cli, which is not installed: pip install tpchgen-cli")
    what = ["-s", SCALE, "--tables", tables, "--parts", str(parts), "--output-dir", str(folder), "--quiet"]
    subprocess.run([tool, "parquet", *what], check=True)


def _plant(lineitem: Path) -> None:
    """Move the lines of the last orders into a file of their own, their prices multiplied by 100."""
    last = PARTS["lineitem"]
    lines = pq.read_table(lineitem / f"lineitem.{last}.parquet")
    first_late = pc.unique(lines["l_orderkey"])[-LATE]
    cut = pc.index(lines["l_orderkey"], first_late).as_py()
    pq.write_table(lines.slice(0, cut), lineitem / f"lineitem.{last}.parquet")
    late = lines.slice(cut)
    at = late.schema.get_field_index("l_extendedprice")
    field = late.schema.field(at)
    cents = pc.multiply(late["l_extendedprice"], pa.scalar(100)).cast(field.type)
    pq.write_table(late.set_column(at, field, cents), lineitem / f"lineitem.{last + 1}.parquet")


if __name__ == "__main__":
    print(ensure(sys.argv[1] if len(sys.argv) > 1 else None))

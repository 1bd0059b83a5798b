"""Two notebooks on one store, at the same time: neither sees anything of the other (issue 10)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bigdebug
from tests.conftest import ROOT
from tests.operations import FIRSTS, LINES, RDDS, SEVENS, counted

NAMES, ROUNDS = ("one", "other"), 2


@pytest.mark.slow
def test_two_notebooks_on_one_store_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    store, saved = tmp_path / "store", tmp_path / "saved"
    environment = {**os.environ, "BIGDEBUG_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.spark.notebook", name, str(store), str(saved), str(ROUNDS)],
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in NAMES
    ]
    told = []
    for process in running:
        out, error = process.communicate(timeout=240)
        assert process.returncode == 0, error[-3000:]
        told.append(json.loads(out.splitlines()[-1]))
    for name, notebook in zip(NAMES, told):
        assert notebook["left"] == []
        for turn in range(ROUNDS):
            assert notebook["found"][f"{name}-{turn}"] == {"rows": counted(LINES), "back": SEVENS, "frame": [[*row] for row in sorted(FIRSTS.items())], "incomplete": []}
            opened = bigdebug.open(saved / f"{name}-{turn}")
            assert [run.name for run in opened.runs] == [f"{name} {turn}"]
            [run] = opened.runs
            assert len(opened.lineage(run).goBackAll().rids()) == len(LINES)
        assert notebook["asked"] == {operation.name: operation.expected for operation in RDDS if operation.name in notebook["asked"]}
    assert len({notebook["store"] for notebook in told}) == 2
    assert sorted(path.name for path in saved.iterdir()) == sorted(f"{name}-{turn}" for name in NAMES for turn in range(ROUNDS))

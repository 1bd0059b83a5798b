"""Paths: what stands there, and directories that are made and taken away. What interrupts a question is no answer to it, as it is to ``os.path.exists``, ``exist_ok`` and ``ignore_errors``."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from bigdebug.outside import from_outside


def mode_of(path: str | os.PathLike[str]) -> int:
    """What stands at a path, as ``stat`` has it; 0 if nothing that can be seen."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError) as problem:
        if from_outside(problem):
            raise
        return 0


def made(folder: Path, mode: int = 0o777) -> None:
    """Make a directory, and those above it, if it is not there."""
    if stat.S_ISDIR(mode_of(folder)):
        return
    try:
        folder.mkdir(mode)
    except FileNotFoundError as problem:
        if from_outside(problem) or folder.parent == folder:
            raise
        made(folder.parent)
        _made(folder, mode)
    except OSError as problem:
        _there(folder, problem)


def _made(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode)
    except OSError as problem:
        _there(folder, problem)  # another process made it meanwhile


def _there(folder: Path, problem: OSError) -> None:
    if from_outside(problem) or not stat.S_ISDIR(mode_of(folder)):
        raise problem


def removed(folder: Path) -> None:
    """Take away a directory, if it is there; what cannot be removed stays."""
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        if from_outside(problem):
            raise
        if mode_of(folder):
            shutil.rmtree(folder, ignore_errors=True)

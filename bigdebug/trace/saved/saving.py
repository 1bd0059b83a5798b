"""Saving: runs and their lineage into a new directory, which is whole or not there at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bigdebug.errors import BigdebugError, StoreError
from bigdebug.store.directory import LineageStore
from bigdebug.store.machine import born, machine
from bigdebug.store.named import local
from bigdebug.store.sealed import seal
from bigdebug.trace.counts import whole_by_a_job
from bigdebug.trace.run import Run
from bigdebug.trace.saved.lineage import write_lineage
from bigdebug.trace.saved.runs import Beside, dump_run

FORMAT = 2
BLOCKS, LINEAGE, OUTPUTS, ACTORS, WRITTEN = "blocks", "lineage", "outputs", "actors", "written"
UNFINISHED = "unfinished.json"
"""Says in a directory that is being written who writes it; it goes when the seal is there."""
SAVING, REMOVING = "a session that is being saved", "a session that is being removed"
"""What it says."""
BESIDE = ".bigdebug-"
"""How directories begin that are being written, or removed. Nobody else calls his so: of one that is empty, its name is all there is to know it by."""

Keep = Callable[[Run, Path, str], Beside]
"""Writes what is kept of a run beside what it tells itself, below a directory and there below the folder ``lineage/NAME`` and as ``outputs/NAME``; what the catalog lists."""


Besides = Callable[[Path, set[str]], object]
"""Writes into a directory, ``actors/``, what knows more of files, by their paths, that the runs read or wrote."""


def save(runs: Iterable[Run], store: LineageStore, path: str | os.PathLike[str], keep: Keep | None = None, besides: Besides | None = None) -> Path:
    """Write ``runs`` and their lineage into a new or empty directory; it is whole or not there at all. ``keep`` is ``program``, if it is not given.

    An empty directory stays the one that it is, with its permissions: a process may stand in it. What is in a session is readable by this user alone, in either.
    """
    target = directory("where a session is saved", path)
    unfinished: Path | None = None
    try:
        if target.exists() and any(target.iterdir()):
            raise StoreError(
                "The directory to save into is not empty", value=str(target), remedy="Name a new one, or remove it first."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{beside(target)}-", dir=target.parent))
        _write(list(runs), store, unfinished, keep or program, besides)
        if target.exists():
            _move_into(target, unfinished)
        else:
            (unfinished / UNFINISHED).unlink()
            unfinished.rename(target)
    except OSError as problem:
        raise StoreError(
            f"The session cannot be saved: {problem}", value=str(target), remedy="Name a directory that you may write."
        ) from problem
    finally:
        if unfinished is not None and unfinished.exists():
            with suppress(OSError):
                discard(unfinished)
    return target


def beside(target: Path) -> str:
    """What a directory is called that is written beside ``target``, or that this is moved to when it goes: a dash and eight letters or digits follow.

    Of a long name there is the beginning: a system has no names of more than some 255 bytes.
    """
    return f"{BESIDE}{target.name.removeprefix(BESIDE).lstrip('.')[:40]}"


def discard(unfinished: Path) -> None:
    """Remove a directory that says that it is unfinished. It says so until nothing else is left: what is half removed is found again."""
    with os.scandir(unfinished) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != UNFINISHED:
            os.unlink(entry.path)
    shutil.rmtree(unfinished)


def _move_into(target: Path, unfinished: Path) -> None:
    """Move what was written into an empty directory, which says that it is unfinished until all is there. Nothing that somebody else puts there meanwhile is replaced.

    Others may be let into that directory: what is moved there is for this user alone, as a directory of our own is.
    """
    _close(unfinished)
    with open(target / UNFINISHED, "xb", opener=_for_this_user) as out:
        out.write((unfinished / UNFINISHED).read_bytes())
    moved = []
    try:
        for name in sorted(set(os.listdir(unfinished)) - {UNFINISHED}):
            _move(unfinished / name, target / name)
            moved.append(name)
    except BaseException:
        for name in moved:
            (target / name).rename(unfinished / name)
        raise
    finally:
        (target / UNFINISHED).unlink()


def _close(home: Path) -> None:
    """Let nobody else read what is below a directory."""
    for folder, folders, files in os.walk(home):
        for name in folders:
            os.chmod(os.path.join(folder, name), 0o700)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o600)


def _for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _move(path: Path, to: Path) -> None:
    if os.path.lexists(to):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(to))
    path.rename(to)


def _write(runs: list[Run], store: LineageStore, home: Path, keep: Keep, besides: Besides | None) -> None:
    (home / UNFINISHED).write_text(json.dumps({"bigdebug": SAVING, "process": os.getpid(), "born": born(os.getpid()), "host": machine()}))
    listed = []
    for run in runs:  # first, for what is derived meanwhile is a block, too
        beside = keep(run, home, run.id)
        listed.append(dump_run(run, beside))
    if besides is not None:
        besides(home / ACTORS, {extent["path"] for run in listed if run["step"] for files in ("reads", "given", "writes") for extent in run["step"].get(files, ())})
    for needed in sorted({run for known in runs for run in (known.id, *known.earlier)}):
        for block in store.names(needed):  # what else is there are pickles of a run that goes on
            copy = home / BLOCKS / block
            copy.parent.mkdir(parents=True, exist_ok=True)
            store.place.copy(block, copy)
    plain = json.loads(json.dumps({"format": FORMAT, "saved": time.time(), "by": _by(), "runs": listed}, default=repr))
    seal(home, plain, but=UNFINISHED)


def program(
    run: Run, home: Path, name: str, trouble: tuple[type[Exception], ...] = (BigdebugError,), why_of: Callable[[BaseException], str] = str, *, derive: bool = False,
) -> Beside:
    """Keeps the lineage of an RDD program's run in files that are mapped: what is in its blocks, and what ``derive`` computes anew, which may raise ``trouble``. Of a DataFrame's nothing."""
    if run.store is None:
        return Beside(frame=True)
    beside = Beside()
    with nullcontext() if derive else run.lineage.at_rest():
        try:
            beside.lineage = write_lineage(home, f"{LINEAGE}/{name}", run)
        except trouble as why:
            shutil.rmtree(home / LINEAGE / name, ignore_errors=True)
            beside.unsaved = why_of(why)
        for source in run.graph.sources:
            try:
                beside.whole = {**beside.whole, source.id: whole_by_a_job(run.lineage, source.id)}
            except trouble:  # noqa: PERF203 (who asks for origins is told)
                continue
    return beside


def keep_outputs(home: Path, name: str, data: bytes | None, count: int) -> dict[str, Any] | None:
    """Write what ``encode_rows`` or ``encode_records`` gave; what the catalog lists."""
    if data is None:
        return None
    path = home / OUTPUTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return {"file": f"{OUTPUTS}/{name}", "count": count}


def directory(what: str, path: Any) -> Path:
    """``path``, independent of the directory that the process is in. Raises StoreError for a URI."""
    return local(what, path).absolute()


@contextmanager
def looking(home: Path) -> Iterator[None]:
    """Within: what the system says where nobody may look into a directory is a StoreError that names it."""
    try:
        yield
    except OSError as problem:
        raise StoreError(
            f"This directory cannot be looked into: {problem.strerror}", value=str(home), remedy="Check its permissions, and those of the directories that it is in.",
        ) from problem


def _by() -> str:
    try:
        return f"bigdebug {version('bigdebug')}"
    except PackageNotFoundError:  # run from a folder that nobody installed
        return "bigdebug"

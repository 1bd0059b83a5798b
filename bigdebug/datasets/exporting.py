"""Exports: what was recorded, for the tools of others: in files, and by collectors that are told of each process when it ends."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from bigdebug.datasets import atlas, openlineage
from bigdebug.datasets.answers import Answer
from bigdebug.datasets.collectors import Collector, Message, body_of
from bigdebug.datasets.model import Process
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import DatasetsError
from bigdebug.shown import counted

if TYPE_CHECKING:
    from prov.model import ProvDocument

    from bigdebug.datasets.prov import Traced
    from bigdebug.datasets.sending import Sender
    from bigdebug.datasets.spool import Spool

FORMS = ("openlineage", "atlas")
"""What others read: OpenLineage's events, Apache Atlas's entities."""

_URL, _ENDPOINT, _KEY, _NAMESPACE = "OPENLINEAGE_URL", "OPENLINEAGE_ENDPOINT", "OPENLINEAGE_API_KEY", "OPENLINEAGE_NAMESPACE"
"""What all of OpenLineage's clients read from the environment."""


class Exporting:
    """The half of ``Datasets`` that hands on what is in its store, and tells collectors of what comes into it."""

    store: DatasetStore
    _settle: Callable[[], object]
    _senders: tuple[Sender, ...] = ()
    _spool: Spool | None = None

    def export(self, path: str | os.PathLike[str], form: str = "openlineage", *, namespace: str = "", session: str = "") -> Answer:
        """Write what was recorded, of one ``session`` or of all, into a file: OpenLineage's events, one a line, or Atlas's entities, as its
        bulk request takes them. ``namespace`` is where names of jobs (OpenLineage) or of all things (Atlas) are unique.

        The file is its owner's alone, and there as a whole or not at all. Takes some milliseconds for each process; of entities, which are one request, all
        are in memory at once.
        """
        self._refuse_own(path)
        self._settle()
        count = told = 0

        def processes() -> Iterator[Process]:
            nonlocal count
            for process in self.store.each(session):
                count += 1
                yield process

        def lines() -> Iterator[bytes]:
            nonlocal told
            if form == "atlas":
                body = atlas.bundle(processes(), cluster=namespace or atlas.CLUSTER)
                told = len(body["entities"]) + len(body["referredEntities"])
                yield body_of(body)
                return
            for process in processes():
                for _, line in tell(process):
                    told += 1
                    yield line

        tell = _teller(form, namespace)
        written = _write(path, lines())
        return Answer("Exported", ("file", "form", "processes", "events" if form == "openlineage" else "entities"), ((str(written), form, count, told),))

    def prov(self, trace: Traced, path: str | os.PathLike[str] | None = None, *, most: int = 1_000, values: bool = True) -> ProvDocument:
        """The lineage of each record of a trace as a W3C PROV document; ``path`` has it, too, as PROV-N (``.provn``) or PROV-JSON. Without
        ``values`` records are told by their places alone. Takes a question for each record, of which there may be ``most``.
        """
        from bigdebug.datasets.prov import document

        told = document(trace, most=most, values=values)
        if path is not None:
            self._refuse_own(path)
            text = told.get_provn() if Path(path).suffix == ".provn" else told.serialize(format="json")
            _write(path, [str(text).encode("utf-8", "replace")])
        return told

    def send(self, url: str = "", form: str = "openlineage", *, authorization: str = "", namespace: str = "", past: bool = False) -> Sender:
        """Until bigdebug is detached tell a collector of each process, and of what the store has already if ``past``. No job waits for it, or
        fails; what the collector does not take waits on disk, and is sent by this session or a later one that is told to send there. Of a past that is more than the disk
        holds for it (256 MB) the answer says what is left out: ``bigdebug datasets send`` waits for the collector, and tells of all.

        ``authorization`` is the name of the environment variable that holds the key, or the header. Without ``url`` the address, the key and the
        namespace are what OPENLINEAGE_URL, OPENLINEAGE_API_KEY and OPENLINEAGE_NAMESPACE say. The answer says how it stands.
        """
        from bigdebug.datasets.sending import Sender
        from bigdebug.datasets.spool import Spool

        if not url:
            url, authorization = _environment(authorization)
            namespace = namespace or os.environ.get(_NAMESPACE, "")
        collector = Collector(url, _teller(form, namespace), authorization, f"{form} {namespace}".strip())
        if self._spool is None:
            self._spool = Spool(self._spooled)
            atexit.register(self._end)
        sender = next((each for each in self._senders if each.collector == collector), None)
        if sender is None:
            sender = Sender(self._spool, collector)
            self._senders = (*self._senders, sender)
        if past:
            self._settle()
            sender.send_all(self.store.each())
        return sender

    def sending(self) -> Answer:
        """How it stands with each collector, and what waits on disk for others. Raises DatasetsError if the spool cannot be read."""
        names = ("collector", "form", "sent", "waiting", "refused", "left out", "trouble")
        known = [(sender.collector.purpose, sender.status()) for sender in self._senders]
        rows = tuple((each.collector, form, each.taken, each.waiting, each.refused, each.left_out, each.trouble) for form, each in known)
        told = {sender.collector.queue for sender in self._senders}
        notes = [f"{count:,} messages wait on disk for {queue}: send() to it goes on with them." for queue, count in self._left().items() if queue not in told]
        notes += [
            f"Of {counted(each.left_out, 'process', 'processes')} {each.collector} is not told, for the spool takes no more: bigdebug datasets send {each.collector} tells of them."
            for _, each in known if each.left_out
        ]
        return Answer("Sending", names, rows, (*(() if rows else ("No collector is told: send(url).",)), *notes))

    def _left(self) -> dict[str, int]:
        """What waits on disk, also of earlier sessions."""
        from bigdebug.datasets.spool import Spool

        if self._spool is not None:
            return self._spool.left()
        if not self._spooled.is_file():
            return {}
        with closing(Spool(self._spooled)) as spool:
            return spool.left()

    def _refuse_own(self, path: str | os.PathLike[str]) -> None:
        """An export takes the place of what was there."""
        own = {os.path.realpath(f"{file}{beside}") for file in (self.store.path, self._spooled) for beside in ("", "-wal", "-shm")}
        if os.path.realpath(path) in own:
            raise DatasetsError("An export would take the place of the store of datasets", value=str(path), remedy="Name another file.")

    @property
    def _spooled(self) -> Path:
        return self.store.path.with_name(f"{self.store.path.stem}-spool.sqlite")

    def record(self, process: Process) -> None:
        """Store a process, and tell all collectors of it. Raises nothing; without secrets, whoever recorded it."""
        [stored] = self.store.record(process)
        for sender in self._senders:
            sender.send(stored)

    def stop_sending(self, seconds: float = 2.0) -> None:
        """Send what collectors take within the seconds, and no more; what is left waits on disk."""
        senders, self._senders = self._senders, ()
        until = monotonic() + seconds
        for sender in senders:
            sender.close(max(0.0, until - monotonic()))
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        atexit.unregister(self._end)

    def _end(self) -> None:
        """A script ends with its last job: that is told, too."""
        self._settle()
        self.stop_sending()


def _known(form: str) -> str:
    if form not in FORMS:
        raise DatasetsError("There is no such form of export", value=form, remedy=f"Choose one of {', '.join(FORMS)}; dbg.datasets.prov(trace) is for records.")
    return form


def _teller(form: str, namespace: str) -> Callable[[Process], list[Message]]:
    if _known(form) == "atlas":
        return partial(atlas.messages, cluster=namespace or atlas.CLUSTER)
    return partial(openlineage.messages, namespace=namespace or openlineage.NAMESPACE, spark=_spark_version())


def _environment(authorization: str) -> tuple[str, str]:
    url = os.environ.get(_URL, "")
    if not url:
        raise DatasetsError("No collector is named", remedy=f"Give its address: send('https://host:5000/api/v1/lineage'); or set {_URL}.")
    endpoint = os.environ.get(_ENDPOINT) or "api/v1/lineage"
    return f"{url.rstrip('/')}/{endpoint.lstrip('/')}", authorization or (_KEY if os.environ.get(_KEY) else "")


def _spark_version() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:  # a saved store is looked at where there is no Spark
        return ""


def _write(named: str | os.PathLike[str], lines: Iterable[bytes]) -> Path:
    """A file of lines that only its owner reads, in the place of what was there, which stays if that fails; of a link where it leads to. Into what is
    no file (a pipe, a device) they are written as they come.
    """
    if os.fspath(named) == "-":
        raise DatasetsError("An export goes to a file", value="-", remedy="Name one; /dev/stdout is what the program writes to, and ./- a file of this name.")
    path, beside = Path(named), None
    try:
        if _is_no_file(path):
            with open(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
                file.writelines(line + b"\n" for line in lines)
            return path.absolute()
        place = Path(os.path.realpath(path))
        beside = place.parent / f".{place.name}.{os.getpid()}"
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(line + b"\n" for line in lines)
        beside.replace(place)
    except OSError as trouble:
        raise DatasetsError(f"The export cannot be written: {trouble.strerror or trouble}", value=str(path), remedy="Name a file in a folder that you may write.") from trouble
    finally:
        if beside is not None:
            with suppress(OSError):  # it is there only where something went wrong, or somebody interrupted
                beside.unlink()
    return path.absolute()


def _is_no_file(path: Path) -> bool:
    """Whether something else is there; also an open file by its number, which only looks like one (``/dev/stdout``)."""
    return path.absolute().is_relative_to("/dev") or (path.exists() and not path.is_file())

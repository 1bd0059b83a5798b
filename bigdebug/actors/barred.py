"""Barred: what a function that is tried would do to the world is not done: Python tells of it just before, and then it is stopped. Of what it does not tell, ``codes.UNHEARD`` and ``UNTOLD``
have the names, and ``silence`` tells what can be told of; what a package not named there does in C is done.

A file that a trial wrote for a few rows, the real call would find; what it removed, or read of a pipe, the real call would miss; what it sends or appends would be there several times.
"""

from __future__ import annotations

import codecs
import errno
import faulthandler
import os
import stat
import sys
import sysconfig
import threading
import tracemalloc
from abc import ABCMeta
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from bigdebug.actors.codes import Untried, library_file

_HEARD = "bigdebug.heard"
TOLD = "bigdebug.told"
"""What Python has no event of: why it would stay, as the end of a sentence."""

FILES = "it changes what lies in a directory"
ASKS = "it reads what is typed, or piped in"
_TRACES = "it traces what runs, as a debugger does"
_SENDS = "it connects with another program"
STARTS = "it starts another program"
PROCESS = "it changes what holds of the whole process"
_DESCRIPTOR = "it uses an open file by its number"
_SHARES = "it locks or shares what other programs see"

UNTOLD = {
    **dict.fromkeys(("read", "readv", "lseek", "close", "closerange", "dup2", "set_blocking", "splice"), _DESCRIPTOR),
    **dict.fromkeys(("lockf", "eventfd_read", "eventfd_write", "shm_open", "shm_unlink"), _SHARES),
    **dict.fromkeys(("nice", "umask", "setpriority", "setsid", "setpgid", "sched_setaffinity", "sched_setscheduler"), PROCESS),
}
"""Functions of Python's own, of ``os`` and shared memory, that Python has no event of: why they are not done in a trial, as the end of a sentence."""

FOR_ALL: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (tracemalloc, ("start", "stop", "clear_traces", "reset_peak")), (faulthandler, ("enable", "disable", "register", "unregister", "dump_traceback_later", "cancel_dump_traceback_later")),
    (codecs, ("register", "unregister", "register_error")), (ABCMeta, ("register",)), (threading, ("stack_size",)),
)
"""Others of Python's own, which set what holds of the whole process and cannot be put back: it is not to be had from where it is, or it is lost. Other systems and versions have fewer."""

_EVENTS = {
    **dict.fromkeys(("os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.lchown", "os.chflags", "os.lchflags"), FILES),
    **dict.fromkeys(("os.utime", "os.setxattr", "os.removexattr", "tempfile.mkstemp", "tempfile.mkdtemp"), FILES),
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "http.client.connect", "http.client.send", "ftplib.sendcmd", "smtplib.send", "imaplib.send"), _SENDS),
    **dict.fromkeys(("poplib.putline", "syslog.syslog", "os.kill", "os.killpg", "signal.pthread_kill"), _SENDS),
    "sqlite3.connect": "it opens a database",
    "builtins.input": ASKS,
    **dict.fromkeys(("os.fork", "os.forkpty", "os.exec", "os.spawn", "os.posix_spawn", "os.startfile", "os.startfile/2", "os.system", "pty.spawn", "subprocess.Popen"), STARTS),
    **dict.fromkeys(("os.chdir", "os.putenv", "os.unsetenv", "resource.setrlimit"), PROCESS),
    **dict.fromkeys(("fcntl.flock", "fcntl.lockf", "fcntl.fcntl", "fcntl.ioctl", "msvcrt.locking"), _SHARES),
}

_OURS = os.path.dirname(__file__)
"""Where the function is called from."""

_PYTHONS = (*map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")), *(os.path.join(sys.base_prefix, each) for each in ("share", "etc", "ssl")))
_NO_DATA = (*(os.path.join(each, "") for path in _PYTHONS for each in {path, os.path.realpath(path)}), "/proc/", "/sys/", "/etc/", "/usr/share/", "/usr/lib/")
"""Where files lie that say nothing of records: those of Python, of packages and of the system. A project of the user's may have an environment made in it."""

_DEVICES = frozenset((os.devnull, "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"))

_MAPPED_TO_WRITE = 2
"""``mmap.ACCESS_WRITE``; 0 is the default, which writes, too."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Barred(BaseException):
    """Stops a function; none of its own handlers of exceptions is meant."""


class Watched(Protocol):
    """What is being tried."""

    vain: set[str]
    """Files that it opened to write into them, and that are as they were."""

    def reads(self, path: str) -> None:
        """Note that it opens a file to read it."""

    def imports(self, name: str) -> None:
        """Import a module, which it is about to import for the first time."""

    def bar(self, why: str) -> None:
        """Note what it would have done, as the end of a sentence."""


class Barrier:
    """Stops what is being ``tried``. Python hears of its events from then on to its end, which takes 0.1 microseconds for each (``id()``, ``open()``, imports): so it does not stand before
    something is tried.
    """

    def __init__(self, tried: Callable[[], Watched | None]) -> None:
        self._tried = tried
        self._lock = threading.Lock()
        self._stands = False

    def stand(self) -> None:
        """From now on. Raises Untried where another one who hears events forbids it."""
        with self._lock:
            if not self._stands:
                sys.addaudithook(self._hook())
                sys.audit(_HEARD, self)
            if not self._stands:
                raise Untried("this process lets nobody see what a function does to files and to other programs")

    def open_in_vain(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        """Python's own ``open``; in a trial, what is written into a file is lost."""
        trial = self._tried()
        if trial is None or isinstance(file, int) or file == os.devnull or not set("wax") & set(mode) or "+" in mode:
            return open(file, mode, *args, **options)
        if "x" in mode and os.path.lexists(file):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file)
        trial.vain.add(os.path.abspath(os.fsdecode(file)))
        return open(os.devnull, mode.replace("x", "w"), *args, **options)

    def _hook(self) -> Callable[[str, tuple[Any, ...]], None]:
        """A plain function: Python looks for an attribute of it each time, which takes half a microsecond of a method."""
        watched, hear = _WATCHED, self._hear

        def heard(event: str, args: tuple[Any, ...]) -> None:
            if event in watched:
                hear(event, args)

        return heard

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event == _HEARD:
            self._stands = self._stands or args[0] is self
            return
        trial = self._tried()
        if trial is None:
            return
        if event == "import":
            if not _importing():
                trial.imports(args[0])
        else:
            why = _LOOKED_AT[event](trial, *args) if event in _LOOKED_AT else _EVENTS[event]
            if why and not _importing():
                trial.bar(why)
                raise Barred(why)


def _opens(trial: Watched, path: Any, mode: str | None, flags: int) -> str:
    if isinstance(path, int):
        return _DESCRIPTOR
    name = os.path.abspath(os.fsdecode(path))
    if name in trial.vain:
        return f"it reads {os.path.basename(name)!r}, which it writes"
    if flags & _WRITES:
        return f"it writes {os.path.basename(name)!r}" if name != os.devnull else ""
    if name not in _DEVICES and _passes_once(path):
        return f"it reads {os.path.basename(name)!r}, which is no file that can be read again"
    if not (name.startswith(_NO_DATA) or name in _DEVICES or library_file(name)) and not name.endswith((".py", ".pyc")) and not _importing():
        trial.reads(name)
    return ""


def _passes_once(path: Any) -> bool:
    """Whether what stands there is gone once it was read, or waits to be written: a pipe, also one with a name, what is typed."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError):  # who opens it is told
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISBLK(kind))


def _maps(trial: Watched, descriptor: int, length: int, access: int, offset: int) -> str:
    """The memory of a file is changed by who may write into it; memory of no file is the function's own."""
    return _SHARES if descriptor != -1 and access in (0, _MAPPED_TO_WRITE) else ""


def _traces(trial: Watched) -> str:
    """Where all of a process is traced, it is what traces it that begins and ends to: coverage in each thread, a debugger when somebody goes on."""
    return _TRACES if sys.gettrace() is None and threading.gettrace() is None else ""


_LOOKED_AT: dict[str, Callable[..., str]] = {"open": _opens, "mmap.__new__": _maps, "sys.settrace": _traces, TOLD: lambda trial, why: str(why)}
"""Events that say whether something would stay by what they tell besides their names: gives why, empty if nothing would."""

_WATCHED = frozenset((*_EVENTS, *_LOOKED_AT, "import", _HEARD))


def _importing() -> bool:
    """Whether the function imports a module: half of one may not be left, and what it does it does once, for the real call too. (The step itself may be called by a module that is imported.)"""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    while frame is not None and not frame.f_code.co_filename.startswith(_OURS):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False

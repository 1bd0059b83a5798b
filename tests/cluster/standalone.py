"""A cluster on loopback: Spark's own master and two workers, which are two machines as far as Spark knows. Each has directories of its own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests import jvm

HOME = Path(pyspark.__file__).parent
HOSTS = ("127.0.0.1", "127.0.0.2")
PATIENCE = 120


@contextmanager
def standalone(folder: Path, hidden: Path | None = None) -> Iterator[str]:
    """The URL of its master, while it is there. Each worker has a core and a gigabyte; they see nothing of what is in ``hidden``, and have something else there."""
    with ExitStack() as running:
        log = running.enter_context(_started(folder / "master", HOSTS[0], "master.Master", "--host", HOSTS[0]))
        url = _said(log, r"Starting Spark master at (spark://\S+)")
        for number, host in enumerate(HOSTS):
            own = folder / f"worker{number}"
            log = running.enter_context(_started(own, host, "worker.Worker", "--host", host, "-c", "1", "-m", "1g", "-d", str(own / "work"), url, hidden=hidden))
            _said(log, "(Successfully registered) with master")
        yield url


@contextmanager
def _started(folder: Path, host: str, daemon: str, *arguments: str, hidden: Path | None = None) -> Iterator[Path]:
    """The log of a daemon of Spark's that runs within."""
    log, scratch = folder / "log", folder / "tmp"
    scratch.mkdir(parents=True)
    environment = {
        **os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host, "SPARK_LOCAL_DIRS": str(scratch), "TMPDIR": str(scratch),
        "SPARK_DAEMON_JAVA_OPTS": jvm.options().replace("-Xlog:disable", ""), "SPARK_DAEMON_MEMORY": "512m",
    }
    environment.pop("SPARK_SUBMIT_OPTS", None)
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{daemon}", "--port", "0", "--webui-port", "0", *arguments]
    if hidden is not None:
        command = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {shlex.quote(str(hidden))} && exec \"$@\"", "sh", *command]
    with log.open("w") as said:
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
    try:
        yield log
    finally:
        process.terminate()
        process.wait()


def _said(log: Path, pattern: str) -> str:
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"Not said within {PATIENCE} s: {pattern}\n{log.read_text(errors='replace')[-3000:]}")

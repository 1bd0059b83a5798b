"""S3 on loopback: moto's server, a process of its own, which can be stopped, refuse its callers, and come back empty."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

KEYS = {"access_key": "AKIA-OF-THE-TESTS", "secret_key": "secret/of+the=tests"}
BUCKET = "lake"
PATIENCE = 30


def server() -> str:
    """The program that was installed with this Python, or BIGDEBUG_TEST_MOTO; tests that need it are skipped where there is none."""
    found = os.environ.get("BIGDEBUG_TEST_MOTO") or shutil.which("moto_server", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("moto[server] is not installed")
    return found


class S3:
    """A server on a port of its own, with one bucket."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.endpoint = f"127.0.0.1:{free.getsockname()[1]}"
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def options(self) -> dict[str, str]:
        """What ``store_options`` takes."""
        return {**KEYS, "endpoint_override": self.endpoint, "scheme": "http", "region": "us-east-1"}

    def filesystem(self) -> Any:
        """For tests to look into it."""
        from pyarrow import fs

        return fs.S3FileSystem(**self.options, allow_bucket_creation=True, allow_bucket_deletion=True)

    def keys(self, under: str = BUCKET) -> list[str]:
        """The objects that hold something."""
        from pyarrow import fs

        found = self.filesystem().get_file_info(fs.FileSelector(under, recursive=True, allow_not_found=True))
        return sorted(info.path for info in found if info.type == fs.FileType.File)

    def start(self) -> None:
        host, port = self.endpoint.split(":")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([server(), "-H", host, "-p", port], stdout=log, stderr=log)
        began = time.monotonic()
        while True:
            try:
                with socket.create_connection((host, int(port)), 1):
                    break
            except OSError:
                if time.monotonic() > began + PATIENCE or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
        self.make_bucket()

    def make_bucket(self) -> None:
        self.filesystem().create_dir(BUCKET)

    def remove_bucket(self) -> None:
        self.filesystem().delete_dir(BUCKET)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Within: nobody's keys are right."""
        self._refuse_from("0")
        try:
            yield
        finally:
            self._refuse_from("inf")

    def _refuse_from(self, request: str) -> None:
        asked = urllib.request.Request(f"http://{self.endpoint}/moto-api/reset-auth", request.encode(), {"Content-Type": "text/plain"}, method="POST")
        with urllib.request.urlopen(asked, timeout=5) as reply:
            reply.read()


@contextmanager
def running(folder: Path) -> Iterator[S3]:
    made = S3(folder / "moto.log")
    made.start()
    try:
        yield made
    finally:
        made.stop()

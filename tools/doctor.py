"""Say, before anything is installed, what this machine lacks to run bigdebug.

One sentence for each thing that is wrong (what, the value seen, what to do) and exit code 1; otherwise one line and 0.
Standard library only, and no syntax newer than Python 3.7: an old Python must get its sentence, not a SyntaxError.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator

OLDEST_PYTHON = (3, 10)
JAVA_VERSIONS = (17, 21)
INSTALL_JAVA = "install Java 17 or 21 (on Debian: apt install openjdk-17-jre-headless)"
PATIENCE = 60  # seconds that a first start of Java may take
LOOPBACK = "127.0.0.1"
UI_PORTS = range(4040, 4057)  # Spark tries spark.ui.port and the 16 ports above it, then gives up.


def python_problems() -> Iterator[str]:
    """A Python that is too old, or cannot make virtual environments."""
    if sys.version_info[:2] < OLDEST_PYTHON:
        version = ".".join(map(str, sys.version_info[:2]))
        yield f"Python is {version} ({sys.executable}), and bigdebug needs 3.10 or newer: make PYTHON=python3.11 names one."
    try:
        import ensurepip  # noqa: F401  Debian ships it apart from Python.
        import venv  # noqa: F401
    except ImportError as error:
        yield f"Python ({sys.executable}) cannot make virtual environments ({error}): apt install python3-venv."


def java_problems() -> Iterator[str]:
    """The Java that Spark's launcher would take: that of JAVA_HOME where it is set, else the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    try:
        answer = subprocess.run(
            [java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False
        ).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        yield f"'{java} -version' gave no answer in {PATIENCE} seconds: {INSTALL_JAVA}."
        return
    except OSError as error:
        if home:
            yield f"JAVA_HOME is {home}, and {java} cannot be run ({error.strerror}): set it to a Java 17 or 21, or unset it."
        else:
            yield f"There is no Java to run on the PATH ({error.strerror}): {INSTALL_JAVA}, or set JAVA_HOME."
        return
    found = re.search(r'version "(?:1\.)?(\d+)', answer)  # "1.8.0_392" is Java 8.
    if not found:
        yield f"'{java} -version' answered {answer.strip()[:80]!r}, which names no version: {INSTALL_JAVA}."
    elif int(found.group(1)) not in JAVA_VERSIONS:
        yield f"Java is version {found.group(1)} ({java}), and Spark 4 needs 17 or 21: {INSTALL_JAVA} and set JAVA_HOME to it."


def listen(address: str, port: int = 0) -> socket.socket:
    """A socket that listens there; OSError where that is not possible."""
    server = socket.socket(socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0])
    try:
        server.bind((address, port))
        server.listen(1)
    except OSError:
        server.close()
        raise
    return server


def taken(address: str, port: int) -> bool:
    try:
        listen(address, port).close()
    except OSError:
        return True
    return False


def network_problems() -> Iterator[str]:
    """Driver, JVM and Python workers talk over ports of this machine; SPARK_LOCAL_IP chooses where they listen."""
    try:
        with listen(LOOPBACK) as server:
            socket.create_connection(server.getsockname(), timeout=10).close()
    except OSError as error:
        yield f"No port of {LOOPBACK} can be opened and reached ({error.strerror}): bring the loopback interface up."
        return
    local = os.environ.get("SPARK_LOCAL_IP") or LOOPBACK
    try:
        listen(local).close()
    except OSError as error:
        yield f"SPARK_LOCAL_IP is {local}, where no port can be opened ({error.strerror}): set it to {LOOPBACK}."
        return
    first, last = UI_PORTS[0], UI_PORTS[-1]
    if all(taken(local, port) for port in UI_PORTS):
        yield f"Ports {first} to {last} of {local} are all taken, and Spark's web page needs one: end another Spark session."


def main() -> int:
    problems = [*python_problems(), *java_problems(), *network_problems()]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print("Python, Java and the loopback ports are as bigdebug needs them.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

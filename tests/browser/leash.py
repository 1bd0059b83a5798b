"""Runs a command until it ends, or until nobody holds this process's standard input: then who started it has gone, in whatever way."""

import os
import subprocess
import sys
import threading

PATIENCE = 15.0
"""Seconds that the command has to end by itself, with what it started."""


def main(command: list[str]) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def watch() -> None:
        while os.read(0, 4096):  # not by sys.stdin, which this process could not leave while somebody reads it
            pass
        child.terminate()
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()

    threading.Thread(target=watch, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``make lab``: JupyterLab on the tour, with the panel and the kernel, as somebody starts it in the first minute."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / ".venv" / ".has-examples"
PANEL = ROOT / "labextension" / "dist" / "package.json"

pytestmark = pytest.mark.skipif(
    not (ROOT / ".venv" / "bin" / "jupyter").exists() or not PANEL.exists() or shutil.which("make") is None,
    reason="make has not installed bigdebug here, or not built its panel: make test",
)

PATIENCE = 60.0


class Served(NamedTuple):
    url: str
    token: str


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """What ``make lab`` serves, with no settings of whoever runs the tests. What it needs, the run of these tests has installed and built."""
    home = tmp_path_factory.mktemp("home")
    quiet = {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    # A key for make's own variable of the same name would say how a make that runs these tests was called.
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CI")}
    command = ["make", f"--old-file={EXAMPLES.relative_to(ROOT)}", f"--old-file={PANEL.relative_to(ROOT)}", "lab", "ARGS=--no-browser --ip=127.0.0.1 --port=0 --ServerApp.port_retries=0"]
    log = home / "log"
    with log.open("w") as said:
        process = subprocess.Popen(command, cwd=ROOT, env={**kept, **quiet}, stdout=said, stderr=subprocess.STDOUT)
    try:
        served = _served(home / "runtime", process, log)
        yield served
        httpx.post(f"{served.url}api/shutdown", headers=_key(served), timeout=PATIENCE)
        process.wait(PATIENCE)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _served(runtime: Path, process: subprocess.Popen[bytes], log: Path) -> Served:
    """The server, as soon as it has written down where it is."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            if (text := file.read_text()).endswith("}"):
                return Served(json.loads(text)["url"], json.loads(text)["token"])
        time.sleep(0.1)
    raise AssertionError(f"make lab does not serve:\n{log.read_text()}")


def _key(lab: Served) -> dict[str, str]:
    return {"Authorization": f"token {lab.token}"}


def test_it_opens_on_the_tour(lab: Served) -> None:
    page = httpx.get(lab.url, params={"token": lab.token}, follow_redirects=True, timeout=PATIENCE)
    assert page.url.path == "/lab/tree/tour.ipynb"
    tour = httpx.get(f"{lab.url}api/contents/tour.ipynb", headers=_key(lab), timeout=PATIENCE).json()
    assert tour["content"]["metadata"]["kernelspec"]["name"] in httpx.get(f"{lab.url}api/kernelspecs", headers=_key(lab), timeout=PATIENCE).json()["kernelspecs"]


def test_it_serves_the_panel_that_was_built(lab: Served) -> None:
    page = httpx.get(f"{lab.url}lab", headers=_key(lab), timeout=PATIENCE).text
    config = json.loads(page.partition('<script id="jupyter-config-data" type="application/json">')[2].partition("</script>")[0])
    [panel] = [each for each in config["federated_extensions"] if each["name"] == "bigdebug"]
    assert panel["load"] == json.loads(PANEL.read_text())["jupyterlab"]["_build"]["load"]
    assert not [each for each in config.get("disabledExtensions", []) if "bigdebug" in str(each)]
    script = httpx.get(f"{lab.url}lab/extensions/bigdebug/{panel['load']}", headers=_key(lab), timeout=PATIENCE)
    assert (script.status_code, len(script.content) > 1_000) == (200, True)

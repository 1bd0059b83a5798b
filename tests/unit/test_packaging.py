"""What a stranger gets: the wheel, and the reasons for what it pulls in."""

import json
import os
import re
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PANEL = ROOT / "labextension" / "dist"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree, built in a copy: setuptools leaves a build/ behind that would end up in the next wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ["bigdebug", "kernel", "labextension"]:
        shutil.copytree(ROOT / name, folder / "tree" / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder / "tree")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, folder / "tree"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def names_ending(archive, suffix):
    return [name for name in archive.namelist() if name.endswith(suffix)]


def read(archive, suffix):
    (name,) = names_ending(archive, suffix)
    return archive.read(name).decode()


def test_every_module_is_in_the_wheel(wheel):
    engine = {path.relative_to(ROOT).as_posix() for path in (ROOT / "bigdebug").rglob("*.py")}
    kernel = {path.relative_to(ROOT / "kernel").as_posix() for path in (ROOT / "kernel").rglob("*.py")}
    assert set(names_ending(wheel, ".py")) == engine | kernel


def test_the_wheel_brings_the_schema_of_our_own_facet(wheel):
    assert json.loads(read(wheel, "bigdebug/datasets/schemas/BigdebugRecordLineageRunFacet.json"))["$id"].startswith("urn:bigdebug:facets:")


def test_the_wheel_brings_the_kernel(wheel):
    spec = json.loads(read(wheel, ".data/data/share/jupyter/kernels/bigdebug/kernel.json"))
    assert spec["argv"] == ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}", "--ext=bigdebug_kernel.ready"]
    # As ipykernel's own: without these, front ends offer no debugger and no encrypted channels.
    assert spec["metadata"] == {"debugger": True, "supported_encryption": ["curve"]}
    assert spec["kernel_protocol_version"] == "5.5"


@pytest.mark.skipif(not PANEL.exists(), reason="the panel has not been built, which takes Node: make panel")
def test_the_wheel_brings_the_panel_as_jupyterlab_loads_it(wheel):
    place = ".data/data/share/jupyter/labextensions/bigdebug/"
    package = json.loads(read(wheel, place + "package.json"))
    assert names_ending(wheel, place + package["jupyterlab"]["_build"]["load"])
    assert json.loads(read(wheel, place + "install.json"))["packageName"] == "bigdebug"
    assert package["version"] == Parser().parsestr(read(wheel, "METADATA"))["Version"]
    built = {path.name for path in PANEL.rglob("*.js")}
    assert {Path(name).name for name in names_ending(wheel, ".js") if place in name} == built
    # The widgets of the views are built along; their licenses go with what they bundle.
    shown = {f"bigdebug/views/static/{name}" for name in ("views.js", "views.css", "licenses.md")}
    assert {name for name in wheel.namelist() if name.startswith("bigdebug/views/static/")} == shown


@pytest.mark.skipif(not PANEL.exists(), reason="the panel has not been built, which takes Node: make panel")
def test_jupyterlab_finds_the_panel_and_the_kernel_of_the_wheel_without_node(wheel, tmp_path):
    """In an environment of its own, which sees what bigdebug requires and nothing else of this one; no program is on the PATH."""
    venv.create(tmp_path, with_pip=False)
    python = tmp_path / "bin" / "python"
    [packages] = tmp_path.glob("lib/*/site-packages")
    (packages / "required.pth").write_text("\n".join(site.getsitepackages()))
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", wheel.filename]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    alone = {"HOME": str(tmp_path), "PATH": os.devnull, "JUPYTER_PREFER_ENV_PATH": "1", "NO_COLOR": "1"}

    def said(module):
        command = [python, "-I", "-m", module, "list"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)

    version = Parser().parsestr(read(wheel, "METADATA"))["Version"]
    [panel] = [words for line in said("jupyterlab.labextensions").splitlines() if (words := line.split())[:1] == ["bigdebug"]]
    assert panel[1:4] == [f"v{version}", "enabled", "OK"]
    [kernel] = [words for line in said("jupyter_client.kernelspecapp").splitlines() if (words := line.split())[:1] == ["bigdebug"]]
    assert kernel[1] == str(tmp_path / "share" / "jupyter" / "kernels" / "bigdebug")


def test_a_tree_without_a_built_panel_installs_and_says_what_is_missing(tmp_path):
    for name in ["setup.py", "README.md", "LICENSE"]:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "kernel", tmp_path / "kernel")
    (tmp_path / "bigdebug").mkdir()
    command = [sys.executable, "setup.py", "--quiet", "build", "--build-lib", tmp_path / "lib"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "packaged without its JupyterLab panel" in done.stderr
    assert "make panel" in done.stderr


def test_the_wheel_needs_no_node_and_holds_its_types_and_licence(wheel):
    assert not names_ending(wheel, ".ts") + names_ending(wheel, ".tsx")
    assert not [name for name in wheel.namelist() if "node_modules" in name]
    assert names_ending(wheel, "bigdebug/py.typed")
    assert names_ending(wheel, "LICENSE")


IN_THE_BROWSER = "## In the browser"


def test_every_dependency_has_its_reason(wheel):
    metadata = Parser().parsestr(read(wheel, "METADATA"))
    required = {re.match(r"[\w-]+", line).group() for line in metadata.get_all("Requires-Dist")}
    reasons = re.findall(r"^\| ([\w-]+) \| (?!why)", reasons_in(0), re.MULTILINE)
    assert required == set(reasons)
    assert len(reasons) == len(set(reasons))


def test_every_dependency_of_the_browser_has_its_reason():
    """A line names one package or several, or all of a scope."""
    packages = [json.loads((ROOT / folder / "package.json").read_text()) for folder in ("labextension", "tests/browser")]
    required = {name for package in packages for of in ("dependencies", "devDependencies") for name in package.get(of, {})}
    named = [name for line in re.findall(r"^\| (.+?) \| (?!why)", reasons_in(1), re.MULTILINE) for name in line.split(", ")]
    assert {name for name in required if not any(fnmatch(name, each) for each in named)} == set()
    assert {each for each in named if not any(fnmatch(name, each) for name in required)} == set()


def reasons_in(part):
    return (ROOT / "notes" / "dependencies.md").read_text().split(IN_THE_BROWSER)[part]

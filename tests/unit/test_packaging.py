"""What a stranger gets: the wheel, and the reasons for what it pulls in."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree, built in a copy: setuptools leaves a build/ behind that would end up in the next wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ["bigdebug", "kernel"]:
        shutil.copytree(ROOT / name, folder / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
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


def test_the_wheel_brings_the_kernel(wheel):
    spec = json.loads(read(wheel, ".data/data/share/jupyter/kernels/bigdebug/kernel.json"))
    assert spec["argv"] == ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}", "--ext=bigdebug"]
    # As ipykernel's own: without these, front ends offer no debugger and no encrypted channels.
    assert spec["metadata"] == {"debugger": True, "supported_encryption": ["curve"]}
    assert spec["kernel_protocol_version"] == "5.5"


def test_the_wheel_needs_no_node_and_holds_its_types_and_licence(wheel):
    assert not names_ending(wheel, ".ts") + names_ending(wheel, "package.json")
    assert names_ending(wheel, "bigdebug/py.typed")
    assert names_ending(wheel, "LICENSE")


def test_every_dependency_has_its_reason(wheel):
    metadata = Parser().parsestr(read(wheel, "METADATA"))
    required = {re.match(r"[\w-]+", line).group() for line in metadata.get_all("Requires-Dist")}
    reasons = re.findall(r"^\| ([\w-]+) \| (?!why)", (ROOT / "notes" / "dependencies.md").read_text(), re.MULTILINE)
    assert required == set(reasons)
    assert len(reasons) == len(set(reasons))

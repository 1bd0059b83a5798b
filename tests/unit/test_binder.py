"""The files of binder/ are what Binder expects: an image is built from them far from here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BINDER = ROOT / "binder"


def test_the_environment_names_a_python_a_java_and_a_node_that_are_supported():
    environment = yaml.safe_load((BINDER / "environment.yml").read_text())
    wanted = dict(each.split("=") for each in environment["dependencies"] if "=" in each)
    assert (wanted["python"], wanted["openjdk"], wanted["nodejs"]) == ("3.11", "17", "20")
    assert environment["channels"] == ["conda-forge"]


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_a_script_can_be_run_and_has_no_mistake_of_syntax(name):
    assert os.access(BINDER / name, os.X_OK)
    assert (BINDER / name).read_text().startswith("#!/bin/bash\n")
    done = subprocess.run(["bash", "-n", BINDER / name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_start_hands_over_to_the_server_with_what_spark_needs():
    if shutil.which("java") is None:
        pytest.skip("there is no Java on the PATH")
    asked = "import os, sys; print(os.environ['JAVA_HOME'], os.environ['SPARK_LOCAL_IP'], os.environ['PYSPARK_SUBMIT_ARGS'].split()[-1], *sys.argv[1:])"
    done = subprocess.run([BINDER / "start", "python3", "-c", asked, "two words", "end"], capture_output=True, text=True, check=True)
    home, *rest = done.stdout.split()
    assert (Path(home) / "bin" / "java").exists()
    assert rest == ["127.0.0.1", "pyspark-shell", "two", "words", "end"]


def test_what_the_scripts_build_is_there_to_be_built():
    script = (BINDER / "postBuild").read_text()
    assert "cd labextension" in script
    assert (ROOT / "labextension" / "package-lock.json").exists()

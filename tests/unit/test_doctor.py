"""The doctor is run as a stranger runs it: another process, with the machine's faults made by hand."""

import ast
import socket
import subprocess
import sys
from pathlib import Path

import pytest

DOCTOR = Path(__file__).resolve().parents[2] / "tools" / "doctor.py"
VERSION_17 = 'openjdk version "17.0.15" 2025-04-15'


@pytest.fixture
def java(tmp_path):
    """``java(says)`` puts a java that says so on an otherwise empty PATH, and returns its home."""

    def install(says, exit_code=0):
        program = tmp_path / "jdk" / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{says}\nEND\nexit {exit_code}\n")
        program.chmod(0o755)
        return program.parent.parent

    return install


def doctor(*, path, before="", **environment):
    """Exit code, standard output and the sentences of the doctor; ``before`` is run first, to break its Python."""
    code = f"import sys; sys.path.insert(0, {str(DOCTOR.parent)!r}); import doctor\n{before}\nsys.exit(doctor.main())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": str(path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def the_one_sentence(result):
    code, out, sentences = result
    assert code == 1
    assert out == ""
    assert len(sentences) == 1, sentences
    assert sentences[0].endswith(".")
    return sentences[0]


@pytest.mark.parametrize("says", [VERSION_17, 'openjdk version "21" 2023-09-19', f"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n{VERSION_17}"])
def test_a_sound_machine_is_told_so_in_one_line(java, says):
    code, out, sentences = doctor(path=java(says) / "bin")
    assert (code, sentences) == (0, [])
    assert len(out.splitlines()) == 1


def test_runs_as_a_script(java):
    environment = {"PATH": str(java(VERSION_17) / "bin")}
    assert subprocess.run([sys.executable, DOCTOR], env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_no_java(tmp_path):
    sentence = the_one_sentence(doctor(path=tmp_path))
    assert "no Java" in sentence
    assert "openjdk-17-jre-headless" in sentence


@pytest.mark.parametrize(("says", "version"), [('openjdk version "11.0.2" 2019-01-15', "11"), ('java version "1.8.0_392"', "8"), ('openjdk version "22-ea"', "22")])
def test_java_of_another_version(java, says, version):
    sentence = the_one_sentence(doctor(path=java(says) / "bin"))
    assert f"Java is version {version} " in sentence
    assert "17 or 21" in sentence


def test_java_that_answers_garbage(java):
    sentence = the_one_sentence(doctor(path=java("No Java runtime present.", exit_code=1) / "bin"))
    assert "'No Java runtime present.'" in sentence


def test_java_that_never_answers(java):
    home = java(VERSION_17)
    (home / "bin" / "java").write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    assert "gave no answer" in the_one_sentence(doctor(path=home / "bin", before="doctor.PATIENCE = 0.2"))


def test_java_home_goes_before_the_path(java, tmp_path):
    home = java(VERSION_17)
    assert doctor(path=tmp_path, JAVA_HOME=str(home))[0] == 0
    elsewhere = tmp_path / "nowhere"
    sentence = the_one_sentence(doctor(path=home / "bin", JAVA_HOME=str(elsewhere)))
    assert f"JAVA_HOME is {elsewhere}" in sentence


def test_an_old_python(java):
    sentence = the_one_sentence(doctor(path=java(VERSION_17) / "bin", before="sys.version_info = (3, 9, 18)"))
    assert "Python is 3.9 " in sentence
    assert sys.executable in sentence


def test_an_old_python_can_read_the_script():
    ast.parse(DOCTOR.read_text(), feature_version=(3, 7))


def test_a_python_without_venv(java):
    sentence = the_one_sentence(doctor(path=java(VERSION_17) / "bin", before="sys.modules['ensurepip'] = None"))
    assert "apt install python3-venv" in sentence


def test_an_address_that_is_not_this_machine(java):
    # 203.0.113.0/24 is reserved for documentation: no interface has it.
    sentence = the_one_sentence(doctor(path=java(VERSION_17) / "bin", SPARK_LOCAL_IP="203.0.113.7"))
    assert "SPARK_LOCAL_IP is 203.0.113.7" in sentence


def test_no_port_left_for_the_web_page(java):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        before = f"doctor.UI_PORTS = range({port}, {port + 1})"
        sentence = the_one_sentence(doctor(path=java(VERSION_17) / "bin", before=before))
    assert f"Ports {port} to {port} of 127.0.0.1 are all taken" in sentence


def test_every_fault_has_its_sentence(tmp_path):
    code, _, sentences = doctor(path=tmp_path, before="sys.version_info = (3, 8, 0)", SPARK_LOCAL_IP="203.0.113.7")
    assert code == 1
    assert [sentence.split()[0] for sentence in sentences] == ["Python", "There", "SPARK_LOCAL_IP"]

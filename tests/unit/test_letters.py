"""Dead letters: what was posted is read, whatever became of those before it."""

import resource
from pathlib import Path

import bigdebug
from bigdebug.agents.letters import BOX, letter_of, post


def letter(number: int) -> str:
    return letter_of(1, 0, number, f"record {number} {'y' * 500}", ValueError("bad"))


def posted(file: Path, number: int) -> bool:
    try:
        post(file, [letter(number)])
    except OSError:
        return False
    return True


def test_a_letter_that_finds_no_room_takes_none_with_it(tmp_path: Path) -> None:
    """As on a disk that is full for a moment."""
    (tmp_path / BOX).touch()
    file = tmp_path / "0-0-0.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        before = [number for number in range(10) if posted(file, number)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 1 < len(before) < 10
    assert posted(file, 10)
    assert [known.record.split()[1] for known in bigdebug.read_letters(tmp_path)] == [str(number) for number in [*before, 10]]



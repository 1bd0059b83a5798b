"""Programs as steps: their lines are found among those that they read, exactly or with what is not sure said; or they say themselves what they made of what."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.actors.matched import Unmatched, content, left, lines_in, numbered
from bigdebug.errors import ActorError, IncompleteLineageError
from bigdebug.trace.across.located import Located, Unit


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("b 1\na 2\nERROR x\nb 1\na 9\nERROR <script>\n")
    return path


def told(found):
    return {each.path: each.positions.tolist() for each in found}


def doubts(found):
    return {each.why for each in found if each.why}


def asked(path, *lines):
    return [Located.of(str(path), Unit.LINE, lines)]


def back(step, path, *lines):
    return told(step.backward([Located.of(str(path), Unit.LINE, lines)]))


def test_a_filter_is_exact_to_the_line(source, tmp_path):
    done = actors.program(["grep", "ERROR"], stdin=source, stdout=tmp_path / "out", lineage="filter")
    assert done.returncode == 0
    (step,) = actors.steps()
    assert (step.name, step.kind, step.incomplete) == ("grep", "program", ())
    assert back(step, tmp_path / "out", 1) == {str(source): [5]}
    assert told(step.forward([Located.of(str(source), Unit.LINE, [2, 3])])) == {str(tmp_path / "out"): [0]}
    assert step.reads[0].stamp.digest
    assert step.writes[0].stamp.size == (tmp_path / "out").stat().st_size


def test_a_sort_of_lines_that_differ_is_exact_to_the_line(source, tmp_path):
    source.write_text("b 1\na 2\nERROR x\nb 2\na 9\n")
    actors.program(["sort", source, "-o", "sorted"], reads=[source], writes="sorted", lineage="content", cwd=tmp_path)
    (step,) = actors.steps()
    assert step.incomplete == ()
    places = [back(step, tmp_path / "sorted", n)[str(source)] for n in range(5)]
    lines = source.read_text().splitlines()
    assert [lines[place] for (place,) in places] == (tmp_path / "sorted").read_text().splitlines()
    assert sorted(place for (place,) in places) == list(range(5))


@pytest.mark.parametrize("argv", [["sort"], ["tac"], ["shuf"], ["cat"]])
def test_which_of_equal_lines_is_which_nobody_knows_though_all_were_written(source, tmp_path, argv):
    actors.program([*argv, str(source)], reads=source, stdout=tmp_path / "out", lineage="content")
    (step,) = actors.steps()
    written = (tmp_path / "out").read_text().splitlines()
    assert [back(step, tmp_path / "out", n) for n, line in enumerate(written) if line == "b 1"] == [{str(source): [0, 3]}] * 2
    assert back(step, tmp_path / "out", written.index("a 9")) == {str(source): [4]}
    assert told(step.forward(asked(source, 3))) == {str(tmp_path / "out"): [n for n, line in enumerate(written) if line == "b 1"]}
    why = {f"2 lines of {argv[0]} may be any of several equal ones, and count as made of all of these"}
    assert doubts(step.backward(asked(tmp_path / "out", written.index("b 1")))) == doubts(step.forward(asked(source, 3))) == why
    assert doubts(step.backward(asked(tmp_path / "out", written.index("a 9")))) == doubts(step.forward(asked(source, 4))) == set()
    assert step.incomplete == ()


def test_an_equal_line_of_another_file_may_be_the_one(source, tmp_path):
    (tmp_path / "more").write_text("z\nERROR x\n")
    actors.program(["cat", str(tmp_path / "more"), str(source)], reads=[source, tmp_path / "more"], stdout=tmp_path / "out", lineage="content")
    (step,) = actors.steps()
    assert back(step, tmp_path / "out", 1) == {str(source): [2], str(tmp_path / "more"): [1]}
    assert doubts(step.forward(asked(source, 2)))


def test_lines_that_are_left_of_files_in_an_unknown_order_are_known_by_what_is_in_them(source, tmp_path):
    (tmp_path / "more").write_text("z 1\nb 1\nq 1\n")
    source.write_text("b 1\nERROR x\n")
    expected = [[("in.txt", [0]), ("more", [1])], [("more", [2])], [("in.txt", [0]), ("more", [1])]]
    for number, options in enumerate(({"reads": {"in.txt", "more"}}, {"reads": "in.txt", "stdin": "more"})):
        out = f"out{number}"
        actors.program(["sh", "-c", "cat more in.txt | grep -v z | grep 1"], stdout=out, lineage="filter", cwd=tmp_path, **options)
        step = actors.steps()[-1]
        assert [[(os.path.basename(path), at) for path, at in sorted(back(step, tmp_path / out, n).items())] for n in range(3)] == expected
        assert [len(doubts(step.backward(asked(tmp_path / out, n)))) for n in range(3)] == [1, 0, 1]


@pytest.mark.parametrize(("lineage", "writes", "stdout", "known"), [
    ("lines", {"first", "last"}, None, False), ("lines", "last", "first", False), ("lines", ["first", "last"], None, True),
    ("filter", {"first", "last"}, None, True), ("filter", "last", "first", True), ("content", "last", "first", True),
])
def test_several_files_are_written_in_an_order_that_was_said(tmp_path, lineage, writes, stdout, known):
    (tmp_path / "in.txt").write_text("a\nb\nc\nd\n")
    first = "head -n 2 in.txt" if stdout else "head -n 2 in.txt > first"
    actors.program(["sh", "-c", f"{first}; tail -n 2 in.txt > last"], reads="in.txt", writes=writes, stdout=stdout, lineage=lineage, cwd=tmp_path)
    (step,) = actors.steps()
    if known:
        assert step.incomplete == ()
        assert [back(step, tmp_path / path, 1)[str(tmp_path / "in.txt")] for path in ("first", "last")] == [[1], [3]]
    else:
        assert "nobody said in which order it writes them" in step.incomplete[0]


def test_what_several_lines_could_be_is_all_of_them_and_is_said(source, tmp_path):
    actors.program(["sort", "-u", str(source)], reads=source, stdout=tmp_path / "out", lineage="content")
    (step,) = actors.steps()
    at = (tmp_path / "out").read_text().splitlines().index("b 1")
    assert back(step, tmp_path / "out", at) == {str(source): [0, 3]}
    assert doubts(step.backward(asked(tmp_path / "out", at))) == {"1 line of sort may be any of several equal ones, and count as made of all of these"}
    actors.program(["tail", "-n", "3", str(source)], reads=source, stdout=tmp_path / "tail", lineage="filter")
    step = actors.steps()[-1]
    assert [sum("1 line of tail" in why for why in doubts(step.backward(asked(tmp_path / "tail", n)))) for n in range(3)] == [1, 0, 0]
    assert [len(doubts(step.forward(asked(source, n)))) for n in range(6)] == [1, 0, 0, 1, 0, 0]
    assert [back(step, tmp_path / "tail", n) for n in range(3)] == [{str(source): [0, 3]}, {str(source): [4]}, {str(source): [5]}]


def test_a_program_from_line_to_line(source, tmp_path):
    actors.program(["tr", "a-z", "A-Z"], stdin=source, stdout=tmp_path / "out", lineage="lines")
    (step,) = actors.steps()
    assert (step.incomplete, back(step, tmp_path / "out", 4)) == ((), {str(source): [4]})


def test_several_files_are_read_one_behind_the_other(source, tmp_path):
    (tmp_path / "more").write_text("z")
    actors.program(["cat", str(source), str(tmp_path / "more")], reads=[source, tmp_path / "more"], stdout=tmp_path / "out", lineage="filter")
    (step,) = actors.steps()
    assert back(step, tmp_path / "out", 6) == {str(tmp_path / "more"): [0]}


@pytest.mark.parametrize(("lineage", "why"), [("lines", "wrote 3 lines and read 6"), ("filter", "not in this order"), ("content", "lines that it had not read")])
def test_a_promise_that_does_not_hold_leaves_whole_files_and_is_said(source, tmp_path, lineage, why):
    command = "printf 'new\\nlines\\nhere\\n'" if lineage != "filter" else f"tac {source}"
    actors.program(["sh", "-c", command], reads=source, stdout=tmp_path / "out", lineage=lineage)
    (step,) = actors.steps()
    assert why in step.incomplete[0]
    assert "file by file" in step.incomplete[0]
    assert [each.unit for each in (*step.reads, *step.writes)] == [Unit.WHOLE, Unit.WHOLE]
    assert told(step.backward([Located.of(str(tmp_path / "out"), Unit.WHOLE, [0])])) == {str(source): [0]}


def test_a_file_that_is_too_large_to_look_through_is_a_whole(source, tmp_path, monkeypatch):
    monkeypatch.setattr("bigdebug.actors.matched.MOST", 10)
    actors.program(["cat", str(source)], reads=source, stdout=tmp_path / "out", lineage="filter")
    assert "to look through, so it is traced file by file" in actors.steps()[0].incomplete[0]


@pytest.mark.parametrize(("argv", "reads", "stdin", "expected"), [(["cat", "in.txt", "b"], ["in.txt", "b"], None, "in.txt"), (["cat", "-", "in.txt"], ["in.txt"], "b", None), (["cat", "b", "in.txt"], {"in.txt", "b"}, None, None)])
def test_lines_of_several_files_are_numbered_in_an_order_that_was_said(source, tmp_path, argv, reads, stdin, expected):
    (tmp_path / "b").write_text("b1\nb2\n")
    actors.program(argv, reads=reads, stdin=stdin, stdout=tmp_path / "out", lineage="lines", cwd=tmp_path)
    (step,) = actors.steps()
    if expected:
        assert back(step, tmp_path / "out", 0) == {str(source): [0]}
    else:
        assert "nobody said in which order it reads them" in step.incomplete[0]


@pytest.mark.parametrize(("argv", "reads"), [(["sort", "in.txt"], ["in.txt"]), (["cat", "b", "in.txt"], ["in.txt", "b"]), (["sh", "-c", "tr -d '\\r' < in.txt | sort"], ["in.txt"])])
def test_the_same_lines_in_another_order_are_not_made_of_those_of_their_numbers(source, tmp_path, argv, reads):
    (tmp_path / "in.txt").write_text("a\nc\r\nb\n")
    (tmp_path / "b").write_text("b1\nb2\n")
    actors.program(argv, reads=reads, stdout=tmp_path / "out", lineage="lines", cwd=tmp_path)
    (step,) = actors.steps()
    assert "wrote the same lines as it had read, in another order" in step.incomplete[0]


def test_lines_that_are_among_others_by_chance_have_their_numbers(tmp_path):
    (tmp_path / "in.txt").write_text("1\n2\n3\n")
    actors.program(["awk", "{print $1 + 1}"], stdin="in.txt", stdout=tmp_path / "out", lineage="lines", cwd=tmp_path)
    assert back(actors.steps()[0], tmp_path / "out", 1) == {str(tmp_path / "in.txt"): [1]}


def test_a_program_is_named_in_bytes_as_well(source, tmp_path):
    assert actors.program([b"cat", os.fsencode(source)], reads=source, stdout=tmp_path / "out", lineage="lines").returncode == 0
    assert actors.steps()[0].name == "cat"


def test_of_a_program_that_nobody_knows_each_file_is_made_of_all(source, tmp_path):
    actors.program(["sh", "-c", "cat > one; cp one two"], stdin="in.txt", writes=["one", "two", "three"], cwd=tmp_path)
    (step,) = actors.steps()
    assert [each.path for each in step.writes] == [str(tmp_path / "one"), str(tmp_path / "two")]
    assert step.incomplete == (f"sh did not write {tmp_path / 'three'}", "sh is traced file by file: each was made of all that it read")
    assert told(step.forward([Located.of(str(source), Unit.WHOLE, [0])])) == {str(tmp_path / "one"): [0], str(tmp_path / "two"): [0]}


def test_a_file_that_is_written_in_place_has_the_lines_that_it_had(source):
    actors.program(["sort", "-o", str(source), str(source)], reads=source, writes=source, lineage="content", env={**os.environ, "LC_ALL": "C"})
    (step,) = actors.steps()
    assert [len(doubts(step.backward(asked(source, n)))) for n in range(6)] == [0, 0, 0, 0, 1, 1]
    assert back(step, source, 0) == {str(source): [5]}
    assert back(step, source, 4) == {str(source): [0, 3]}
    assert step.reads[0].stamp.digest != step.writes[0].stamp.digest


def test_lines_of_a_compressed_file_are_those_within(source, tmp_path):
    subprocess.run(["gzip", "-k", str(source)], check=True)
    actors.program(["zgrep", "a", f"{source}.gz"], reads=f"{source}.gz", stdout=tmp_path / "out", lineage="filter")
    (step,) = actors.steps()
    assert back(step, tmp_path / "out", 1) == {f"{source}.gz": [4]}


def test_a_program_that_fails_does_what_it_does_without(source, tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        actors.program(["grep", "nothing"], stdin=source, stdout=tmp_path / "out")
    (step,) = actors.steps()
    assert "it ended with status 1" in step.incomplete[0]
    with pytest.raises(IncompleteLineageError):
        step.backward([])
    with pytest.raises(FileNotFoundError):
        actors.program(["no-such-program"])
    with pytest.raises(ActorError, match="whole, protocol, lines"):
        actors.program(["true"], lineage="magic")
    assert actors.program([sys.executable, "-c", "print('x')"], capture_output=True, text=True).stdout == "x\n"


def test_a_status_that_is_no_failure_to_its_caller_is_told_of(source, tmp_path):
    (tmp_path / "other").write_bytes(source.read_bytes() + b"more\n")
    done = actors.program(["diff", str(source), str(tmp_path / "other")], reads=[source, tmp_path / "other"], stdout=tmp_path / "out", check=False)
    assert done.returncode == 1
    (step,) = actors.steps()
    assert told(step.forward([Located.of(str(source), Unit.WHOLE, [0])])) == {str(tmp_path / "out"): [0]}
    assert step.incomplete[0] == "diff ended with status 1: what it wrote may not be all that it was to write"


@pytest.mark.parametrize(
    ("text", "argv", "lineage", "expected"),
    [
        (b"key\r\nzzz\nkey\n", ["sort"], "content", [2, 0, 1]),
        (b"b\rz\na\rz\n", ["sort"], "content", [2, 3, 0, 1]),
        (b"key\r\nzzz\nkey\n", ["grep", "-v", "\r"], "filter", [1, 2]),
        (b"b\nkey\r\na", ["sort"], "content", [2, 0, 1]),
        (b"b\r\na\r\n", ["tr", "-d", "\r"], "content", [0, 1]),
    ],
)
def test_lines_that_differ_by_a_carriage_return_are_told_apart(tmp_path, text, argv, lineage, expected):
    (tmp_path / "in").write_bytes(text)
    actors.program(argv, stdin=tmp_path / "in", stdout=tmp_path / "out", lineage=lineage, env={**os.environ, "LC_ALL": "C"})
    (step,) = actors.steps()
    assert [back(step, tmp_path / "out", line) for line in range(len(expected))] == [{str(tmp_path / "in"): [line]} for line in expected]
    assert not step.incomplete


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\x0b"]), max_size=12).map(b"".join))
def test_lines_are_counted_alike_whatever_their_ends(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("lines") / "in"
    path.write_bytes(text)
    ended, bare = lines_in(str(path))
    assert len(ended) == len(bare)
    for line, alone in zip(ended, bare):
        record, number = line if isinstance(line, tuple) else (line, 0)
        assert (record.splitlines() or [b""])[number] == alone


LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", "א".encode()]), max_size=12)


@given(LINES, st.data())
@settings(max_examples=150)
def test_lines_that_were_left_are_found_as_trying_all_finds_them(read, data):
    """The oracle: every way in which the written lines are in the read ones, in order. What a line is in any of them, it may be."""
    kept = data.draw(st.lists(st.booleans(), min_size=len(read), max_size=len(read)))
    written = [line for line, keep in zip(read, kept) if keep]
    truly = [n for n, keep in enumerate(kept) if keep]
    found, unsure = left(read, written)
    ways = list(embeddings(read, written))
    for n in range(len(written)):
        places = found.backward(Located.of("", Unit.ROW, [n]).positions).tolist()
        assert truly[n] in places
        assert all(read[place] == written[n] for place in places)
        assert set(places) >= {way[n] for way in ways}
        assert (len(places) == 1) == (len({way[n] for way in ways}) == 1)
    assert unsure == sum(len({way[n] for way in ways}) > 1 for n in range(len(written)))


def embeddings(read, written, start=0):
    if not written:
        yield []
    for n in range(start, len(read)):
        if written and read[n] == written[0]:
            yield from ([n, *rest] for rest in embeddings(read, written[1:], n + 1))


@given(LINES, LINES)
def test_content_is_found_in_all_that_is_equal_or_refused(read, written):
    if set(written) - set(read):
        with pytest.raises(Unmatched):
            content(read, written)
        return
    found, unsure = content(read, written)
    for n, line in enumerate(written):
        places = found.backward(Located.of("", Unit.ROW, [n]).positions).tolist()
        assert places == [place for place, other in enumerate(read) if other == line]
    assert unsure == sum(read.count(line) > 1 for line in written)


def test_numbers_of_lines_have_to_agree():
    with pytest.raises(Unmatched, match="wrote 1 lines and read 2"):
        numbered([b"a", b"b"], [b"a"])


# ---- the protocol ---------------------------------------------------------------------------------------------

GROUPS = """
import json, os, sys
say = open(os.environ["BIGDEBUG_ACTOR"], "a")
def call(**what): say.write(json.dumps(what) + "\\n")
groups = {}
for number, line in enumerate(open("in.txt")):
    key = line.split()[0]
    groups.setdefault(key, []).append(line)
    call(input={"file": "in.txt", "line": number}, tag=key)
with open("out.txt", "w") as out:
    for number, (key, lines) in enumerate(sorted(groups.items())):
        out.write(f"{key} {len(lines)}\\n")
        call(output={"file": "out.txt", "line": number}, tag=[key])
call(fail={"value": {"k": 1}}, error="strange")
call(file="out.txt", form="text", options={})
"""


def test_a_program_says_itself_what_it_made_of_what(source, tmp_path):
    actors.program([sys.executable, "-c", GROUPS], reads=source, writes="out.txt", lineage="protocol", cwd=tmp_path, name="count")
    (step,) = actors.steps()
    assert (tmp_path / "out.txt").read_text() == "ERROR 2\na 2\nb 2\n"
    assert [back(step, tmp_path / "out.txt", n) for n in range(3)] == [{str(source): each} for each in ([2, 5], [1, 4], [0, 3])]
    assert told(step.forward([Located.of(str(source), Unit.LINE, [4])])) == {str(tmp_path / "out.txt"): [1]}
    assert [each.error for each in step.culprits] == ["strange"]
    assert step.writes[0].form == "text"


def test_all_calls_can_be_said(tmp_path):
    calls = [
        {"inputs": 2}, {"output": {"value": "both"}}, {"reset": True}, {"capture": [{"value": [1, None]}, {"file": "o", "offset": 3, "length": 4}]},
        {"input": None, "tag": 1}, {"output": {"file": "w"}, "tag": [1, "x"]}, {"outputs": 1}, {"reset": "x"}, {"input": {"file": "r", "row": 7, "value": "v"}}, {"output": {"value": "last"}},
    ]
    program = f"import os; open(os.environ['BIGDEBUG_ACTOR'], 'w').write({chr(10).join(map(json.dumps, calls))!r})"
    actors.program([sys.executable, "-c", program], lineage="protocol", cwd=tmp_path)
    (step,) = actors.steps()
    assert told(step.made_of("both")) == {f"item:{step.id}/in": [0, 1]}
    assert told(step.made_from([1, None])) == {str(tmp_path / "o"): [3, 4, 5, 6]}
    assert told(step.backward([Located.of(str(tmp_path / "w"), Unit.WHOLE, [0])])) == {f"item:{step.id}/in": [3]}
    assert told(step.made_of("last")) == {str(tmp_path / "r"): [7]}


@pytest.mark.parametrize(
    "said", ["no json", "[]", "7", "{}", '{"input": {}}', '{"input": {"file": "f", "line": -1}}', '{"output": null, "tag": [[1]]}', '{"inputs": "x"}', '{"capture": [1]}', "[" * 100_000],
)
def test_what_is_no_call_is_named_by_its_line_and_the_program_has_done_its_work(tmp_path, said, caplog):
    program = f"import os; open(os.environ['BIGDEBUG_ACTOR'], 'w').write('{{\"inputs\": 1}}\\n' + {said!r})"
    assert actors.program([sys.executable, "-c", program], lineage="protocol", cwd=tmp_path).returncode == 0
    (step,) = actors.steps()
    assert "Line 2 of what the program said" in step.incomplete[0]
    assert "Line 2" in caplog.text


def test_files_of_which_a_program_says_nothing_are_traced_as_wholes(source, tmp_path):
    (tmp_path / "more").write_text("m\n")
    actors.program(["sh", "-c", "tr a-z A-Z < in.txt > out.txt"], reads=["in.txt", "more"], writes=["out.txt", "none"], lineage="protocol", cwd=tmp_path)
    (step,) = actors.steps()
    assert told(step.backward([Located.of(str(tmp_path / "out.txt"), Unit.WHOLE, [0])])) == {str(source): [0], str(tmp_path / "more"): [0]}
    assert told(step.forward([Located.of(str(tmp_path / "more"), Unit.WHOLE, [0])])) == {str(tmp_path / "out.txt"): [0]}
    assert step.incomplete == (f"sh did not write {tmp_path / 'none'}", "sh said nothing of in.txt, more, out.txt: what it wrote of these was made of all that it read")


def test_of_two_files_of_which_a_program_tells_one_the_other_is_made_of_all_that_it_read(source, tmp_path):
    said = [{"reset": True}, {"capture": [{"file": "in.txt", "line": 2}, {"file": "one", "line": 0}]}, {"input": {"file": "in.txt", "line": 4}}, {"output": {"file": "one", "line": 1}}, {"reset": True}]
    program = f"import os; open('one', 'w').write('x\\ny\\n'); open('two', 'w').write('z'); open(os.environ['BIGDEBUG_ACTOR'], 'w').write({chr(10).join(map(json.dumps, said))!r})"
    actors.program([sys.executable, "-c", program], reads="in.txt", writes=["one", "two"], lineage="protocol", cwd=tmp_path, name="told")
    (step,) = actors.steps()
    assert [back(step, tmp_path / "one", n) for n in range(2)] == [{str(source): [2]}, {str(source): [4]}]
    assert told(step.backward([Located.of(str(tmp_path / "two"), Unit.WHOLE, [0])])) == {str(source): [2, 4]}
    assert told(step.forward(asked(source, 2))) == {str(tmp_path / "one"): [0], str(tmp_path / "two"): [0]}
    assert step.incomplete == ("told said nothing of two: what it wrote of these was made of all that it read",)


def test_a_program_that_says_nothing_made_nothing(tmp_path):
    actors.program(["true"], lineage="protocol")
    (step,) = actors.steps()
    assert (step.reads, step.writes, step.incomplete) == ((), (), ())


@pytest.mark.parametrize("argv", ["ls in.txt", b"ls", [], os, 7])
def test_what_is_no_list_of_words_is_refused(argv, home):
    with pytest.raises(ActorError, match="list of words"):
        actors.program(argv, shell=True)
    assert actors.steps() == []


def test_streams_that_are_no_files_are_refused(home):
    for options in ({"stdout": subprocess.DEVNULL}, {"stdin": subprocess.PIPE}, {"stdout": sys.stdout}):
        with pytest.raises(ActorError, match="paths of files"):
            actors.program(["true"], **options)
    assert actors.steps() == []


def test_a_program_has_the_environment_that_it_was_given_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    for number, (options, seen) in enumerate((({"env": {}}, "no"), ({"env": None}, "x"), ({}, "x"), ({"env": {"SECRET": "y"}}, "y"))):
        actors.program([sys.executable, "-c", "import os; print(os.environ.get('SECRET', 'no'))"], lineage="protocol", stdout=tmp_path / f"{number}", **options)
        assert (tmp_path / f"{number}").read_text() == f"{seen}\n"


def test_an_old_file_is_no_output_of_a_program_that_did_not_write_it(source, tmp_path):
    """A make that had nothing to do leaves what another step wrote."""
    out = tmp_path / "out"
    actors.program(["grep", "b", source], reads=source, stdout=out, lineage="filter")
    actors.program(["true"], reads=source, writes=out, lineage="filter")
    step = actors.steps()[-1]
    assert [extent.path for extent in step.writes] == []
    assert f"true did not write {out}" in step.incomplete


@pytest.mark.parametrize("how", ["cat {0} > t; cat t > {0}", "cp {0} t; mv t {0}", "cp -p {0} t; cp -p t {0}", "touch {0}"])
def test_a_program_that_writes_the_same_once_more_has_written_it(source, how):
    """Also behind one that had just done so: times of files go in steps of milliseconds."""
    for _ in range(20):
        source.write_text("a\nb\n")
        actors.program(["sh", "-c", how.format(source)], writes=source, cwd=source.parent)
        assert [extent.path for extent in actors.steps()[-1].writes] == [str(source)]


def test_a_file_that_a_program_changes_while_it_reads_it_is_traced_as_a_whole(tmp_path):
    """Its lines are not any more what they were: here the job was the first one, and stands in the queue still."""
    (tmp_path / "queue").write_text("a\nb\na\n")
    actors.program(["sh", "-c", "head -1 queue > job; sed -i 1d queue"], reads="queue", writes="job", lineage="filter", cwd=tmp_path)
    (step,) = actors.steps()
    assert "changed meanwhile" in step.incomplete[0]
    assert [extent.unit for extent in (*step.reads, *step.writes)] == [Unit.WHOLE] * 2


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize(("command", "reads", "writes"), [("tail -n 2 data > t; cat t > other", "data", "other"), ("sort -o data other", "other", "data")])
def test_a_file_that_is_written_in_place_by_another_name_was_what_it_was_before(tmp_path, link, command, reads, writes):
    (tmp_path / "data").write_text("c\nb\na\n")
    link(tmp_path / "data", tmp_path / "other")
    lineage = "filter" if "tail" in command else "content"
    actors.program(["sh", "-c", command], reads=reads, writes=writes, lineage=lineage, cwd=tmp_path)
    assert list(back(actors.steps()[-1], tmp_path / writes, 0).values()) == [[1 if lineage == "filter" else 2]]

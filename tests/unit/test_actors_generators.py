"""Generators as steps: records pass as they do without, and an output is made of what had been read before it."""

import io
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.actors.textfiles import Written
from bigdebug.errors import ActorError, IncompleteLineageError, UntraceableError
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.units import Units


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def told(found):
    return {each.path: each.positions.tolist() for each in found}


def made(step, count):
    """The inputs of each of so many outputs."""
    found = [step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [n])]) for n in range(count)]
    return [each[0].positions.tolist() if each else [] for each in found]


def scripted(plan):
    """A generator that reads and gives as a plan says: a number reads so many, "o" gives."""

    def function(records):
        for what in plan:
            if what == "o":
                yield "o"
            else:
                for _ in itertools.islice(records, what):
                    pass

    return function


@given(st.lists(st.just("o") | st.integers(0, 3), max_size=30), st.integers(0, 20))
def test_an_output_is_made_of_all_that_was_read_before_it(tmp_path_factory, plan, count):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    given_ = list(actors.generator(scripted(plan), home=home)(iter(range(count))))
    (step,) = actors.steps(home)
    read, wanted = 0, []
    for what in plan:
        if what == "o":
            wanted.append(list(range(read)))
        else:
            read = min(count, read + what)
    assert made(step, len(given_)) == wanted
    for n in range(read):
        ahead = step.forward([Located.of(f"item:{step.id}/in", Unit.ROW, [n])])
        assert (ahead[0].positions.tolist() if ahead else []) == [o for o, each in enumerate(wanted) if n in each]


def grouped(records):
    yield from itertools.groupby(records, key=lambda n: n // 4)


def views(records):
    for _, group in grouped(records):
        yield group


def lists(records):
    for key, group in grouped(records):
        yield key, list(group)


def named(records):
    for key, group in grouped(records):
        yield {"key": key, "rows": [group]}


@pytest.mark.parametrize("take", [list, lambda outputs: [next(outputs)]])
def test_outputs_that_nobody_has_read_yet_are_not_made_of_nothing(home, take):
    def chunks(records):
        for _ in range(3):
            yield itertools.islice(records, 4)

    assert list(take(actors.generator(chunks, home=home)(iter(range(12))))[0]) == [0, 1, 2, 3]
    (step,) = actors.steps(home)
    assert "read on in its records" in step.incomplete[0]


@pytest.mark.parametrize(("function", "read"), [(named, lambda each: list(each["rows"][0])), (grouped, lambda each: list(each[1])), (views, list), (lambda records: itertools.groupby(records, key=lambda n: n // 4), lambda each: list(each[1]))])
def test_outputs_that_read_on_in_the_records_are_made_of_more_than_was_read_before_them(home, function, read):
    """A group of groupby is read by whoever has it."""
    given_ = [read(each) for each in actors.generator(function, home=home)(iter(range(12)))]
    assert given_ == [list(range(n, n + 4)) for n in (0, 4, 8)]
    (step,) = actors.steps(home)
    assert "read on in its records" in step.incomplete[0]
    with pytest.raises(IncompleteLineageError, match="in a list"):
        made(step, 3)


def test_outputs_of_a_thread_that_reads_ahead_are_made_of_what_was_read_before_them(home):
    def ahead(records):
        queue, go_on = [], threading.Semaphore(0)

        def read():
            for record in records:
                queue.append(record)
                go_on.release()

        threading.Thread(target=read).start()
        for _ in range(12):
            go_on.acquire()
            yield queue.pop(0)

    for n in actors.generator(ahead, home=home)(iter(range(12))):
        time.sleep(0.01 * (n < 3))
    (step,) = actors.steps(home)
    assert step.incomplete == ()
    assert all(n in of for n, of in enumerate(made(step, 12)))


def test_a_list_of_a_group_is_made_of_what_was_read(home):
    assert len(list(actors.generator(lists, home=home)(iter(range(12))))) == 3
    (step,) = actors.steps(home)
    assert step.incomplete == ()
    assert [len(each) for each in made(step, 3)] == [5, 9, 12]


def flat(records):
    for record in records:
        for n in range(record % 3):
            yield record, n


@given(st.lists(st.integers(0, 5), max_size=40))
def test_each_output_is_made_of_the_record_read_last_if_that_is_promised(tmp_path_factory, records):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    given_ = list(actors.generator(flat, each=True, home=home)(records))
    assert given_ == list(flat(records))
    (step,) = actors.steps(home)
    assert step.incomplete == ()
    assert made(step, len(given_)) == [[n] for n, record in enumerate(records) for _ in range(record % 3)]


def looks_ahead(records):
    before = None
    for record in records:
        if before is not None:
            yield before, record
        before = record


def batches(records):
    while batch := list(itertools.islice(records, 3)):
        yield from batch


def remembers(records):
    seen = set()
    for record in records:
        if record not in seen:
            seen.add(record)
            yield record


BROKEN = {"looks ahead": looks_ahead, "batches": batches, "remembers": remembers, "numbers": enumerate, "sorts": sorted}


@pytest.mark.parametrize("name", BROKEN)
def test_a_promise_that_does_not_hold_is_refused(home, name):
    records = ["b", "a", "b", "c"] * 5
    assert list(actors.generator(BROKEN[name], each=True, name=name)(iter(records))) == list(BROKEN[name](iter(records)))
    (step,) = actors.steps()
    assert any(f"{name} has no lineage" in each for each in step.incomplete)
    with pytest.raises(IncompleteLineageError, match="has no lineage"):
        made(step, 1)


def test_without_the_promise_the_same_functions_have_lineage(home):
    records = ["b", "a", "b", "c"]
    list(actors.generator(looks_ahead)(iter(records)))
    list(actors.generator(sorted)(iter(records)))
    first, second = actors.steps()
    assert made(first, 3) == [[0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert made(second, 4) == [[0, 1, 2, 3]] * 4


def test_tags_tell_groups_apart(home):
    def counts(records):
        found = {}
        for key, value in records:
            found[key] = found.get(key, 0) + value
        yield from found.items()

    given_ = list(actors.generator(counts, tags=(lambda r: r[0], lambda o: o[0]))([("a", 1), ("b", 2), ("a", 3), ("c", 4)]))
    assert given_ == [("a", 4), ("b", 2), ("c", 4)]
    (step,) = actors.steps()
    assert made(step, 3) == [[0, 2], [1], [3]]


@pytest.mark.parametrize("make", [float, np.float32, lambda text: (float(text), "x")])
def test_tags_that_are_nan_are_one(make):
    records = [make("nan"), make("1"), make("nan"), make("1")]
    given_ = list(actors.generator(lambda records: iter([*records][:2]), tags=(lambda r: r, lambda o: o))(records))
    assert given_ == records[:2]
    (step,) = actors.steps()
    assert made(step, 2) == [[0, 2], [1, 3]]


@given(st.lists(st.tuples(st.sampled_from("io"), st.integers(0, 3)), max_size=30))
@settings(max_examples=40)
def test_tags_are_those_of_paired_capture(tmp_path_factory, events):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))

    def function(records):
        for what, tag in events:
            if what == "i":
                next(records)
            else:
                yield tag

    inputs = [tag for what, tag in events if what == "i"]
    given_ = list(actors.generator(function, tags=(lambda tag: tag, lambda tag: tag), home=home)(iter(inputs)))
    wanted = [[n for n, (tag, time) in enumerate((t, at) for at, (w, t) in enumerate(events) if w == "i") if tag == mine and time < when]
              for when, (what, mine) in enumerate(events) if what == "o"]
    assert made(actors.steps(home)[0], len(given_)) == wanted


def test_promises_that_exclude_each_other_are_refused():
    for options in ({"each": True, "tags": (len, len)}, {"tags": len}, {"tags": (len,)}):
        with pytest.raises(ActorError):
            actors.generator(flat, **options)
    with pytest.raises(ActorError, match="made of a function"):
        actors.generator(7)


def test_records_pass_one_by_one_and_who_stops_early_has_what_he_took(home):
    pulled = []

    def source():
        for n in range(100):
            pulled.append(n)
            yield n

    step = actors.generator(flat, each=True)(source())
    assert (next(step), next(step), pulled) == ((1, 0), (2, 0), [0, 1, 2])
    step.close()
    (known,) = actors.steps()
    assert [each.split(":")[0] for each in known.incomplete] == ["What was promised is believed"]  # to try it would take records from the source
    assert made(known, 2) == [[1], [2]]
    actors.generator(flat)(iter([]))
    assert len(actors.steps()) == 1  # nobody has asked for anything


def test_what_raises_is_raised_with_the_record_as_its_culprit(home):
    with pytest.raises(ZeroDivisionError):
        list(actors.generator(lambda records: (1 / each for each in records), name="divides")([1, 0, 2]))
    (step,) = actors.steps()
    assert [each.number for each in step.culprits] == [1]
    assert "it failed: ZeroDivisionError" in step.incomplete[0]


def test_a_name_and_a_docstring_are_the_functions_own():
    step = actors.generator(looks_ahead)
    assert step.__name__ == "looks_ahead"


def test_trying_it_uses_up_nothing_of_its_other_arguments(home):
    def labelled(records, labels, seen=None):
        for record in records:
            seen.append(record)
            yield record, next(labels)

    labels, seen = iter("abcd"), []
    assert list(actors.generator(labelled, each=True)([1, 2], labels, seen=seen)) == [(1, "a"), (2, "b")]
    assert (list(labels), seen) == (["c", "d"], [1, 2])


def test_trying_it_leaves_files_as_the_real_call_writes_them(home, tmp_path):
    def rejects(records, path):
        with open(path, "w") as rejected:
            for record in records:
                if int(record) % 2:
                    rejected.write(f"{int(record)}\n")
                else:
                    yield f"{record}\n"

    odd = [str(n) for n in range(1, 20, 2)]
    for number, records in enumerate(([*range(20)], iter(range(20)), (n for n in range(20)))):
        list(actors.generator(rejects, each=True)(records, tmp_path / f"r{number}"))
        assert (tmp_path / f"r{number}").read_text().split() == odd
    (tmp_path / "in").write_text("".join(f"{n}\n" for n in range(20)))
    actors.lines(rejects, each=True)(tmp_path / "in", tmp_path / "out", tmp_path / "r")
    assert (tmp_path / "r").read_text().split() == odd
    assert [len(step.incomplete) for step in actors.steps()] == [0, 0, 2, 0]  # what is believed names open, which may read


def test_records_of_a_class_of_the_users_are_not_asked_for_twice(home):
    class Fetched(Sequence):
        def __init__(self):
            self.asked = []

        def __len__(self):
            return 3

        def __getitem__(self, number):
            self.asked.append(range(3)[number])
            return number

    records = Fetched()
    list(actors.generator(flat, each=True)(records))
    assert records.asked == [0, 1, 2]
    assert "believed" in actors.steps()[-1].incomplete[0]


def test_trying_it_takes_no_record_from_who_reads_on(home):
    for records in (iter([*range(20)]), (n for n in range(20))):
        step = actors.generator(flat, each=True)(records)
        assert next(step) == (1, 0)
        step.close()
        assert next(records) == 2


def test_trying_it_prints_nothing_nor_do_threads_that_it_starts(home, capsys):
    def prints(records):
        for record in records:
            sys.stdout.write("mine\n")
            thread = threading.Thread(target=print, args=("mine, too",))
            thread.start()
            thread.join()
            yield record

    before = sys.stdout
    assert list(actors.generator(prints, each=True)([1, 2])) == [1, 2]
    assert sys.stdout is before
    assert capsys.readouterr().out.splitlines() == ["mine", "mine, too"] * 2


def test_actors_in_a_row_are_linked(home):
    first = actors.generator(flat, each=True, name="first")([3, 4, 5])
    list(actors.generator(lambda records: (f"{each}" for each in records), each=True, name="second")(first))
    steps = {step.name: step for step in actors.steps()}
    actors.flow_link(steps["first"].id, steps["second"].id)
    step = next(step for step in actors.steps() if step.name == "second")
    found = step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [2])])
    assert told(found) == {f"item:{steps['first'].id}/out": [2]}
    assert told(steps["first"].backward(found)) == {f"item:{steps['first'].id}/in": [2]}


# ---- lines of files -------------------------------------------------------------------------------------------


def test_lines_of_a_file_are_traced_to_lines_of_another(home, tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a\nb\r\n\nc\rאבג")

    @actors.lines(each=True)
    def twice(lines):
        for line in lines:
            if line.strip():
                yield line.rstrip("\n") + "!\n"
                yield line.strip().upper() + "\n"

    twice(source, target)
    assert target.read_text() == "a!\nA\nb!\nB\nc!\nC\nאבג!\nאבג\n"
    (step,) = actors.steps()
    assert (step.name, step.kind, step.incomplete) == ("twice", "generator", ())
    assert [(each.path, each.unit, each.form, each.stamp.size) for each in (*step.reads, *step.writes)] == [
        (str(source), Unit.LINE, "text", source.stat().st_size), (str(target), Unit.LINE, "text", target.stat().st_size),
    ]
    assert [told(step.backward([Located.of(str(target), Unit.LINE, [n])])) for n in (0, 3, 5, 7)] == [{str(source): [n]} for n in (0, 1, 3, 4)]
    assert told(step.forward([Located.of(str(source), Unit.LINE, [2, 4])])) == {str(target): [6, 7]}


def test_several_files_are_read_one_behind_the_other(home, tmp_path):
    for name, text in (("a", "1\n2"), ("b", ""), ("c", "3\n4\n5\n")):
        (tmp_path / name).write_text(text)

    def some(lines):
        for line in itertools.islice(lines, 4):
            yield f"{line.strip()}\n"

    actors.lines(some, each=True)([tmp_path / name for name in "abc"], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "1\n2\n3\n4\n"
    (step,) = actors.steps()
    assert told(step.backward([Located.of(str(tmp_path / "out"), Unit.LINE, [1, 3])])) == {str(tmp_path / "a"): [1], str(tmp_path / "c"): [1]}
    assert told(step.forward([Located.of(str(tmp_path / "c"), Unit.LINE, [2])])) == {}


def test_a_file_that_is_read_twice_leads_to_all_that_was_made_of_it(home, tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    actors.lines(lambda lines: lines, each=True)([tmp_path / "a", tmp_path / "a"], tmp_path / "out")
    (step,) = actors.steps()
    assert told(step.forward([Located.of(str(tmp_path / "a"), Unit.LINE, [1])])) == {str(tmp_path / "out"): [1, 3]}
    assert [told(step.backward([Located.of(str(tmp_path / "out"), Unit.LINE, [n])])) for n in (1, 3)] == [{str(tmp_path / "a"): [1]}] * 2


def test_a_step_does_not_write_what_it_reads(tmp_path):
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ActorError, match="does not write the file that it reads"):
        actors.lines(lambda lines: lines)(tmp_path / "f", tmp_path / "f")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    (tmp_path / "hard").hardlink_to(tmp_path / "f")
    for one, other in itertools.permutations(["f", "link", "hard"], 2):
        with pytest.raises(ActorError, match="does not write the file that it reads"):
            actors.lines(lambda lines: lines)([tmp_path / "nowhere", tmp_path / one], tmp_path / other)
    assert (tmp_path / "f").read_text() == "a\n"
    with pytest.raises(UntraceableError, match="local files"):
        actors.lines(lambda lines: lines)("https://example.org/f", tmp_path / "f")


TEXTS = st.lists(st.text("ab\n\r", max_size=5) | st.sampled_from(["a\n", "b\n", "\r", "\n", "", "x" * 10]), max_size=20)


@given(TEXTS)
@settings(max_examples=300)
def test_texts_stand_on_the_lines_that_a_reader_counts(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("written") / "f"
    with path.open("w", newline="") as out:
        written = Written(out)
        written.write(iter(texts))
    assert path.read_bytes().decode() == "".join(texts)
    places = written.places(Extent(str(path), Unit.LINE))
    starts = list(itertools.accumulate([0, *map(len, texts)]))
    line_of, line, text = [], 0, "".join(texts)
    for n, char in enumerate(text):
        line_of.append(line)
        if char == "\n" or (char == "\r" and text[n + 1 : n + 2] != "\n"):
            line += 1
    for number, (start, end) in enumerate(itertools.pairwise(starts)):
        found = [each for one in places.locate(Located.of("", Unit.ROW, [number]).positions) for each in one.positions.tolist()]
        assert found == sorted(set(line_of[start:end]))
    if text:
        assert Units().count(Extent(str(path), Unit.LINE)) == line_of[-1] + 1


def test_a_plain_chunk_is_one_run():
    written = Written(io.StringIO())
    written.write(f"{n}\n" for n in range(100_000))
    assert len(written.places(Extent("f", Unit.LINE)).number) == 1


def test_trying_a_generator_needs_no_pandas(tmp_path):
    program = (
        "import sys\nfrom bigdebug import actors\n"
        "step = actors.generator(lambda rs: ((r, [r, {'k': r / 3}]) for r in rs), each=True, home=sys.argv[1])\n"
        "print(len(list(step(range(20)))), actors.steps(sys.argv[1])[0].incomplete, 'pandas' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "home")], check=True, capture_output=True, text=True)
    assert done.stdout == "20 () False\n"


class Consumer:
    """As of a queue: it stops where nothing came for a while, and has more for who asks again."""

    def __init__(self):
        self.batches = [[1, 2], [3], [4, 5]]

    def __iter__(self):
        return self

    def __next__(self):
        if self.batches and self.batches[0]:
            return self.batches[0].pop(0)
        del self.batches[:1]
        raise StopIteration


def polls(consumer):
    for _ in range(4):
        yield from consumer


@pytest.mark.parametrize("options", [{}, {"each": True}, {"tags": (lambda n: n, lambda n: n)}])
def test_an_iterator_that_has_more_behind_its_end_is_asked_for_it(options):
    assert list(actors.generator(polls, **options)(Consumer())) == [1, 2, 3, 4, 5]
    assert actors.steps()[-1].incomplete == (("What was promised is believed: the records come one by one, and none can be looked at before the function asks for it",) if "each" in options else ())

"""Mining a run: multiplicities are those that plain Python counts, suspects are named with their records, and what bad records have in common is told."""

from __future__ import annotations

from collections import Counter
from operator import add
from typing import Any

import pytest

from bigdebug.errors import LocalizeError, PredicateError, UnknownOperatorError, UnknownRecordError
from bigdebug.mining.multiplicity import Way

AIRPORTS = ("EWR", "JFK", "LGA")
NAMES = "number,origin,dep_time"


def flights() -> list[str]:
    """Those of EWR with even numbers have no departure time; one line has as many as a month."""
    found = [f"{i},{AIRPORTS[i % 3]},{'NA' if i % 3 == 0 and i % 2 == 0 else i % 60}" for i in range(300)]
    found[100] = "100,JFK," + ";".join(["9"] * 300)
    return found


def parse(line: str) -> list[tuple[str, int]]:
    number, origin, times = line.split(",")
    return [(f"{origin}{int(number) % 5}", -1_000 if time == "NA" else int(time)) for time in times.split(";")]


@pytest.mark.parametrize("alpha", [7, 0, 1, -0.1, float("nan"), True, "0.05", None])
def test_a_chance_that_is_none_is_refused(dbg: Any, alpha: Any) -> None:
    with pytest.raises(ValueError, match="alpha is the chance of an outlier where there is none, between 0 and 1"):
        dbg.mine(run_of(dbg, dbg.context.parallelize([1], 1)), alpha=alpha)


def run_of(dbg: Any, rdd: Any, **capture: Any) -> Any:
    with dbg.capture(**capture) as run:
        rdd.collect()
    return run


@pytest.fixture(scope="module")
def program(dbg: Any) -> Any:
    report = dbg.context.parallelize(flights(), 4).flatMap(parse).reduceByKey(add, 3)
    run_of(dbg, report)
    return report


def test_what_has_many_outputs_or_inputs_is_told_with_its_record_and_where_it_came_from(dbg: Any, program: Any) -> None:
    found = dbg.mine(program)
    line, group = found.suspects[:2]
    assert (line.way, line.multiplicity, line.records, str(line.origins[0])) == (Way.OUTPUTS, 300, (flights()[100],), "parallelize[100]")
    assert (group.way, group.multiplicity, group.records[0][0]) == (Way.INPUTS, 319, "JFK0")
    assert "where the 14 usual outputs have 20 on average" in group.evidence
    assert "300 outputs" in repr(found)


def test_multiplicities_are_those_that_are_counted_record_by_record(dbg: Any) -> None:
    """Combiners, a join of keys on both sides several times, a filter that drops most, a union, an empty partition."""
    words = [(n % 5, n) for n in range(60)]
    summed = dbg.context.parallelize(words, 3).reduceByKey(add, 2)
    pairs = dbg.context.parallelize([(1, "a"), (1, "b"), (3, "c"), (None, "d")], 7)
    joined = dbg.context.parallelize(words, 2).leftOuterJoin(pairs, 2).filter(lambda r: r[0] != 2)
    both = joined.mapValues(lambda v: v[1]).union(summed.mapValues(str)).flatMap(lambda r: [r] * (r[0] or 0))
    found = {each.operator.split("#")[0].split(".")[-1]: each for each in dbg.mine(run_of(dbg, both)).multiplicities}
    assert (found["combineByKey"].inputs, found["combineByKey"].outputs, found["combineByKey"].inputs_of) == (60, 5, (12, 12.0, 12))
    matches = Counter({1: 2, 3: 1})
    outputs = [max(1, matches[key]) for key, _ in words]
    join = found["leftOuterJoin"]
    assert (join.inputs, join.outputs) == (64, sum(outputs))
    of_pairs = [12, 12, 12, 0]
    assert join.outputs_of == (0, (sum(outputs) + sum(of_pairs)) / 64, 12)
    assert join.inputs_of == (1, sum(2 if matches[key] else 1 for key, _ in words for _ in range(max(1, matches[key]))) / sum(outputs), 2)
    assert found["flatMap"].outputs_of is not None
    assert found["flatMap"].outputs_of[0] == 0


def test_bad_outputs_are_given_by_what_holds_of_them_by_their_keys_or_by_a_trace(dbg: Any, program: Any) -> None:
    below = dbg.mine(program, bad=lambda out: out[1] < 0, names=NAMES)
    keys = dbg.mine(program, bad=[f"EWR{n}" for n in range(5)], names=NAMES)
    trace = dbg.mine(program, bad=program.getLineage().where(lambda out: out[1] < 0), names=NAMES)
    assert repr(below) == repr(keys) == repr(trace)
    assert (below.bad, below.good) == (5, 10)
    (separation,) = below.separations.values()
    assert (separation.clauses[0].text, separation.clauses[0].covers, separation.clauses[0].others) == ("origin = 'EWR'", 1.0, 0.0)


def test_given_good_ones_what_only_bad_ones_were_made_of_comes_first(dbg: Any, program: Any) -> None:
    found = dbg.mine(program, bad=["JFK0"], good=["LGA0", "LGA1", "LGA2", "EWR1", "JFK1"], names=NAMES)
    assert [each.records for each in found.suspects if each.way is Way.OUTPUTS and each.position is not None] == [(flights()[100],)]
    assert "Only bad outputs were made of it." in found.suspects[0].evidence
    assert found.suspects[0].multiplicity in (300, 319)


def test_the_branch_that_bad_outputs_came_by_is_the_suspicious_operator(dbg: Any) -> None:
    right = dbg.context.parallelize(range(40), 2).map(lambda n: (n % 8, n))
    wrong = dbg.context.parallelize(range(4), 2).map(lambda n: (n, -1_000))
    total = wrong.union(right).reduceByKey(add, 3)
    found = dbg.mine(run_of(dbg, total), bad=lambda out: out[1] < 0)
    first = found.operators[0]
    assert (first.element.split(" ")[0], first.score, first.failing, first.passing) == ("parallelize#" + str(wrong._definition.parents[0]._definition.operator.id), 1.0, 4, 0)
    assert all(each.score <= found.chance + 1e-9 for each in found.operators if each.element.startswith("reduceByKey"))
    linear = dbg.mine(run_of(dbg, right.reduceByKey(add, 1)), bad=lambda out: out[0] == 3)
    assert "All operators took part in bad and good outputs alike" in linear.spectrum().text()


@pytest.mark.parametrize("strategy", ["lazy", "inject"])
def test_lineage_that_is_derived_is_mined_as_what_was_kept(dbg: Any, program: Any, strategy: str) -> None:
    again = dbg.context.parallelize(flights(), 4).flatMap(parse).reduceByKey(add, 3)
    found, known = dbg.mine(run_of(dbg, again, strategy=strategy)), dbg.mine(program)
    assert [(each.multiplicity, each.records, each.score) for each in found.suspects] == [(each.multiplicity, each.records, each.score) for each in known.suspects]


@pytest.mark.slow
def test_shapes_that_trouble_others(dbg: Any) -> None:
    """A self-join, keys of None and NaN, lists for keys, empty partitions, a cache, an action that stops early, functions over partitions."""
    sc, nan = dbg.context, float("nan")
    base = sc.parallelize([(1, 2), (1, 3), (None, 4), (nan, 5)], 6).cache()
    for rdd in (
        base.join(base, 3), base.groupByKey(2).mapValues(len), base.map(lambda r: ([r[0]], r[1])), base.repartition(2), base.sortBy(lambda r: r[1], numPartitions=2),
        base.mapPartitions(lambda records: [sum(1 for _ in records)]), base.cartesian(base), base.zipWithIndex(), base.coalesce(2), sc.parallelize([], 3),
    ):
        run = run_of(dbg, rdd)
        found = dbg.mine(run)
        assert repr(found)
        if rdd.count():
            mined = dbg.mine(run, bad=lambda out: True)
            assert (mined.bad, mined.good) == (rdd.count(), 0)
    with dbg.capture() as run:
        sc.parallelize(range(100), 4).flatMap(lambda n: [n] * 3).filter(lambda n: n % 2).take(5)
    assert dbg.mine(run, bad=lambda n: n == 1).bad == 3
    lists = base.map(lambda r: ([r[0]], r[1]))
    assert dbg.mine(run_of(dbg, lists), bad=[[None], [nan]]).bad == 2
    base.unpersist()


def test_what_cannot_be_mined_is_refused_by_name(dbg: Any, program: Any) -> None:
    with pytest.raises(LocalizeError, match="None of the 15 outputs of reduceByKey"):
        dbg.mine(program, bad=lambda out: False)
    with pytest.raises(LocalizeError, match="bad and good at once"):
        dbg.mine(program, bad=["EWR1"], good=["EWR1", "EWR2"])
    with pytest.raises(PredicateError, match=r"bad= at .*test_mine.py:\d+ raised KeyError"):
        dbg.mine(program, bad=lambda out: {}["sum"])
    with pytest.raises(TypeError, match="bad is a predicate of an output, a list of keys, or a trace, not 'EWR1'"):
        dbg.mine(program, bad="EWR1")
    other = dbg.context.parallelize([(1, 2)], 1)
    run_of(dbg, other)
    with pytest.raises(UnknownOperatorError, match="another run"):
        dbg.mine(program, bad=other.getLineage())


def test_nothing_of_a_record_is_markup_and_nothing_of_the_users_changes(dbg: Any) -> None:
    lines = dbg.context.parallelize(["<b>x</b>," * 40, *["y,"] * 50], 1)
    run = run_of(dbg, lines.flatMap(lambda line: line.split(",")).map(lambda word: (word, 1)))
    before = len(dbg.runs), dbg.plain_context.getJobTags()
    html = dbg.mine(run, bad=lambda out: "<b>" in out[0])._repr_mimebundle_()["text/html"]
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert (len(dbg.runs), dbg.plain_context.getJobTags()) == before


def test_the_experiment_of_newts_paper(dbg: Any) -> None:
    """Newt 7.3.1: three joins of four data sets, and two map instances that give spurious outputs for a key; a bad output leaves fewer suspects."""
    def mapped(n: int, wrong: int) -> list[tuple[int, int]]:
        return [(n, n % 7)] * (1 + (n % 3 == 0) + 50 * (n == wrong))

    data = [dbg.context.parallelize([n * 7 % 200 for n in range(200)], 5) for _ in range(4)]
    maps = [each.flatMap(lambda n, wrong=wrong: mapped(n, wrong)) for each, wrong in zip(data, (-1, 77, 123, -1))]
    joined = maps[0].join(maps[1], 4).mapValues(max).join(maps[2], 4).mapValues(max).join(maps[3], 4)
    run = run_of(dbg, joined)
    faulty = {maps[1]._definition.operator.id, maps[2]._definition.operator.id}

    def actors(found: Any) -> set[tuple[Any, int]]:
        return {(each.operator, each.partition) for each in found.suspects}

    everything = dbg.mine(run, most=500)
    narrowed = dbg.mine(run, bad=[77], most=500)
    assert faulty <= {operator for operators, _ in actors(everything) for operator in operators}
    assert actors(narrowed) < actors(everything)
    culprit = next(each for each in narrowed.suspects if faulty.intersection(each.operator) and each.position is not None)
    assert (culprit.records, culprit.multiplicity) == ((77,), 51)
    assert "Only bad outputs were made of it." in culprit.evidence


# ---- what culprits have in common ---------------------------------------------------------------------------------


def test_a_diagnosis_a_trace_and_its_source_records_are_explained_alike(dbg: Any) -> None:
    lines = [f"{n},{'EWR' if n % 10 == 3 else 'JFK'},{'NA' if n % 20 == 3 else n}" for n in range(200)]
    late = dbg.context.parallelize(lines, 3).map(lambda line: (int(line.split(",")[0]) // 20, -10_000 if line.endswith("NA") else 1)).reduceByKey(add, 2)
    run_of(dbg, late)
    diagnosis = dbg.localize(late, lambda out: out[1] < 0)
    by_diagnosis = dbg.explain(diagnosis, among=late, names=NAMES)
    assert by_diagnosis.best == "dep_time is NA"
    sources = late.getLineage().goBackAll()
    culprits = sources.where(lambda line: line.endswith("NA"))
    assert repr(dbg.explain(culprits, names=NAMES)) == repr(by_diagnosis)
    assert repr(dbg.explain(culprits.source_records(), among=late, names=NAMES)) == repr(by_diagnosis)
    (of_ewr,) = dbg.explain(culprits, among=sources.where(lambda line: "EWR" in line), names=NAMES).separations.values()
    assert (of_ewr.bad, of_ewr.healthy) == (10, 10)


def test_crash_culprits_are_explained(dbg: Any) -> None:
    numbers = dbg.context.parallelize([f"{n},{n % 4}" for n in range(80)], 2)
    with pytest.raises(Exception, match="ZeroDivision"), dbg.capture() as run:
        numbers.map(lambda line: 1 // int(line.split(",")[1])).sum()
    assert dbg.explain(run.culprits, among=run, names="n,by").best == "by = '0'"


def test_rows_of_dataframes_are_explained(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([(n, "EWR" if n % 5 == 0 else "JFK", None if n % 10 == 0 else n) for n in range(200)], "n int, origin string, dep int")
    frame.createOrReplaceTempView("trips")
    counts = spark.sql("select t.n div 10 tens, count(t.dep) known from trips t join trips u on t.n = u.n group by 1")
    rows = dbg.lineage(counts).goBackAll()
    (found,) = dbg.explain(rows["trips"].where("dep is null")).separations.values()
    assert (found.clauses[0].text, found.bad, found.healthy) == ("dep is null", 20, 180)
    among = dbg.explain(rows["trips"].where("dep is null"), among=rows["trips"].where("origin = 'EWR'")).separations["trips"]
    assert (among.bad, among.healthy) == (20, 20)
    records = rows["trips"].where("dep is null").source_records()
    assert dbg.explain(records, among=counts).best == "dep is null"


def test_what_cannot_be_explained_is_refused_by_name(dbg: Any, program: Any) -> None:
    sources = program.getLineage().goBackAll()
    with pytest.raises(LocalizeError, match="no culprits to explain"):
        dbg.explain(sources.where(lambda line: False))
    with pytest.raises(TypeError, match="among="):
        dbg.explain(sources.source_records(1))
    with pytest.raises(TypeError, match="source records, not 3"):
        dbg.explain([3], among=program)
    other = dbg.context.parallelize(["a"], 1).setName("others")
    run_of(dbg, other)
    with pytest.raises(UnknownRecordError, match=r"It reads others\."):
        dbg.explain(sources.source_records(1), among=other)


# ---- queries --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trips(dbg: Any, spark: Any) -> list[Any]:
    rows = [(n, AIRPORTS[n % 3], None if n % 6 == 0 else n % 60, n % 5) for n in range(300)] + [(1_000, "JFK", 3, 0)] * 200
    spark.createDataFrame(rows, "n int, origin string, dep int, k int").createOrReplaceTempView("flown")
    lines = [(n, "a b" if n != 17 else " ".join(f"w{i}" for i in range(80))) for n in range(60)]
    spark.createDataFrame(lines, "n int, line string").createOrReplaceTempView("sentences")
    return rows


def mined(dbg: Any, query: str, **given: Any) -> Any:
    frame = dbg.spark.sql(query)
    with dbg.capture() as run:
        frame.collect()
    return dbg.mine(run, **given)


@pytest.mark.slow
def test_multiplicities_of_a_query_are_those_that_are_counted_row_by_row(dbg: Any, trips: list[Any]) -> None:
    found = mined(dbg, "select origin, k, sum(dep) total from flown group by 1, 2")
    sizes = Counter((origin, k) for _, origin, _, k in trips)
    (group,) = found.multiplicities
    assert (group.inputs, group.outputs, group.inputs_of) == (500, 15, (min(sizes.values()), 500 / 15, max(sizes.values())))
    (suspect,) = found.suspects
    assert (suspect.multiplicity, suspect.records[0][:2]) == (220, ("JFK", 0))
    joined = mined(dbg, "select t.n, s.line from flown t left join sentences s on t.n = s.n where t.n < 90").multiplicities
    assert [(each.operator.split(" ")[-1], each.inputs, each.outputs, each.outputs_of, each.inputs_of) for each in joined] == [
        ("flown", 500, 90, (0, 90 / 500, 1), (1, 1, 1)), ("sentences", 60, 90, (1, 1, 1), (0, 60 / 90, 1)),
    ]
    (twice,) = {(each.outputs_of, each.inputs_of) for each in mined(dbg, "select count(*) c from flown a join flown b on a.n = b.n + 1").multiplicities}
    assert twice == ((0, 299 / 500, 1), (299, 299, 299))


def test_a_row_that_takes_part_in_many_is_told_with_its_origin(dbg: Any, trips: list[Any]) -> None:
    found = mined(dbg, "select w, count(*) c from (select explode(split(line, ' ')) w from sentences) group by w")
    (line, *others) = (each for each in found.suspects if each.way is Way.OUTPUTS)
    assert not others
    assert (line.multiplicity, line.records[0].n, str(line.origins[0])) == (80, 17, "sentences[17]")
    assert "An input of Aggregate" in line.evidence


def test_the_branch_and_the_rows_behind_bad_rows_are_told(dbg: Any, trips: list[Any]) -> None:
    query = "select k, sum(v) s from (select k, dep v from flown where n < 50 union all select n % 5 k, -1000 from sentences where n < 3) group by k"
    found = mined(dbg, query, bad="s < 0")
    assert (found.operators[0].element, found.operators[0].failing, found.operators[0].passing) == ("sentences", 3, 0)
    assert found.separations["sentences"].clauses[0].text == "n < 3"
    same = mined(dbg, query, bad=lambda row: row.s < 0)
    assert repr(same) == repr(found) == repr(mined(dbg, query, bad=[{"k": 0}, {"k": 1}, {"k": 2}]))
    narrowed = mined(dbg, query, bad=[{"k": 0}], good=[{"k": 3}, {"k": 4}])
    assert (narrowed.bad, narrowed.good) == (1, 2)
    assert narrowed.separations["flown"].clauses[0].covers == 1.0


@pytest.mark.many
@pytest.mark.parametrize(("query", "left_out"), [
    ("select n, sum(dep) over (partition by origin order by n) s from flown where n < 9", "Window"),
    ("select n, sum(dep) s from flown group by n order by n limit 3", "Limit"),
    ("select n from sentences where n > (select min(n) from flown) and exists (select 1 from flown f where f.n = sentences.n)", "Aggregate"),
])
def test_operators_of_which_lineage_does_not_give_what_it_takes_are_named(dbg: Any, trips: list[Any], query: str, left_out: str) -> None:
    found = mined(dbg, query, bad="n = 2")
    assert any(note.startswith(f"Not compared: {left_out}") for note in found.notes)
    assert found.bad == 1


def test_bad_rows_that_are_none_are_refused(dbg: Any, trips: list[Any]) -> None:
    with pytest.raises(LocalizeError, match="None of the 300 rows"):
        mined(dbg, "select n from flown where n < 300", bad="n < 0")
    with pytest.raises(LocalizeError, match="bad and good at once"):
        mined(dbg, "select n from flown where n < 300", bad="n < 5", good="n < 3")
    with pytest.raises(TypeError, match="bad is a condition, rows, or a trace"):
        mined(dbg, "select n from flown where n < 300", bad=[])

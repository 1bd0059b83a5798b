"""``python -m benchmarks P1``: measure, print the table, keep it beside a JSON line for each result."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.actors import capture_costs
from benchmarks.brushing import time_to_linked
from benchmarks.capture import cost_in_bytes, cost_in_time
from benchmarks.crashes import time_to_culprits
from benchmarks.datasets import question_times
from benchmarks.growth import fault_growth, fault_picture, growth, picture, query_growth, query_picture
from benchmarks.inputs import MEASURED, Inputs
from benchmarks.localizing import time_to_causes
from benchmarks.memory import driver_memory
from benchmarks.pairs import FEWEST
from benchmarks.provgraphs import query_times
from benchmarks.queries import capture_cost, first_trace, index_cost, recording_cost
from benchmarks.results import Report, Result, machine
from benchmarks.saving import saved_times
from benchmarks.sides import Sides, open_sides
from benchmarks.tracing import trace_times

Measurement = Callable[[Sides, Inputs, Path, int], Iterator[Result]]

SMALL = 0.05


class Measure(NamedTuple):
    run: Measurement
    what: str
    scale: float = 1.0
    picture: Callable[[list[Result]], str] | None = None


ELSEWHERE = """
  P11  time until linked views of 100,000 marks are drawn anew: cd tests/browser && npx playwright test brush.spec.ts -g 100,000 prints it
"""
"""Measures that need a browser."""

MEASURES = {
    "P1": Measure(cost_in_time, "time of jobs with capture / in plain PySpark: grep, word count, PigMix L2, L6, L7"),
    "P2": Measure(cost_in_bytes, "bytes of lineage / bytes of input of the same jobs"),
    "P3": Measure(trace_times, "time to trace a word back to its lines, and a line ahead to its words"),
    "P4": Measure(capture_cost, "time of queries of TPC-H with capture / without: Q1, Q3, Q5, Q10, Q12, Q18"),
    "P4-DATASETS": Measure(recording_cost, "time of the same queries with what they read and write recorded / without"),
    "P5": Measure(first_trace, "time of the first trace of one row / time of the query; time of a trace with an index"),
    "P6": Measure(index_cost, "time to index the lineage of a whole query / time of the query"),
    "P7": Measure(time_to_linked, "time until linked views show what is behind a bar: every bar of four views over 24 M rows"),
    "P8": Measure(query_times, "time of provenance queries, 10 M triples: the index, cold and warm, and RQ, CCProv and CSProv in Spark"),
    "P9": Measure(time_to_causes, "time of a localization / of the job in plain PySpark, 1 to 8 corrupt of 10^6 lines; tests of a search"),
    "P10": Measure(time_to_culprits, "time from a failure to all culprits / time of plain PySpark without bad records"),
    "P12": Measure(growth, "P1 (word count) and P3 at 1, 4 and 16 times the scale, which is 0.25 if not given", 0.25, picture),
    "P12-FAULTS": Measure(fault_growth, "P10 and P9 with few bad records at 1, 4 and 16 times the scale, which is 0.0625 if not given", 0.0625, fault_picture),
    "P12-MEMORY": Measure(driver_memory, "memory of the driver, asked about 10^8 associations of 10^7 outputs: how much more than before, by settings"),
    "A2": Measure(question_times, "time of questions about datasets over 10,000 recorded processes"),
    "N2": Measure(capture_costs, "time of steps that are not Spark's (pandas, generators, a program) with capture / without"),
    "T11": Measure(saved_times, "time to open a saved word count in a new process, and to trace one record of it back and ahead"),
    "P12-SQL": Measure(query_growth, "P5 at 1, 4 and 16 times the scale, which is 0.0625 if not given", 0.0625, query_picture),
}


def main() -> int:
    """Run the measures named; 0 if all that have a target reach it, 1 if not."""
    asked = arguments()
    scratch = Path(tempfile.mkdtemp(prefix="bigdebug-benchmarks-run-", dir=asked.scratch))
    about = machine(asked.cores)
    about["method"] = (
        f"Medians of {asked.repeats} pairs after one thrown away, in one session{' on local-cluster' if asked.cluster else ''}: plain PySpark and "
        + ("plain PySpark again (all ratios are noise)." if asked.plain_only else f"capture (strategy {asked.strategy}) in turn.")
    )
    met = True
    try:
        with open_sides(asked.cores, scratch, asked.strategy, asked.plain_only, asked.cluster) as sides:
            for name in asked.names:
                measure = MEASURES[name]
                report = Report(name, asked.out, about)
                inputs = Inputs(asked.scale or measure.scale, asked.data, asked.queries)
                print(f"{name} at scale {inputs.scale:g}", file=sys.stderr)
                found = [report.add(result) for result in measure.run(sides, inputs, scratch, asked.repeats)]
                if measure.picture and found:
                    (asked.out / f"{name}.svg").write_text(measure.picture(found))
                met &= all(result.reached is not False for result in found)
                print(report.close() if found else f"{name} measures nothing with plain PySpark alone.\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0 if met else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measure bigdebug against plain PySpark in one session.",
        epilog="measures:\n" + "\n".join(f"  {name:4} {measure.what}" for name, measure in MEASURES.items()) + ELSEWHERE,
    )
    parser.add_argument("names", nargs="+", choices=MEASURES, metavar="NAME", help=f"{', '.join(MEASURES)}; one that is named twice is measured twice in the one session, which is warm then: executors need a minute")
    parser.add_argument("--scale", type=_scale, help=f"size of the data: 1 is 12 M words, 1 M page views; small is {SMALL}")
    parser.add_argument("--queries", type=_queries, default=MEASURED, help="which of TPC-H are asked, as 3,12; all that are named above")
    parser.add_argument("--repeats", type=_repeats, default=FEWEST, help=f"pairs that are kept, {FEWEST} or more")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"), help="where tables, JSON lines and pictures go")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--cluster", action="store_true", help="tasks run in executors, a process for each core (local-cluster)")
    parser.add_argument("--data", type=Path, help="where generated inputs are kept (the temporary directory)")
    parser.add_argument("--scratch", type=Path, help="where shuffles, outputs and lineage are until the end (the same)")
    parser.add_argument("--strategy", default="auto", help="capture strategy")
    parser.add_argument("--plain-only", action="store_true", help="plain PySpark on both sides: what is measured is the noise")
    return parser.parse_args()


def _scale(text: str) -> float:
    scale = SMALL if text == "small" else float(text)
    if scale <= 0:
        raise argparse.ArgumentTypeError("a scale is more than 0")
    return scale


def _queries(text: str) -> tuple[int, ...]:
    numbers = tuple(map(int, text.split(",")))
    if unknown := set(numbers) - set(MEASURED):
        raise argparse.ArgumentTypeError(f"no such query is measured: {min(unknown)}")
    return numbers


def _repeats(text: str) -> int:
    if int(text) < FEWEST:
        raise argparse.ArgumentTypeError(f"a median needs {FEWEST} pairs or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

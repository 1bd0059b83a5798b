"""actors: steps that Spark does not run become part of the same lineage (Newt's capture API, Table 1). Pure: no Spark.

    with actors.register("clean") as actor:            # commits at the end
        for number, record in enumerate(records):
            actor.reset()                              # what comes next is made of this record alone
            actor.add_input(at=actors.Place.line("in.txt", number))
            for given in clean(record):
                actor.add_output(at=actors.Place.line("out.txt", written(given)))

``rows``, ``groups``, ``merge``, ``lines``, ``generator`` and ``program`` do this for functions over frames, for generators, and for programs. ``steps`` are all that were
captured, for a pipeline.
"""

from __future__ import annotations

from bigdebug.actors.actor import Actor, flow_link, register
from bigdebug.actors.actorstep import ActorStep
from bigdebug.actors.committed import ActorCulprit
from bigdebug.actors.functions import groups, rows, whole
from bigdebug.actors.generators import generator
from bigdebug.actors.home import ActorHome
from bigdebug.actors.kinds import DATASET, FILE, JOB, OPERATOR, RECORD, STAGE, TASK, ActorType, DataType
from bigdebug.actors.log import ANY, NEXT
from bigdebug.actors.merging import merge
from bigdebug.actors.opening import UncommittedStep, forget, step, steps
from bigdebug.actors.places import Place
from bigdebug.actors.programs import program
from bigdebug.actors.pruning import prune
from bigdebug.actors.reading import read_csv, read_json, read_parquet
from bigdebug.actors.textfiles import lines
from bigdebug.actors.writing import to_csv, to_json, to_parquet

__all__ = [
    "register", "Actor", "flow_link", "steps", "step", "forget", "prune", "ActorStep", "UncommittedStep", "ActorCulprit", "ActorHome",
    "rows", "groups", "whole", "merge", "read_csv", "read_json", "read_parquet", "to_csv", "to_json", "to_parquet", "lines", "generator", "program",
    "Place", "NEXT", "ANY",
    "ActorType", "DataType", "JOB", "STAGE", "TASK", "OPERATOR", "DATASET", "FILE", "RECORD",
]

"""Going on: what becomes of an action on a DataFrame that crashed, where a policy says that it is not to fail (BigDebug 4.3 and 5).

An expression of Spark's has no place for a policy. So the action fails, its culprits are found, and it is called again as ``resume``
would: over the query without them, or with other rows in their place.
"""

from __future__ import annotations

import pickle
from pathlib import Path

from bigdebug.agents.guards.policy import Policy
from bigdebug.agents.letters import letter, post
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.crashes import note
from bigdebug.spark.sql.crashes.resume import FrameResume
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run


def going_on(run: Run, resume: FrameResume, policy: Policy, problem: Exception) -> Resumed | None:
    """What a failed action gives after all; None, and a note of why on its exception, if it has to fail."""
    choice = policy.otherwise
    if not choice.goes_on or is_cancelled(problem):
        return None
    repair = None if choice.repair is None else pickle.loads(choice.repair)
    try:
        resumed = resume(choice.skips, repair, None)
    except Exception as trouble:  # the user's own exception says what happened to the job
        note(problem, f"bigdebug could not go on: {trouble}")
        return None
    resumed.run.resuming.append(resume)
    if policy.letters is not None:
        _post(Path(policy.letters) / f"{run.id}.jsonl", resumed.run.culprits)
    return resumed


def _post(file: Path, culprits: Culprits) -> None:
    try:
        post(file, [letter(c.operator.id, c.partition, None, c.record, c.exception_type, c.message) for c in culprits.known])
    except OSError as trouble:
        culprits.unknown.append(f"Dead letters could not be written: {type(trouble).__name__}: {trouble}")

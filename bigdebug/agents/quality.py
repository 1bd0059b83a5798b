"""Quality: how good an output is, by a function of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WORST = -math.inf
"""The quality of an output of which the user's function gives no number."""


@dataclass(frozen=True)
class Quality:
    """Rates outputs by ``function``: the higher the better. None and NaN are the worst that there is."""

    function: Callable[[Any], Any]

    def __call__(self, output: Any) -> float:
        found = self.function(output)
        if found is None:
            return WORST
        rating = float(found)
        return WORST if math.isnan(rating) else rating


@dataclass(frozen=True)
class Below:
    """True of outputs that are not good ``enough``."""

    quality: Quality
    enough: float

    def __call__(self, output: Any) -> bool:
        return self.quality(output) < self.enough

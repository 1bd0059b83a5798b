"""Settings: what an application is told besides its queries, of which some values are secret: Spark's, each session's, and Hadoop's."""

from __future__ import annotations

import time
from typing import Any

from pyspark import SparkContext

from bigdebug.datasets.secrets import Secrets
from bigdebug.spark.gateway import classes

_SECRETS = "(?i)(passw|passphrase|pwd|secret|token|credential|jaas|key|auth|sig|sas|jwt|cookie)"
"""What names have in them whose values may be secret: wider than ``secrets`` has it, which looks at them again."""

_EVERY = 30.0
"""Seconds after which Hadoop's are read again if there are as many as before: it does not say when one has changed, and to look takes it 5 ms."""


class Settings:
    """Lets ``secrets`` know what is secret in the settings of one application, as long as it runs."""

    def __init__(self, sc: SparkContext, secrets: Secrets) -> None:
        self._sc: Any = sc
        self._secrets = secrets
        self._hadoop: Any = None
        self._seen: dict[int, int] = {}
        """What the settings of each session were, by a hash."""
        self._count, self._read = -1, 0.0

    def open(self) -> None:
        """Those of the application, which stay. Some ten calls of the JVM."""
        self._secrets.learn(dict(self._sc.getConf().getAll()))
        self._hadoop = self._sc._jsc.hadoopConfiguration()
        self._learn_hadoop()

    def learn(self, jsession: Any) -> None:
        """Those of a session in the JVM, if they are not the same as before. Costs six calls of the JVM, if so."""
        settings = jsession.sessionState().conf().settings()
        session, now = int(jsession.hashCode()), int(settings.hashCode())
        if self._seen.get(session) != now:
            self._seen[session] = now
            self._secrets.learn(self._pairs(settings))
        if self._hadoop is not None and (int(self._hadoop.size()) != self._count or time.monotonic() - self._read > _EVERY):
            self._learn_hadoop()

    def _learn_hadoop(self) -> None:
        self._count, self._read = int(self._hadoop.size()), time.monotonic()
        self._secrets.learn(self._pairs(self._hadoop.getValByRegex(_SECRETS)))

    def _pairs(self, settings: Any) -> dict[str, str]:
        """A map of Java's in two calls: to go through it takes hundreds."""
        join = classes(self._sc._jvm).org.apache.hadoop.util.StringUtils.join
        return dict(zip(*(str(join("\0", part)).split("\0") for part in (settings.keySet(), settings.values()))))

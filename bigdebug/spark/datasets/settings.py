"""Settings: what an application is told besides its queries, of which some values are secret: Spark's, each session's, Hadoop's, and the environment's."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

from bigdebug.datasets.secrets import Secrets, secret_name
from bigdebug.spark.datasets.doing import wrapped
from bigdebug.spark.gateway import classes

_SECRETS = "(?i)(passw|passphrase|pwd|secret|token|credential|jaas|key|auth|sig|sas|jwt|cookie)"
"""What names have in them whose values may be secret: wider than ``secrets`` has it, which looks at them again."""

_EVERY = 30.0
"""Seconds after which Hadoop's are read again if there are as many as before: it does not say when one has changed, and to look takes it 5 ms."""

_FOLDERS = ("PWD", "OLDPWD")
"""Variables that are called like passwords."""


class Settings:
    """Lets ``secrets`` know what is secret in the settings of one application, as long as it runs, and the log of bigdebug be without it."""

    def __init__(self, sc: SparkContext, secrets: Secrets) -> None:
        self._sc: Any = sc
        self._secrets = secrets
        self._hadoop: Any = None
        self._seen: set[int] = set()
        """The sessions whose settings were read; what is set later is told as it is."""
        self._undo: list[Callable[[], None]] = []
        self._count, self._read = -1, 0.0
        self._environment: dict[str, str] = {}

    def open(self) -> None:
        """Those of the application, and from here on what ``spark.conf.set`` and a builder set, and texts of SQL are given by names. Some ten calls of the JVM."""
        self._undo += [wrapped(RuntimeConfig, "set", self._set), wrapped(SparkSession.Builder, "getOrCreate", self._built), wrapped(SparkSession, "sql", self._given)]
        log = logging.getLogger("bigdebug")
        log.addFilter(self._secrets.logged)
        self._undo.append(lambda: log.removeFilter(self._secrets.logged))
        self.learn_environment()
        self._secrets.learn(dict(self._sc.getConf().getAll()))
        self._hadoop = self._sc._jsc.hadoopConfiguration()
        self._learn_hadoop()

    def close(self) -> None:
        """PySpark's methods are as they were."""
        while self._undo:
            self._undo.pop()()

    def learn(self, jsession: Any) -> None:
        """Those of a session in the JVM, when it is met. Costs two calls of the JVM else."""
        session = int(jsession.hashCode())
        if session not in self._seen:
            self._seen.add(session)
            self._secrets.learn(self._pairs(jsession.sessionState().conf().settings()))
        if self._hadoop is not None and (int(self._hadoop.size()) != self._count or time.monotonic() - self._read > _EVERY):
            self._learn_hadoop()

    def learn_environment(self) -> None:
        """Variables that were set meanwhile. Takes some 20 µs where none was."""
        if (now := dict(os.environ)) != self._environment:
            self._environment = now
            # A file of keys is no key: its path stands in many texts.
            self._secrets.learn({name: said for name, said in now.items() if name not in _FOLDERS and not (secret_name(name) and os.path.exists(said))})

    def _set(self, method: Any, conf: Any, key: Any, value: Any) -> None:
        method(conf, key, value)
        self._secrets.learn({str(key): str(value)})

    def _built(self, method: Any, builder: Any) -> Any:
        """A builder changes settings of a session that is there."""
        session = method(builder)
        self._secrets.learn({str(name): str(value) for name, value in builder._options.items()})
        return session

    def _given(self, method: Any, session: Any, *args: Any, **kwargs: Any) -> Any:
        """What a text of SQL is given is in no text of it, but in messages."""
        said = ((str(name), value) for each in (*args, *kwargs.values(), kwargs) if isinstance(each, dict) for name, value in each.items())
        secret = {name: value for name, value in said if isinstance(value, str) and secret_name(name)}
        if secret:
            self._secrets.learn(secret, passing=True)
        return method(session, *args, **kwargs)

    def _learn_hadoop(self) -> None:
        self._count, self._read = int(self._hadoop.size()), time.monotonic()
        self._secrets.learn(self._pairs(self._hadoop.getValByRegex(_SECRETS)))

    def _pairs(self, settings: Any) -> dict[str, str]:
        """A map of Java's in two calls: to go through it takes hundreds."""
        join = classes(self._sc._jvm).org.apache.hadoop.util.StringUtils.join
        return dict(zip(*(str(join("\0", part)).split("\0") for part in (settings.keySet(), settings.values()))))

"""ML: fits, models that are saved and loaded, and queries that use a model, while bigdebug is attached. The user's code stays as it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from bigdebug.datasets.model import Access, ColumnEdge, Dataset
from bigdebug.datasets.naming import of_path, of_session
from bigdebug.datasets.uses import Use
from bigdebug.spark.datasets.counts import ids_of
from bigdebug.spark.datasets.doing import Doing, Doings, wrapped
from bigdebug.spark.datasets.places import qualified
from bigdebug.spark.datasets.reading import Reading
from bigdebug.spark.imported import Imported

log = logging.getLogger("bigdebug")

_INPUTS = (
    "featuresCol", "labelCol", "weightCol", "inputCol", "inputCols", "userCol", "itemCol", "ratingCol", "itemsCol", "censorCol", "sequenceCol", "srcCol", "dstCol",
    "validationIndicatorCol", "offsetCol", "foldCol",
)
"""Parameters that name the columns that a fit reads."""

_PREDICTED = ("predictionCol", "rawPredictionCol", "probabilityCol")
"""Those that name what an evaluator reads besides: what the model made, or a column that was there."""

_TEXTS = ("formula", "statement")
"""Parameters whose text names columns: which, is not read here. Those of an estimator with a formula name what it makes."""

_INSTANCE, _OVERWRITES = "_bigdebug_instance", "_bigdebug_overwrites"
"""Where a writer of the JVM's keeps what it writes, and whether it may overwrite."""


class Models:
    """Watches pyspark.ml, as soon as it is imported. ``read`` gives what the query of a DataFrame reads, and ``uses`` is told of the columns that a model makes."""

    def __init__(
        self, sc: Any, name: str, session: str, doings: Doings, read: Callable[[Any], Reading | None], uses: Callable[[frozenset[int], Dataset], None],
    ) -> None:
        self._sc, self._name, self._session = sc, name, session
        self._doings = doings
        self._read = read
        self._uses = uses
        self._undo: list[Callable[[], None]] = []
        self._import: Imported | None = None

    def open(self) -> None:
        """From here on."""
        if self._import is None:
            self._import = Imported("pyspark.ml", self._watch)

    def close(self) -> None:
        """pyspark.ml is as it was."""
        if self._import is not None:
            self._import.forget()
        self._import = None
        while self._undo:
            self._undo.pop()()

    def _watch(self, module: ModuleType) -> None:
        from pyspark.ml.base import Estimator, Transformer
        from pyspark.ml.util import JavaMLWriter, MLReader, MLWriter

        self._undo += [wrapped(Estimator, "fit", self._fit), wrapped(Transformer, "transform", self._transform)]
        self._undo += [wrapped(kind, "save", self._save) for kind in (MLWriter, JavaMLWriter)]
        # A writer of the JVM's tells neither what it writes nor how.
        self._undo += [wrapped(JavaMLWriter, "__init__", self._made), wrapped(JavaMLWriter, "overwrite", self._overwriting)]
        self._undo += [wrapped(kind, "load", self._load) for kind in _below(MLReader) if "load" in vars(kind)]

    # ---- what they do -----------------------------------------------------------------------------------------

    def _fit(self, method: Any, estimator: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        with self._doings.doing("fit", f"{self._name}.fit.{type(estimator).__name__}", text=f"{type(estimator).__name__}.fit") as doing:
            try:
                model = method(estimator, dataset, *args, **kwargs)
            except Exception:
                if doing is not None:
                    self._safely(lambda: self._tried(doing, dataset))
                raise
            if doing is not None:
                self._safely(lambda: self._fitted(doing, estimator, dataset, model))
            else:
                self._safely(lambda: self._fitted_within(model))
            return model

    def _fitted_within(self, model: Any) -> None:
        around = self._doings.of(self._sc.getJobTags())
        if around is not None:
            around.made.update(self._models(model))

    def _fitted(self, doing: Doing, estimator: Any, dataset: Any, model: Any) -> None:
        made = self._models(model)
        doing.of(writes=[Access(each, "created") for each in made])
        reading = self._tried(doing, dataset)
        if reading is not None:
            doing.of(columns=_learned(made, reading, _columns(estimator)))

    def _tried(self, doing: Doing, dataset: Any) -> Reading | None:
        """What a fit read, whether it came to anything or not."""
        reading = self._read(dataset)
        if reading is not None:
            doing.opaque.update(dict.fromkeys(reading.opaque))
            doing.of(reads=(access.dataset for access in reading.reads))
        return reading

    def _transform(self, method: Any, transformer: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        made = method(transformer, dataset, *args, **kwargs)
        if type(transformer).__name__.endswith("Model"):
            self._safely(lambda: self._used(transformer, dataset, made))
        return made

    def _used(self, model: Any, dataset: Any, made: Any) -> None:
        before, after = (ids_of(frame._jdf.queryExecution().analyzed()) for frame in (dataset, made))
        self._uses(after - before, self._model(model))

    def _made(self, method: Any, writer: Any, instance: Any) -> None:
        method(writer, instance)
        vars(writer)[_INSTANCE] = instance

    def _overwriting(self, method: Any, writer: Any) -> Any:
        vars(writer)[_OVERWRITES] = True
        return method(writer)

    def _save(self, method: Any, writer: Any, path: str, *args: Any, **kwargs: Any) -> Any:
        model = vars(writer).get(_INSTANCE) or vars(writer).get("instance")
        with self._doings.doing("write", f"{self._name}.save.{path}", inner=True, text=f"save {path}") as doing:
            if doing is not None:
                overwrites = vars(writer).get(_OVERWRITES) or getattr(writer, "shouldOverwrite", False)
                doing.of(writes=[Access(self._place(path), "overwritten" if overwrites else "created")])
                self._safely(lambda: doing.of(reads=[self._model(model)] if model is not None else []))
            return method(writer, path, *args, **kwargs)

    def _load(self, method: Any, reader: Any, path: str, *args: Any, **kwargs: Any) -> Any:
        with self._doings.doing("query", f"{self._name}.load.{path}", inner=True, text=f"load {path}") as doing:
            if doing is not None:
                doing.of(reads=[self._place(path)])
            model = method(reader, path, *args, **kwargs)
            if doing is not None:
                self._safely(lambda: doing.of(writes=[Access(self._model(model), "created")]))
            return model

    def _place(self, path: Any) -> Dataset:
        return of_path(qualified(self._sc, str(path), is_pattern=False), kind="model")

    def _model(self, model: Any) -> Dataset:
        return of_session(self._session, str(model.uid), "model")

    def _models(self, fitted: Any) -> list[Dataset]:
        """What a fit gave: a model, or one for each of several settings; and the models that these are made of, which may be saved and asked alone."""
        return list(dict.fromkeys(self._model(part) for each in (fitted if isinstance(fitted, list) else [fitted]) for part in _with_parts(each)))

    def _safely(self, note: Callable[[], object]) -> None:
        try:
            note()
        except Exception as trouble:  # the user's model comes first
            log.info("bigdebug does not know all that a model did: %s: %s", type(trouble).__name__, trouble)


def _below(kind: Any) -> Iterator[Any]:
    yield kind
    for each in kind.__subclasses__():
        yield from _below(each)


def _with_parts(model: Any) -> Iterator[Any]:
    """A model, and the fitted ones within it: the stages of a pipeline, the best of a search and those that it kept, one for each class."""
    yield model
    inner = [getattr(model, name, None) for name in ("stages", "bestModel", "subModels", "models")]
    while inner:
        each = inner.pop(0)
        if isinstance(each, (list, tuple)):
            inner = [*each, *inner]
        elif type(each).__name__.endswith("Model"):
            yield from _with_parts(each)


def _columns(estimator: Any) -> set[str] | None:
    """The columns that an estimator, or a stage of a pipeline, is told to read; None if that may be any: it has a formula or a statement, or nothing that is known here
    says which, as of one that the user wrote.
    """
    if hasattr(estimator, "getStages"):
        return _either(map(_columns, estimator.getStages()))
    if any(_value(estimator, name) for name in _TEXTS):
        return None
    found = _named(estimator, _INPUTS)
    around = _value(estimator, "estimator")
    if around is not None:
        return _either([found, _columns(around), _judged(_value(estimator, "evaluator"))])
    return found or None


def _judged(evaluator: Any) -> set[str] | None:
    """The columns by which the evaluator of a search judges; None if that may be any. One that the user wrote may read more
    than its parameters name.
    """
    if evaluator is None:
        return set()
    return _named(evaluator, (*_INPUTS, *_PREDICTED)) if type(evaluator).__module__.startswith("pyspark.ml.") else None


def _named(stage: Any, parameters: Iterable[str]) -> set[str]:
    """The columns that these parameters name, in small letters, each with the struct that it may be a field of (``s.x``)."""
    named = [_value(stage, name) for name in parameters]
    columns = {column for each in named if each for column in (each if isinstance(each, (list, tuple)) else [each])}
    return {part.lower() for column in columns for part in (column, column.partition(".")[0])}


def _either(parts: Iterable[set[str] | None]) -> set[str] | None:
    every: set[str] = set()
    for columns in parts:
        if columns is None:
            return None
        every |= columns
    return every


def _value(estimator: Any, name: str) -> Any:
    """What a parameter is set to, if there is one."""
    return estimator.getOrDefault(name) if estimator.hasParam(name) and estimator.isDefined(name) else None


def _learned(models: Iterable[Dataset], reading: Reading, columns: set[str] | None) -> Iterator[ColumnEdge]:
    """A model is made of the columns that its estimator read, all if it is not known which, and of what these were made of."""
    for model in models:
        for edge in reading.columns:
            if columns is None or edge.column.lower() in columns or not edge.column:
                how = Use(0, edge.used, edge.how, edge.masking).then("AGGREGATION") if edge.column else Use(0, edge.used, edge.how)
                yield ColumnEdge(model, "", edge.input, edge.used, how.how, edge.masking)

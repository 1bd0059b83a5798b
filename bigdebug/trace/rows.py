"""Rows: what a program saw of a row of a DataFrame, kept and told without PySpark."""

from __future__ import annotations

from typing import Any


class SavedRow(tuple[Any, ...]):
    """A row that was saved: a tuple whose fields have names, as a Row of PySpark's has, without PySpark."""

    __fields__: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: tuple[str, ...], values: Any) -> SavedRow:
        made = cls(values)
        made.__fields__ = names
        return made

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.__fields__.index(key) if isinstance(key, str) else key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.__fields__:
            raise AttributeError(f"The row has no field {name!r}; it has {', '.join(self.__fields__)}", name=name, obj=self)
        return self[name]

    def __contains__(self, name: Any) -> bool:
        """Whether a field has this name."""
        return name in self.__fields__

    def asDict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: N802 (as PySpark's)
        """The values by their names; of names that several fields have, the last. Of rows within the row dictionaries, too, if ``recursive``."""
        return dict(zip(self.__fields__, map(_by_name, self) if recursive else self))

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(self.__fields__, self))})"


def _by_name(value: Any) -> Any:
    if isinstance(value, SavedRow):
        return value.asDict(True)
    if isinstance(value, list):
        return list(map(_by_name, value))
    return {key: _by_name(item) for key, item in value.items()} if isinstance(value, dict) else value

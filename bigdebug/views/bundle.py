"""The bundle of a widget: one ES module and its styles, as they were built from ``labextension/``."""

from __future__ import annotations

from pathlib import Path

_STATIC = Path(__file__).parent / "static"


def bundle(name: str) -> tuple[str, str]:
    """The module and the styles of a widget."""
    return _file(name, "js").read_text(encoding="utf-8"), _file(name, "css").read_text(encoding="utf-8")


def missing(name: str) -> str | None:
    """What to do where the bundle is not there; None where it is."""
    if _file(name, "js").exists() and _file(name, "css").exists():
        return None
    return (
        "This is all of the view, for its widget has not been built: run 'make panel' where bigdebug was cloned, which takes Node 20 or newer, "
        "or install a released wheel; then restart the kernel."
    )


def _file(name: str, kind: str) -> Path:
    return _STATIC / f"{name}.{kind}"

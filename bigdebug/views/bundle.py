"""The bundle of the widgets: one ES module and its styles, as they were built from ``labextension/``."""

from __future__ import annotations

from pathlib import Path

_STATIC = Path(__file__).parent / "static"
_FILES = ("views.js", "views.css")


def bundle() -> tuple[str, str]:
    """The module and the styles."""
    module, styles = ((_STATIC / name).read_text(encoding="utf-8") for name in _FILES)
    return module, styles


def missing() -> str | None:
    """What to do where the bundle is not there; None where it is."""
    if all((_STATIC / name).exists() for name in _FILES):
        return None
    return (
        "This is all of the view, for its widget has not been built: run 'make panel' where bigdebug was cloned, which takes Node 20 or newer, "
        "or install a released wheel; then restart the kernel."
    )

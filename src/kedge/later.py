"""Modules that are loaded when more is asked of them than starting up needs.

Dataclasses are made without asking `inspect`, and paths without `urllib.parse` and `ntpath`, though
each is imported for it; click has `inspect` tidy its help texts. To load them takes a sixth of the
time of a short command.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOCK = allocate_lock()


class Later(ModuleType):
    """Stands among the loaded modules for one that is not. What is not among `ready` is asked of
    the module itself, which takes its place at the first such question."""

    def __init__(self, name: str, ready: dict[str, Callable[..., Any]]) -> None:
        super().__init__(name)
        package, _, last = name.rpartition(".")
        home = import_module(package) if package else None
        self.__spec__ = PathFinder.find_spec(name, home.__path__ if home else None)
        vars(self).update(ready)
        sys.modules[name] = self
        if home is not None:
            setattr(home, last, self)

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # that it is no package is asked by every `from`
            raise AttributeError(name)
        return getattr(_loaded(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(_loaded(self.__name__))


def put_off() -> None:
    """Call before anything is imported that needs them. What is loaded already stays so."""
    ready: dict[str, dict[str, Callable[..., Any]]] = {
        "inspect": {"cleandoc": _cleandoc},
        "ntpath": {},
        "urllib.parse": {"quote_from_bytes": _quote_from_bytes},
    }
    for name, answers in ready.items():
        if name not in sys.modules:
            Later(name, answers)


def _cleandoc(doc: str) -> str:
    if doc.isprintable() and doc == doc.strip():
        return doc
    text: str = _loaded("inspect").cleandoc(doc)
    return text


def _quote_from_bytes(*args: Any, **named: Any) -> str:
    text: str = _loaded("urllib.parse").quote_from_bytes(*args, **named)
    return text


def _loaded(name: str) -> ModuleType:
    with _LOCK:  # only the one that stands for it is taken away, and once
        if isinstance(sys.modules.get(name), Later):
            del sys.modules[name]
    return import_module(name)

"""Modules that are loaded when more is asked of them than starting up needs.

Click has `inspect` tidy its help texts, and `uuid` asks `platform` for one word: to load the two
takes a tenth of the time of a short command.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

_LOCK = threading.Lock()


class Later(ModuleType):
    """Answers for a module. What is not among `ready` is asked of the module itself, which takes
    its place among the loaded ones at the first such question."""

    def __init__(self, name: str, ready: dict[str, Callable[..., Any]]) -> None:
        super().__init__(name)
        self.__spec__ = PathFinder.find_spec(name)
        vars(self).update(ready)

    def __getattr__(self, name: str) -> Any:
        return getattr(_loaded(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(_loaded(self.__name__))


def put_off() -> None:
    """Call before anything is imported that needs them. What is loaded already stays so."""
    ready: dict[str, dict[str, Callable[..., Any]]] = {
        "inspect": {"cleandoc": _cleandoc},
        "platform": {"system": lambda: os.uname().sysname},
    }
    for name, answers in ready.items():
        if name not in sys.modules:
            sys.modules[name] = Later(name, answers)


def _cleandoc(doc: str) -> str:
    if doc.isprintable() and doc == doc.strip():
        return doc
    text: str = _loaded("inspect").cleandoc(doc)
    return text


def _loaded(name: str) -> ModuleType:
    with _LOCK:  # only the one that stands for it is taken away, and once
        if isinstance(sys.modules.get(name), Later):
            del sys.modules[name]
    return import_module(name)

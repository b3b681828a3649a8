"""No module of kedge imports itself by way of others, inside its room or across rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import kedge

SOURCES = Path(kedge.__file__).parent


def find_modules(sources: Path) -> dict[str, Path]:
    """Return the path of each module, by its dotted name."""
    modules = {}
    for path in sorted(sources.rglob("*.py")):
        parts = path.relative_to(sources.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def find_imports(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports: in functions and for type checkers, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                member = f"{node.module}.{name.name}"
                if member in modules:
                    yield member
                elif node.module in modules:
                    yield node.module


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return one circle of imports, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def room(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    modules = find_modules(SOURCES)
    imports = {name: set(find_imports(path, modules)) - {name} for name, path in modules.items()}
    assert "kedge.drift.scoring" in imports["kedge.drift.engine"]
    assert "kedge.drift.charter" in imports["kedge.drift.watch.sensor"]  # in a function
    return imports


@pytest.mark.parametrize("name", sorted({room(module) for module in find_modules(SOURCES)}))
def test_no_import_cycles_inside_a_room(graph: dict[str, set[str]], name: str) -> None:
    inside = {module for module in graph if room(module) == name}
    cycle = find_cycle({module: graph[module] & inside for module in inside})
    assert not cycle


def test_no_import_cycles_across_rooms(graph: dict[str, set[str]]) -> None:
    assert not find_cycle(graph)


def test_a_cycle_through_a_function_is_found(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a.py").write_text("from room import b\n")
    (tmp_path / "room" / "b.py").write_text("def f() -> None:\n    from room.a import f\n")
    modules = find_modules(tmp_path / "room")
    imports = {name: set(find_imports(path, modules)) for name, path in modules.items()}
    assert set(find_cycle(imports)) == {"room.a", "room.b"}

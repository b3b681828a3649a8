"""Settings: typed, each with its origin. A flag wins over the environment, that over the
project's file, that over the user's file, and all of them over the default."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kedge.errors import ConfigError
from kedge.host import files
from kedge.host.project import HOME_VARIABLE, Project
from kedge.host.record import NamedTuple
from kedge.settings import ABOUT, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROJECT_FILE = (".kedge", "config.toml")
_RESERVED = (HOME_VARIABLE,)
_BOM = "\ufeff"
_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list of texts",
}


class Origin(NamedTuple):
    """Where a value comes from: `kind` is flag, environment, project, user or default."""

    kind: str
    where: str | None = None


class Key(NamedTuple):
    """One setting: its dotted name and what may be in it."""

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[str, ...]
    check: Callable[[Any], str | None] | None
    user_only: bool

    @property
    def variable(self) -> str:
        return "KEDGE_" + self.name.upper().replace(".", "_")


class Loaded(NamedTuple):
    """The settings in force, with the origin of each."""

    settings: Settings
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...]


def keys() -> dict[str, Key]:
    found = {}
    for section, group in Settings()._asdict().items():
        for item, default in group._asdict().items():
            name = f"{section}.{item}"
            found[name] = Key(name, type(default), default, *ABOUT[name])
    return found


def user_file() -> Path:
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():  # the XDG rules: what is not, does not count
        try:
            base = Path.home() / ".config"
        except RuntimeError as error:
            raise ConfigError(
                "there is no home directory to look for the user's settings in",
                hint="set $HOME or $XDG_CONFIG_HOME",
            ) from error
    return base / "kedge" / "config.toml"


def project_file(project: Project) -> Path:
    return project.path(*PROJECT_FILE)


def load(project: Project | None, flags: Mapping[str, Any] | None = None) -> Loaded:
    """All settings. A file that cannot be used raises ConfigError and is left as it is."""
    known = keys()
    values: dict[str, Any] = {}
    origins = {name: Origin("default") for name in known}
    layers: list[tuple[str, Path]] = []
    with contextlib.suppress(ConfigError):  # no home directory: no settings of the user
        layers.append(("user", user_file()))
    if project is not None:
        layers.append(("project", project_file(project)))
    for kind, path in layers:
        text = read_text(path)
        for names, value in _flatten(parse(path, text)):
            place = _place(path, text, names)
            key = _known(_dotted(names), known, place)
            if key.user_only and kind == "project":
                raise ConfigError(
                    f"{place}: {key.name} may be set in the user's file only",
                    hint=f"remove it here; kedge config set --user {key.name} VALUE sets it "
                    "for you",
                )
            values[key.name] = validated(key, value, place)
            origins[key.name] = Origin(kind, place)
    for key in known.values():
        given = os.environ.get(key.variable)
        if given is not None:
            values[key.name] = from_text(key, given, f"${key.variable}")
            origins[key.name] = Origin("environment", key.variable)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = validated(known[name], value, "the command line")
            origins[name] = Origin("flag")
    return Loaded(_build(values), origins, _strange_variables(known))


def find_key(name: str) -> Key:
    return _known(name, keys(), None)


def from_text(key: Key, text: str, place: str) -> Any:
    """A value from the environment or the command line."""
    value: Any = text
    if key.type is bool:
        words = {"true": True, "1": True, "yes": True, "on": True}
        words |= {"false": False, "0": False, "no": False, "off": False}
        value = words.get(text.strip().lower(), text)
    elif key.type is tuple:
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif key.type in (int, float):
        try:
            value = key.type(text)
        except ValueError:
            value = text
    return validated(key, value, place)


def validated(key: Key, value: Any, place: str) -> Any:
    if key.type is float and type(value) is int:
        with contextlib.suppress(OverflowError):
            value = float(value)
    if key.type is tuple and type(value) is list:
        value = tuple(dict.fromkeys(value)) if all(type(i) is str for i in value) else value
    wrong = None
    if type(value) is not key.type:
        wrong = f"must be {_KINDS[key.type]}, not {_short(value)}"
    elif isinstance(value, tuple):
        strange = [item for item in value if key.choices and item not in key.choices]
        wrong = f"cannot have {_short(strange[0])}" if strange else None
    elif isinstance(value, str) and not _storable(value):
        wrong = "must be UTF-8 without NUL"
    elif key.choices and value not in key.choices:
        wrong = f"cannot be {_short(value)}"
    elif key.check is not None:
        wrong = key.check(value)
    if wrong is not None:
        hint = "one of " + ", ".join(key.choices) if key.choices else key.help
        raise ConfigError(f"{place}: {key.name} {wrong}", hint=hint)
    return value


def read_text(path: Path) -> str:
    data = files.read_bytes(path)
    if data is None:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8", hint="save the file as UTF-8") from error


def parse(path: Path, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    import tomllib

    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(at.group(1)) if at else text.count("\n") + 1
        reason = str(error).split(" (at ")[0].rstrip(".").replace("\n", " ")
        raise ConfigError(
            f"{path}:{line}: {reason[:1].lower()}{reason[1:]}",
            hint="mend that line; kedge has changed nothing",
        ) from error
    except (ValueError, RecursionError) as error:
        what = "a number that is too long" if isinstance(error, ValueError) else "nested too deeply"
        raise ConfigError(f"{path}: {what}", hint="mend it; kedge has changed nothing") from error


def _flatten(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for section, group in data.items():
        if isinstance(group, dict):
            for name, value in group.items():
                yield (section, name), value
        else:
            yield (section,), group


def _dotted(names: tuple[str, ...]) -> str:
    """As TOML would write it: a dot inside of a name is not one between two."""
    return ".".join(f'"{name}"' if "." in name else name for name in names)


def _known(name: str, known: Mapping[str, Key], place: str | None) -> Key:
    key = known.get(name)
    if key is None:
        from difflib import get_close_matches

        near = get_close_matches(name, list(known), n=1, cutoff=0.5)
        where = f"{place}: " if place else ""
        raise ConfigError(
            f"{where}unknown setting {name!r}",
            hint=f"did you mean {near[0]!r}?" if near else "kedge config show lists all settings",
        )
    return key


def _place(path: Path, text: str, names: tuple[str, ...]) -> str:
    from kedge.host.toml_edit import line_of

    return f"{path}:{line_of(text.removeprefix(_BOM), names)}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"


def _storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _build(values: Mapping[str, Any]) -> Settings:
    groups = {}
    for section, group in Settings()._asdict().items():
        mine = {
            name.partition(".")[2]: value
            for name, value in values.items()
            if name.startswith(section + ".")
        }
        groups[section] = group._replace(**mine)
    return Settings(**groups)


def _strange_variables(known: Mapping[str, Key]) -> tuple[str, ...]:
    fine = {key.variable for key in known.values()} | set(_RESERVED)
    sections = {f"KEDGE_{name.partition('.')[0].upper()}_" for name in known}
    return tuple(
        f"${name} sets nothing that kedge knows"
        for name in sorted(os.environ)
        if name not in fine and any(name.startswith(section) for section in sections)
    )

"""Load settings, each with its origin. From strongest to weakest: flag, environment variable,
project's file, user's file, default."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.errors import ConfigError
from kedge.host import files
from kedge.host.project import HOME_VARIABLE, Project
from kedge.host.text import shorten
from kedge.settings import Settings

if TYPE_CHECKING:
    from kedge.host.approvals import Item

PROJECT_FILE = (".kedge", "config.toml")
_BOM = "\ufeff"
_MOST_UNKNOWN = 10  # unknown settings of a file that are named in warnings
_TYPES = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    tuple: "a list of strings",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value: `kind` is flag, environment, project, user or default."""

    kind: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its dotted name, type, default, description and accepted values."""

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[str, ...]
    check: Callable[[Any], str | None] | None
    user_only: bool
    tighten_only: bool
    runs: bool

    @property
    def variable(self) -> str:
        return "KEDGE_" + self.name.upper().replace(".", "_")

    def is_weaker(self, value: Any, base: Any) -> bool:
        """True if a project may not set the value, because `base` is stricter."""
        if not self.tighten_only:
            return False
        order = self.choices or (False, True)
        return order.index(value) < order.index(base)

    def describe(self, value: Any) -> str:
        """Return the setting with its value, as one approves it."""
        import json

        return f"{self.name} = {json.dumps(value)}"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A project's value that does not count, and why."""

    value: Any
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, with the origin of each."""

    settings: Settings
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...]
    ignored: Mapping[str, Ignored]
    weaker: tuple[Item, ...]  # what the project sets weaker than the default, for approval


def list_keys() -> dict[str, Key]:
    """Return all settings by name."""
    keys = {}
    defaults = Settings()
    for section in fields(defaults):
        for field in fields(getattr(defaults, section.name)):
            name = f"{section.name}.{field.name}"
            keys[name] = Key(name, type(field.default), field.default, **field.metadata)
    return keys


def user_file() -> Path:
    """Return the user's settings file. The environment names it: without $HOME there is none, even
    if the system knows a home directory of the user."""
    base, home = Path(os.environ.get("XDG_CONFIG_HOME", "")), Path(os.environ.get("HOME", ""))
    if not base.is_absolute():  # the XDG specification says to ignore relative paths
        if not home.is_absolute():
            raise ConfigError(
                "cannot find the user's settings: no home directory",
                hint="set $HOME or $XDG_CONFIG_HOME",
            )
        base = home / ".config"
    return base / "kedge" / "config.toml"


def project_file(project: Project) -> Path:
    return project.path(*PROJECT_FILE)


def load(project: Project | None, flags: Mapping[str, Any] | None = None) -> Loaded:
    """Load all settings. `flags` are values from the command line; None counts as not set."""
    known = list_keys()
    values: dict[str, Any] = {}
    origins = {name: Origin("default") for name in known}
    warnings = list(_warn_of_unknown_variables(known))
    own = None
    with contextlib.suppress(ConfigError):  # without a home directory there is no user's file
        own = user_file()
    for key, value, where in _read_file(own, known):
        values[key.name] = validate(key, value, where)
        origins[key.name] = Origin("user", where)
    weaker: list[Item] = []
    ignored: dict[str, Ignored] = {}
    if project is not None:
        for key, found, where in _read_file(project_file(project), known, warnings):
            value = found if key.user_only else validate(key, found, where)
            why = _find_objection(project, key, value, values, weaker)
            if why:
                ignored[key.name] = Ignored(value, where, why)
                warnings.append(f"{where}: {key.name} is ignored: {why}")
            else:
                values[key.name] = value
                origins[key.name] = Origin("project", where)
    for key in known.values():
        variable = os.environ.get(key.variable)
        if variable is not None:
            values[key.name] = parse_value(key, variable, f"${key.variable}")
            origins[key.name] = Origin("environment", key.variable)
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = validate(known[name], value, "the command line")
            origins[name] = Origin("flag")
    return Loaded(_build(values), origins, tuple(warnings), ignored, tuple(weaker))


def _read_file(
    path: Path | None, known: Mapping[str, Key], warnings: list[str] | None = None
) -> Iterator[tuple[Key, Any, str]]:
    """Yield the settings of a file with their places.

    One that is not known is added to the warnings, where a list is given: a project's file is
    shared with people whose kedge is newer or older. In the user's own it is a mistake.
    """
    text = "" if path is None else read_text(path)
    if path is None or not text:
        return
    unknown = 0
    for names, value in _flatten(parse_toml(path, text)):
        name = _join_names(names)
        if name in known or warnings is None:
            where = _locate(path, text, names)
            yield find_key(name, where), value, where
            continue
        unknown += 1
        if unknown <= _MOST_UNKNOWN:  # to find the place takes time
            near = _find_near(name, known)
            advice = f": did you mean {near!r}?" if near else ""
            where = _locate(path, text, names)
            warnings.append(f"{where}: unknown setting {name!r} is ignored{advice}")
    if warnings is not None and unknown > _MOST_UNKNOWN:
        warnings.append(f"{path}: {unknown - _MOST_UNKNOWN} more unknown settings are ignored")


def _find_objection(
    project: Project, key: Key, value: Any, users: Mapping[str, Any], weaker: list[Item]
) -> str:
    """Return why a project may not set the value: what the user set can only be made stricter,
    and so can the default, unless the user approved the value for this repository."""
    if key.user_only:
        return "it can only be set in the user's file"
    if key.name in users:
        mine = users[key.name]
        why = f"yours is {_describe(mine)}, and a project can only be stricter"
        return why if key.is_weaker(value, mine) else ""
    if not key.is_weaker(value, key.default):
        return ""
    from kedge.host.approvals import SETTING, Approvals, Item

    weaker.append(Item(SETTING, key.describe(value), key.name))
    if Approvals(project).has(SETTING, key.describe(value)):
        return ""
    return f"it is weaker than {_describe(key.default)}, and you have not approved it (kedge trust)"


def _describe(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_key(name: str, where: str | None = None) -> Key:
    known = list_keys()
    if name not in known:
        near = _find_near(name, known)
        raise ConfigError(
            f"{f'{where}: ' if where else ''}unknown setting {name!r}",
            hint=f"did you mean {near!r}?" if near else "kedge config show lists all settings",
        )
    return known[name]


def parse_value(key: Key, text: str, where: str) -> Any:
    """Parse a value from the environment or the command line."""
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
    return validate(key, value, where)


def validate(key: Key, value: Any, where: str) -> Any:
    """Return the value in the setting's type; raise ConfigError if it is not accepted."""
    if key.type is float and type(value) is int:
        with contextlib.suppress(OverflowError):
            value = float(value)
    if key.type is tuple and type(value) is list:
        value = tuple(dict.fromkeys(value)) if all(type(i) is str for i in value) else value
    wrong = None
    if type(value) is not key.type:
        wrong = f"must be {_TYPES[key.type]}, not {shorten(repr(value), 80)}"
    elif isinstance(value, tuple):
        unknown = [item for item in value if key.choices and item not in key.choices]
        wrong = f"cannot contain {shorten(repr(unknown[0]), 80)}" if unknown else None
    elif isinstance(value, str) and not _is_storable(value):
        wrong = "must be UTF-8 without NUL"
    elif key.choices and value not in key.choices:
        wrong = f"cannot be {shorten(repr(value), 80)}"
    elif key.check is not None:
        wrong = key.check(value)
    if wrong is not None:
        hint = "one of " + ", ".join(key.choices) if key.choices else key.help
        raise ConfigError(f"{where}: {key.name} {wrong}", hint=hint)
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


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Parse a TOML file; raise ConfigError with the line of a mistake."""
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
            hint="fix that line; kedge has not changed the file",
        ) from error
    except (ValueError, RecursionError) as error:
        what = "a number is too long" if isinstance(error, ValueError) else "nested too deeply"
        hint = "fix the file; kedge has not changed it"
        raise ConfigError(f"{path}: {what}", hint=hint) from error


def _flatten(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for section, group in data.items():
        if isinstance(group, dict):
            for name, value in group.items():
                yield (section, name), value
        else:
            yield (section,), group


def _join_names(names: tuple[str, ...]) -> str:
    """Join names with dots as TOML writes them: a name that contains a dot is quoted."""
    return ".".join(f'"{name}"' if "." in name else name for name in names)


def _find_near(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.5)), None)


def _locate(path: Path, text: str, names: tuple[str, ...]) -> str:
    """Return the file and line of a setting."""
    from kedge.host.toml_edit import line_of

    return f"{path}:{line_of(text.removeprefix(_BOM), names)}"


def _is_storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _build(values: Mapping[str, Any]) -> Settings:
    changed: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        changed.setdefault(section, {})[key] = value
    defaults = Settings()
    sections = {name: replace(getattr(defaults, name), **new) for name, new in changed.items()}
    return replace(defaults, **sections)


def _warn_of_unknown_variables(known: Mapping[str, Key]) -> tuple[str, ...]:
    """Return a warning for each variable that looks like a setting and is not one."""
    expected = {key.variable for key in known.values()} | {HOME_VARIABLE}
    sections = tuple({f"KEDGE_{name.partition('.')[0].upper()}_" for name in known})
    return tuple(
        f"${name} is not a setting of kedge"
        for name in sorted(os.environ)
        if name not in expected and name.startswith(sections)
    )

"""The command line of the fake bd: `python -m fake_bd COMMAND …`."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

from fake_bd.commands import COMMANDS, init
from fake_bd.database import FILE, BdError, Issue, IssueDatabase


def parse(spec: str, words: list[str]) -> tuple[Issue, list[str]]:
    """Return flags and arguments, parsed as by bd: a value may begin with a dash."""
    kinds, letters, flags = {}, {}, dict[str, Any]()
    for word in f"{spec} json! actor quiet,q!".split():
        name, _, letter = word.rstrip("!*+").partition(",")
        kinds[name], letters[letter] = word[-1], name
    args: list[str] = []
    rest = list(words)
    while rest and (word := rest.pop(0)) != "--":
        if word == "-" or not word.startswith("-"):
            args.append(word)
            continue
        name, given, value = word[2:].partition("=")
        if not word.startswith("--"):
            name, given, value = letters.get(word[1], ""), word[2:], word[2:]
        if name not in kinds:
            raise BdError(f"unknown flag: {word.partition('=')[0]}", plain=True)
        if kinds[name] != "!" and not given:
            if not rest:
                raise BdError(f"flag needs an argument: {word}", plain=True)
            value = rest.pop(0)
        if kinds[name] in "*+":
            more = next(csv.reader([value]), []) if kinds[name] == "*" else [value]
            flags[name] = [*flags.get(name, []), *more]
        else:
            flags[name] = value
    return flags, [*args, *rest]


def run(words: list[str]) -> Any:
    name = next((n for n in (" ".join(words[:2]), " ".join(words[:1])) if n in COMMANDS), None)
    if name is None:
        raise BdError(f'unknown command "{" ".join(words[:1])}" for "bd"', plain=True)
    command, spec = COMMANDS[name]
    flags, args = parse(spec, words[len(name.split()) :])
    if command is init:
        return init(IssueDatabase(Path(":memory:")), flags, args)
    places = [folder / FILE for folder in (Path.cwd(), *Path.cwd().parents)]
    file = next((place for place in places if place.exists()), None)
    if file is None:
        hint = "run 'bd where' to inspect the workspace, or 'bd init' to create a new database"
        raise BdError("no beads database found", hint=hint, plain=True)
    database = IssueDatabase(file)
    database.db.execute("BEGIN IMMEDIATE")
    answer = command(database, flags, args)
    database.db.execute("COMMIT")
    return answer


def main(words: list[str]) -> int:
    code = 0
    try:
        answer = run(words)
    except BdError as error:
        if "--json" not in words or error.plain:
            sys.stderr.write(f"Error: {error}\n" + (f"Hint: {error.hint}\n" if error.hint else ""))
            return 1
        code, answer = 1, {"error": str(error)}
    if answer is not None and "--json" in words:
        if os.environ.get("BD_JSON_ENVELOPE") == "1":
            answer = {"schema_version": 1, "data": answer}
        elif isinstance(answer, dict):
            answer = {**answer, "schema_version": 1}
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

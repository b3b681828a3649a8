"""The tools: name, description, input schema, and the kedge command that each one runs.

A tool is the command itself, so budgets, redaction and rules are the command's. Descriptions are
sent with every request of a client, so they are short.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Arguments = Mapping[str, Any]
Schema = dict[str, Any]

STDIN = "-"  # instead of an option


@dataclass(frozen=True, slots=True)
class Call:
    """A command to run: its words after `kedge --json`, and its standard input."""

    words: Sequence[str]
    input: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    properties: Mapping[str, Schema]
    required: Sequence[str]
    make_call: Callable[[Arguments], Call]
    choose: Callable[[Any], dict[str, Any]]  # what the model gets of the command's data
    reads_only: bool = False

    @property
    def schema(self) -> Schema:
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def describe(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.schema,
            "annotations": {"readOnlyHint": self.reads_only, "openWorldHint": False},
        }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def _number(description: str) -> Schema:
    return {"type": "integer", "minimum": 1, "description": description}


def _options(arguments: Arguments, names: Mapping[str, str]) -> list[str]:
    """Return the options that are given; a value is part of its word and cannot be an option."""
    words = []
    for name, option in names.items():
        value = arguments.get(name)
        if option == STDIN:
            continue
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            words += [f"{option}={each}" for each in values]
    return words


def _command(words: str, *positional: str, **options: str) -> Callable[[Arguments], Call]:
    """Return the maker of a call from its positional arguments and its options.

    The argument with the option `-` becomes the standard input.
    """

    def make_call(arguments: Arguments) -> Call:
        found = [arguments[name] for name in positional if name in arguments]
        line = [*words.split(), *_options(arguments, options), *(["--", *found] if found else [])]
        return Call(line, "".join(arguments[name] for name in options if options[name] == STDIN))

    return make_call


def _keep(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda data: {name: data[name] for name in names if name in data}


def _keep_all(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {"items": data}


_BRIEF = ("id", "title", "type", "priority", "status", "epic")
_TASK = _text("The task's id.")
_AGENT = _text("Your role: implementer, reviewer or validator.")
_TOKENS = _number("The token budget.")


def _keep_brief(data: Any) -> dict[str, Any]:
    return {"tasks": [_keep(*_BRIEF)(task) for task in data]}


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "code_map",
            "Ranked map of this repository: the most important files, classes and functions with "
            "lines. Give the text of a task, question or error to rank for it.",
            {"text": _text("What you look for."), "tokens": _TOKENS},
            (),
            _command("map", text="--for", tokens="--tokens"),
            _keep("text"),
            reads_only=True,
        ),
        Tool(
            "anchor",
            "What matters for a task right now: criteria, limits, git state, lessons. Call it when "
            "you lost the thread.",
            {"task": _text("The task's id; by default the one in progress."), "tokens": _TOKENS},
            (),
            _command("anchor", "task", tokens="--tokens"),
            _keep("text"),
            reads_only=True,
        ),
        Tool(
            "task_ready",
            "Tasks that can be started, most urgent first.",
            {"limit": _number("At most this many.")},
            (),
            _command("task ready", limit="--limit"),
            _keep_brief,
            reads_only=True,
        ),
        Tool(
            "task_show",
            "One task in full.",
            {"task": _TASK},
            ("task",),
            _command("task show", "task"),
            _keep_all,
            reads_only=True,
        ),
        Tool(
            "task_claim",
            "Claim a task before your first edit for it.",
            {"task": _TASK},
            ("task",),
            _command("task claim", "task"),
            _keep(*_BRIEF),
        ),
        Tool(
            "task_close",
            "Close a task. Its checks run, and it stays open while one is red.",
            {
                "task": _TASK,
                "reason": _text("What was done, or why it failed."),
                "failed": _flag("Give the task up."),
                "tried": _texts("What was tried."),
                "avoid": _texts("What the next attempt should avoid."),
            },
            ("task", "reason"),
            _command(
                "task close",
                "task",
                reason="--reason",
                failed="--failed",
                tried="--tried",
                avoid="--avoid",
            ),
            _keep(*_BRIEF),
        ),
        Tool(
            "limit_record",
            "Record what the user ruled out, in any language, before your first change.",
            {
                "quote": _text("The user's own words, copied from one message."),
                "only": _texts("Change nothing outside of these paths."),
                "forbid": _texts("Do not change these paths."),
                "no_read": _texts("Do not read these paths."),
                "no": _texts(
                    "Acts: push, commit, install, new-files, delete, run, run:COMMAND, tool:NAME …"
                ),
                "keep_api": _flag("Keep exported names and signatures."),
                "target": _texts("Act only on this environment, branch or host."),
                "except": _texts("Paths or packages that are free."),
                "ask_first": _flag("Allowed after asking the user."),
            },
            ("quote",),
            _command(
                "drift limit add",
                quote="--quote",
                only="--only",
                forbid="--forbid",
                no_read="--no-read",
                no="--no",
                keep_api="--keep-api",
                target="--target",
                ask_first="--ask-first",
                **{"except": "--except"},
            ),
            _keep_all,
        ),
        Tool(
            "handoff_begin",
            "Begin your role on a task, if the working tree is what the previous agent left.",
            {"task": _TASK, "agent": _AGENT},
            ("task", "agent"),
            _command("context begin", "task", agent="--agent"),
            _keep_all,
        ),
        Tool(
            "handoff_snapshot",
            "Record the working tree that you leave to the next agent.",
            {"task": _TASK, "agent": _AGENT},
            ("task", "agent"),
            _command("context snapshot", "task", agent="--agent"),
            _keep_all,
        ),
        Tool(
            "handoff_verify",
            "Compare the working tree with what the last agent left.",
            {"task": _TASK, "agent": _text("Compare with this agent's snapshot.")},
            ("task",),
            _command("context verify", "task", agent="--agent"),
            _keep_all,
            reads_only=True,
        ),
        Tool(
            "report_append",
            "Add your report on a task to the implementation log, for the reviewers.",
            {"task": _TASK, "report": _text("The report, in Markdown.")},
            ("task", "report"),
            _command("log append", "task", report=STDIN),
            _keep("task", "attempt", "added", "missing"),
        ),
        Tool(
            "lessons",
            "Lessons of this project that are relevant to a text, a task or paths.",
            {
                "text": _text("What you are about to do."),
                "task": _TASK,
                "paths": _texts("Files you are about to change."),
            },
            (),
            _command("knowledge list", text="--for", task="--task", paths="--path"),
            _keep_all,
            reads_only=True,
        ),
        Tool(
            "past_steps",
            "What agents did before to these files, or for these words, with their reasoning.",
            {"paths": _texts("Files."), "text": _text("Words of the goal.")},
            (),
            _command("drift recall", paths="--path", text="--for"),
            _keep_all,
            reads_only=True,
        ),
    )
}


def render(tool: Tool, data: Any, warnings: Sequence[str]) -> str:
    """Return a command's data for the model: its text if that is what the tool is for, or JSON.

    There is no `structuredContent` beside it: some clients would give the model both.
    """
    chosen = tool.choose(data)
    if isinstance(chosen.get("text"), str):
        lines = [chosen["text"].rstrip("\n"), *(f"warning: {one}" for one in warnings)]
        return "\n".join(lines) + "\n"
    if warnings:
        chosen = {**chosen, "warnings": list(warnings)}
    return json.dumps(chosen, ensure_ascii=False)

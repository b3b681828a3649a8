"""The script of a model: its turns, and which turn answers which request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from kedge.agents.scripted_model.request import Request

# Without these tags Claude Code asks for the summary a second time.
SUMMARY = "<summary>The work goes on as asked.</summary>"
DONE = "Done."
# The answer to Gemini's question which model is to take a prompt, or how hard the prompt is.
ROUTE = (
    '{"reasoning": "", "model_choice": "pro", "complexity_reasoning": "", "complexity_score": 9}'
)
_TOOL = ("tool", "input", "id", "namespace")


@dataclass(frozen=True)
class Tool:
    """A tool call. For Codex a string as `input` makes it the call of a custom tool.

    Codex calls a tool of an MCP server by its name in the server's `namespace`.
    """

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""
    namespace: str = ""


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str = "c2lnbmVk"


Block = str | Tool | Thinking


@dataclass(frozen=True)
class Turn:
    """One answer of the model, or an error instead.

    A `status` other than 200 answers with an error and `headers`; `drop` closes the connection
    without an answer. `error` sends an error of that type inside the stream, and `cut` breaks the
    stream off: after `after` events, or else after all blocks and before the end.
    """

    blocks: tuple[Block, ...] = ()
    input_tokens: int = 1000
    output_tokens: int = 50
    before: float = 0.0  # seconds before the first byte
    between: float = 0.0  # seconds between events
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "the script says so"
    drop: bool = False
    error: str = ""
    cut: bool = False
    after: int | None = None

    @property
    def tools(self) -> list[Tool]:
        return [block for block in self.blocks if isinstance(block, Tool)]


Step = str | Mapping[str, Any] | Turn
Script = Sequence[Step] | Callable[[Request], Step]


def parse_turn(step: Step) -> Turn:
    """Return a turn from its short forms.

    A string is text. A mapping has the fields of `Turn`; instead of `blocks` it may have `text`,
    `tool` with `input`, `id` and `namespace`, and `tools`, a list of the same.
    """
    if isinstance(step, Turn):
        return step
    if isinstance(step, str):
        return Turn((step,))
    if not isinstance(step, Mapping):
        raise ValueError(f"a turn must be a string or an object, not {step!r}")
    rest = dict(step)
    blocks = [_block(one) for one in rest.pop("blocks", ())]
    if "text" in rest:
        blocks.append(str(rest.pop("text")))
    if "tool" in rest:
        blocks.append(_block({k: rest.pop(k) for k in _TOOL if k in rest}))
    blocks.extend(_block(one) for one in rest.pop("tools", ()))
    unknown = sorted(rest.keys() - {one.name for one in fields(Turn)})
    if unknown:
        raise ValueError(f"a turn has no field {', '.join(unknown)}")
    return Turn(tuple(blocks), **rest)


def _block(value: Any) -> Block:
    if isinstance(value, str | Tool | Thinking):
        return value
    if isinstance(value, Mapping):
        for name, make in (("text", str), ("thinking", Thinking), ("tool", Tool)):
            if name in value:
                rest = {key: one for key, one in value.items() if key != name}
                try:
                    return make(value[name], **rest)
                except TypeError:
                    break
    raise ValueError(f"not a block of a turn: {value!r}")


class Player:
    """Plays one script to the main conversation and one to all subagents.

    A request for a summary or for a title uses up no turn. After the end of a script the answer is
    `DONE`, which ends the agent's turn.
    """

    def __init__(self, main: Script, subagent: Script = (), summary: Step = SUMMARY) -> None:
        # Parsed at once, so that a mistake in a script shows before an agent runs.
        self._scripts = {"main": _parse(main), "subagent": _parse(subagent)}
        self._summary = parse_turn(summary)

    def answer(self, request: Request) -> Turn:
        if request.kind == "compaction":
            return self._summary
        if request.kind == "aside":
            return parse_turn(ROUTE if request.api == "gemini" else DONE)
        script = self._scripts[request.kind]
        if callable(script):
            return parse_turn(script(request))
        return script.pop(0) if script else parse_turn(DONE)

    @property
    def left(self) -> int:
        """The number of turns that were not played."""
        return sum(len(one) for one in self._scripts.values() if not callable(one))


def _parse(script: Script) -> list[Turn] | Callable[[Request], Step]:
    return script if callable(script) else [parse_turn(step) for step in script]

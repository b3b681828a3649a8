"""What the model says: turns, and which turn answers which request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from kedge.testing.fake_model.request import Request

# Claude Code asks a second time for a summary without these tags.
SUMMARY = "<summary>The work goes on as asked.</summary>"
DONE = "Done."


@dataclass(frozen=True)
class Tool:
    """A call of a tool. For Codex an `input` that is a string makes the call of a custom tool."""

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Thinking:
    text: str
    signature: str = "c2lnbmVk"


Block = str | Tool | Thinking


@dataclass(frozen=True)
class Turn:
    """One answer, or what goes wrong instead of it.

    `status` other than 200 answers with an error and `headers`; `drop` closes the connection
    without a word. `error` sends an error of that type inside the stream, and `cut` ends the
    stream there: after `after` events, or else when all blocks are sent and the end is not.
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


def turn(step: Step) -> Turn:
    """A turn from its short forms.

    A string is text. A mapping has the fields of `Turn`, and in place of `blocks` it may have
    `text`, `tool` with `input`, and `tools`, a list of the same.
    """
    if isinstance(step, Turn):
        return step
    if isinstance(step, str):
        return Turn((step,))
    if not isinstance(step, Mapping):
        raise ValueError(f"a turn is a text or an object, not {step!r}")
    rest = dict(step)
    blocks = [_block(one) for one in rest.pop("blocks", ())]
    if "text" in rest:
        blocks.append(str(rest.pop("text")))
    if "tool" in rest:
        blocks.append(_block({k: rest.pop(k) for k in ("tool", "input", "id") if k in rest}))
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
    raise ValueError(f"not a part of a turn: {value!r}")


class Player:
    """Plays one script to the main conversation and one to all subagents.

    A summary that an agent asks for uses up no turn. Past a script's end the answer is `DONE`,
    which ends an agent's turn.
    """

    def __init__(self, main: Script, subagent: Script = (), summary: Step = SUMMARY) -> None:
        # All is read at once, so that a mistake in a script is seen before an agent runs.
        self._scripts = {"main": _read(main), "subagent": _read(subagent)}
        self._summary = turn(summary)

    def answer(self, request: Request) -> Turn:
        if request.kind == "compaction":
            return self._summary
        script = self._scripts[request.kind]
        if callable(script):
            return turn(script(request))
        return script.pop(0) if script else turn(DONE)

    @property
    def left(self) -> int:
        """How many turns nobody has asked for."""
        return sum(len(one) for one in self._scripts.values() if not callable(one))


def _read(script: Script) -> list[Turn] | Callable[[Request], Step]:
    return script if callable(script) else [turn(step) for step in script]

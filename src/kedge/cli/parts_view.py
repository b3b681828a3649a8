"""How a text made of parts within a budget is explained: what each costs, what was cut and why."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.cli.plain import table
from kedge.context.budget import Given


def explained(
    parts: Sequence[Given], tokens: int, budget: int, unchanged: Sequence[str] = ()
) -> str:
    rows = [(one.part.source, str(one.tokens), str(one.cut or ""), one.why) for one in parts]
    rows += [(source, "0", "", "as in the last anchor") for source in unchanged]
    rows.append(("all", str(tokens), "", f"of {budget}"))
    return table(("source", "tokens", "cut", "why"), rows)

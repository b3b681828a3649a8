"""How a token budget was spent: the tokens of each part, what was cut and why."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.cli.plain import table
from kedge.context.budget import FittedPart


def explain_budget(
    parts: Sequence[FittedPart], tokens: int, budget: int, unchanged: Sequence[str] = ()
) -> str:
    rows = [(one.part.source, str(one.tokens), str(one.cut or ""), one.why) for one in parts]
    rows += [(source, "0", "", "same as in the last anchor") for source in unchanged]
    rows.append(("all", str(tokens), "", f"of {budget}"))
    return table(("source", "tokens", "cut", "why"), rows)

"""Parse external claims: what a reviewer had to look up, and whether it was verified."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kedge.knowledge.answer_json import to_text
from kedge.knowledge.reviews.records import Claim

UNNAMED = "an unnamed claim"
NO_SOURCE = "source not given"
_VERIFIED = re.compile(
    r"(?<![A-Za-z])verified\b[^\w:\n]{0,4}:[ \t*_\"]*(?P<claim>[^\n]{3,400}?)[ \t]+"
    r"(?:via|by|using|against)[ \t]+(?P<source>[^\n]{2,200})",
    re.IGNORECASE,
)
_UNABLE = re.compile(
    r"(?:unable to verify|could not (?:be )?verif\w+|cannot verify|\bunverified\b)"
    r"(?P<rest>[^\n]{0,300})",
    re.IGNORECASE,
)
_NONE = re.compile(r"\bno external (?:\w+ ){0,2}claims?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claims:
    """`none` says that the reviewer found no claim to verify."""

    verified: tuple[Claim, ...] = ()
    unverified: tuple[str, ...] = ()
    none: bool = False
    tools_missing: tuple[str, ...] = ()


def claims_in_text(text: str) -> Claims:
    """Return the claims in free text, in the form that reviewers are asked for."""
    verified = [
        Claim(one["claim"].strip(' *_"'), one["source"].strip(' *_."'))
        for one in _VERIFIED.finditer(text)
    ]
    unverified = [_clean_claim(one["rest"]) for one in _UNABLE.finditer(text)]
    none = _NONE.search(text) is not None and not verified and not unverified
    return Claims(tuple(verified), tuple(dict.fromkeys(unverified)), none)


def claims_in_object(value: Mapping[str, Any]) -> Claims:
    """Return the claims in a JSON answer: in fields of their own, else in its strings."""
    text = claims_in_text("\n".join(one for one in value.values() if isinstance(one, str)))
    low = {re.sub(r"[^a-z]", "", key.lower()): one for key, one in value.items()}
    verified: list[Claim] = []
    unverified = _texts(low.get("unverified"))
    for one in low["verified"] if isinstance(low.get("verified"), list) else ():
        item = one if isinstance(one, dict) else {"claim": one}
        claim = to_text(item.get("claim"))
        if claim and item.get("verified", True) is True:
            verified.append(Claim(claim, to_text(item.get("source")) or NO_SOURCE))
        elif claim:
            unverified.append(claim)
    none = text.none or low.get("noexternalclaims") is True
    return Claims(
        tuple(verified) or text.verified,
        tuple(dict.fromkeys(unverified)) or text.unverified,
        none and not verified and not unverified,
        tuple(_texts(low.get("toolsmissing"))),
    )


def _clean_claim(rest: str) -> str:
    """Return the claim that could not be verified, without the standard phrases around it."""
    claim = re.sub(r"(?i)\Aindependently\W*", "", rest.strip(' :—–-*_."'))
    claim = re.sub(r"(?i)\W*(?:flagged for human review|external tools unavailable)\W*", " ", claim)
    return claim.strip() or UNNAMED


def _texts(value: Any) -> list[str]:
    return [text for one in value if (text := to_text(one))] if isinstance(value, list) else []

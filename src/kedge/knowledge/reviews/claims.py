"""Parse external claims: what a reviewer had to look up, and whether it was verified."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
_TOOL = re.compile(
    r"\b(?P<tool>context7|web ?search|web ?fetch)\b[ \w]{0,24}?"
    r"\b(?:unavailable|not available|missing|not there|failed)",
    re.IGNORECASE,
)


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
    tools = [one["tool"] for one in _TOOL.finditer(text)]
    none = _NONE.search(text) is not None and not verified and not unverified
    return Claims(
        tuple(verified), tuple(dict.fromkeys(unverified)), none, tuple(dict.fromkeys(tools))
    )


def claims_in_object(value: Mapping[str, Any]) -> Claims:
    """Return the claims in a JSON answer: in fields of their own, else in its strings."""
    texts = [one for one in value.values() if isinstance(one, str)]
    free_text = claims_in_text("\n".join(texts))
    low = {re.sub(r"[^a-z]", "", key.lower()): one for key, one in value.items()}
    names = ("verified", "verifications", "verification", "verifiedclaims")
    verified = [claim for name in names for claim in _parse_verified(low.get(name))]
    failed = [claim for name in names for claim in _parse_failed(low.get(name))]
    unable = [*failed, *_texts(low.get("unverified")), *_texts(low.get("unverifiedclaims"))]
    tools = [*_texts(low.get("toolsmissing")), *_texts(low.get("missingtools"))]
    tools += _texts(low.get("toolsunavailable"))
    flag = low.get("noexternalclaims") is True
    return Claims(
        tuple(verified) or free_text.verified,
        tuple(dict.fromkeys(unable)) or free_text.unverified,
        (free_text.none or flag) and not verified and not unable,
        tuple(tools) or free_text.tools_missing,
    )


def _clean_claim(rest: str) -> str:
    """Return the claim that could not be verified, without the standard phrases around it."""
    claim = re.sub(r"(?i)\Aindependently\W*", "", rest.strip(' :—–-*_."'))
    claim = re.sub(r"(?i)\W*(?:flagged for human review|external tools unavailable)\W*", " ", claim)
    return claim.strip() or UNNAMED


def _parse_verified(value: Any) -> Iterator[Claim]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, str) and one.strip():
            claim, _, source = one.partition(" via ")
            yield Claim(claim.strip(), source.strip() or NO_SOURCE)
        elif isinstance(one, dict) and not _is_failed(one) and (claim := _claim(one)):
            origin = next((one[key] for key in ("source", "via", "url") if one.get(key)), None)
            yield Claim(claim, to_text(origin) or NO_SOURCE)


def _parse_failed(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and _is_failed(one) and (claim := _claim(one)):
            yield claim


def _is_failed(one: Mapping[str, Any]) -> bool:
    result = one.get("verified", one.get("result", one.get("status", True)))
    return result is False or bool(re.search(r"(?i)\bun|not |fail|false", str(result)))


def _claim(one: Mapping[str, Any]) -> str:
    return to_text(one.get("claim", one.get("text", one.get("description", ""))))


def _texts(value: Any) -> list[str]:
    return [text for one in value if (text := to_text(one))] if isinstance(value, list) else []

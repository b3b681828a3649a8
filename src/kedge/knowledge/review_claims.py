"""Claims about the world outside that a reviewer had to look up, and what became of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kedge.host.record import NamedTuple
from kedge.knowledge.answer_json import words
from kedge.knowledge.reviews import Claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNNAMED = "a claim that is not named"
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


class Claims(NamedTuple):
    """`none` says that the reviewer saw no claim to verify."""

    verified: tuple[Claim, ...] = ()
    unverified: tuple[str, ...] = ()
    none: bool = False
    tools_missing: tuple[str, ...] = ()


def in_text(text: str) -> Claims:
    """The claims in free text, as reviewers are asked to tell them."""
    verified = [
        Claim(one["claim"].strip(' *_"'), one["source"].strip(' *_."'))
        for one in _VERIFIED.finditer(text)
    ]
    unverified = [_untold(one["rest"]) for one in _UNABLE.finditer(text)]
    tools = [one["tool"] for one in _TOOL.finditer(text)]
    none = _NONE.search(text) is not None and not verified and not unverified
    return Claims(
        tuple(verified), tuple(dict.fromkeys(unverified)), none, tuple(dict.fromkeys(tools))
    )


def in_object(value: Mapping[str, Any]) -> Claims:
    """The claims in a JSON answer: in fields of their own, else in its texts."""
    texts = [one for one in value.values() if isinstance(one, str)]
    told = in_text("\n".join(texts))
    low = {re.sub(r"[^a-z]", "", key.lower()): one for key, one in value.items()}
    names = ("verified", "verifications", "verification", "verifiedclaims")
    verified = [claim for name in names for claim in _verified(low.get(name))]
    failed = [claim for name in names for claim in _failed(low.get(name))]
    unable = [*failed, *_texts(low.get("unverified")), *_texts(low.get("unverifiedclaims"))]
    tools = [*_texts(low.get("toolsmissing")), *_texts(low.get("missingtools"))]
    tools += _texts(low.get("toolsunavailable"))
    flag = low.get("noexternalclaims") is True
    return Claims(
        tuple(verified) or told.verified,
        tuple(dict.fromkeys(unable)) or told.unverified,
        (told.none or flag) and not verified and not unable,
        tuple(tools) or told.tools_missing,
    )


def _untold(rest: str) -> str:
    """What could not be verified, without what is always said with it."""
    told = re.sub(r"(?i)\Aindependently\W*", "", rest.strip(' :—–-*_."'))
    told = re.sub(r"(?i)\W*(?:flagged for human review|external tools unavailable)\W*", " ", told)
    return told.strip() or UNNAMED


def _verified(value: Any) -> Iterator[Claim]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, str) and one.strip():
            claim, _, source = one.partition(" via ")
            yield Claim(claim.strip(), source.strip() or "not said")
        elif isinstance(one, dict) and not _is_failed(one) and (claim := _claim(one)):
            found = next((one[key] for key in ("source", "via", "url") if one.get(key)), None)
            yield Claim(claim, words(found) or "not said")


def _failed(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict) and _is_failed(one) and (claim := _claim(one)):
            yield claim


def _is_failed(one: Mapping[str, Any]) -> bool:
    said = one.get("verified", one.get("result", one.get("status", True)))
    return said is False or bool(re.search(r"(?i)\bun|not |fail|false", str(said)))


def _claim(one: Mapping[str, Any]) -> str:
    return words(one.get("claim", one.get("text", one.get("description", ""))))


def _texts(value: Any) -> list[str]:
    return [told for one in value if (told := words(one))] if isinstance(value, list) else []

"""Where each provider's API is, and whether a URL is fit to be one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from kedge.errors import ConfigError
from kedge.proxy.routes import ANTHROPIC, GEMINI, OPENAI, PROVIDERS
from kedge.settings import ServeSettings

# what clients read their base URL from, in the environment
VARIABLES: Mapping[str, str] = {
    ANTHROPIC: "ANTHROPIC_BASE_URL",
    OPENAI: "OPENAI_BASE_URL",
    GEMINI: "GOOGLE_GEMINI_BASE_URL",
}
_DEFAULTS: Mapping[str, str] = {
    ANTHROPIC: "https://api.anthropic.com",
    OPENAI: "https://api.openai.com",
    GEMINI: "https://generativelanguage.googleapis.com",
}
VERSION = "/v1"  # which OPENAI_BASE_URL has at its end, and the other variables have not


def choose_upstreams(
    settings: ServeSettings,
    flag: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Return the URL of each provider: the flag's, the user's setting, the environment's, or the
    provider's own. A project's files have no say in it."""
    return {name: _choose(name, settings, flag, environment) for name in PROVIDERS}


def _choose(
    name: str, settings: ServeSettings, flag: str | None, environment: Mapping[str, str]
) -> str:
    variable = VARIABLES[name]
    given = environment.get(variable, "")
    if name == OPENAI:
        given = given.rstrip("/").removesuffix(VERSION)
    for url, where in (
        (flag, "--upstream"),
        (getattr(settings, name), f"serve.{name}"),
        (given, f"${variable}"),
    ):
        if url:
            _check(url, where)
            return url.rstrip("/")
    return _DEFAULTS[name]


def _check(url: str, where: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        hint = "give one such as https://api.anthropic.com"
        raise ConfigError(f"{where} is not an http or https URL", hint=hint)
    if parts.username or parts.password or parts.query or parts.fragment:
        hint = "give the address alone; keys stay with the client"
        raise ConfigError(f"{where} has a user, a query or a fragment", hint=hint)

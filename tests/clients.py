"""The real agent clients, run against a model server on 127.0.0.1 and nothing else.

They get a clean environment, a home below the test's directory and no standard input. Their
processes are ended with them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from kedge.host import proc
from kedge.testing.fake_model import FakeModel, Script

PROGRAMS = Path(sys.prefix, "clients", "node_modules", ".bin")
Event = dict[str, Any]
PATIENCE = 120.0  # seconds: a guard against hanging, not a measurement


def program(name: str) -> Path:
    """Return the client that `tools/clients` installed. If it is missing, skip, or fail in CI."""
    path = PROGRAMS / name
    if not path.exists():
        missing = f"{name} is not installed: run tools/clients {Path(sys.prefix).name}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return path


@dataclass(frozen=True)
class Session:
    """How a run of a client ended, with the events that it printed."""

    code: int
    events: list[Event]
    err: str
    seconds: float

    def of(self, kind: str, subtype: str = "") -> list[Event]:
        """Return the events of a type, and of a subtype if one is given."""
        return [
            event
            for event in self.events
            if event.get("type") == kind and subtype in ("", event.get("subtype"))
        ]

    @cached_property
    def id(self) -> str:
        """The id of the session, to resume it."""
        return next(str(event[key]) for event in self.events for key in _IDS if key in event)

    @cached_property
    def text(self) -> str:
        """The agent's last message."""
        texts = [event["result"] for event in self.of("result") if "result" in event]
        items = [event["item"] for event in self.of("item.completed")]
        texts += [item["text"] for item in items if item["type"] == "agent_message"]
        return str(texts[-1]) if texts else ""


_IDS = ("session_id", "thread_id")


class Client:
    """A client with its own home directory, which lasts for several calls."""

    name: str

    def __init__(self, home: Path) -> None:
        self.program = program(self.name)
        self.home = home
        (home / "tmp").mkdir(parents=True, exist_ok=True)

    def run(
        self, args: list[str], cwd: Path, env: Mapping[str, str], timeout: float, code: int | None
    ) -> Session:
        done = proc.run(
            [self.program, *args],
            cwd=cwd,
            env={**environment(self.home), **env},
            timeout=timeout,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert not done.timed_out, f"{self.name} took more than {timeout} s:\n{out}\n{err}"
        events = [json.loads(line) for line in out.split("\n") if line]
        session = Session(done.code, events, err, done.seconds)
        if code is not None:
            assert session.code == code, session
        return session


def environment(home: Path) -> dict[str, str]:
    """Return the whole environment of a client, without keys or proxies of the caller."""
    # The state is where kedge keeps what the user has approved.
    inherited = ("TESTS_OF_KEDGE", "GIT_AUTHOR_", "GIT_COMMITTER_", "XDG_STATE_HOME")
    return {
        **{name: value for name, value in os.environ.items() if name.startswith(inherited)},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
    }


class Claude(Client):
    """`claude -p`: edits are accepted, other tools as the flags allow."""

    name = "claude"

    def __call__(
        self,
        url: str,
        prompt: str,
        *flags: str,
        cwd: Path,
        settings: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        code: int | None = 0,
    ) -> Session:
        args = ["-p", prompt, "--output-format", "stream-json", "--verbose"]
        if "--permission-mode" not in flags:
            args += ["--permission-mode", "acceptEdits"]
        if settings is not None:
            args += ["--settings", json.dumps(settings)]
        own = {
            "ANTHROPIC_API_KEY": "sk-ant-dummy",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "CLAUDE_CODE_TMPDIR": str(self.home / "tmp"),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            **(env or {}),
        }
        return self.run([*args, *flags], cwd, own, timeout, code)


class Codex(Client):
    """`codex exec` without approvals and sandbox. `trusted` applies to the project's .codex.

    The server's address is passed with each call, so config.toml belongs to the test and Codex.
    """

    name = "codex"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.codex_home = home / ".codex"
        self.codex_home.mkdir(exist_ok=True)

    def __call__(
        self,
        url: str,
        prompt: str,
        *flags: str,
        cwd: Path,
        resume: str = "",
        trusted: bool = True,
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        code: int | None = 0,
    ) -> Session:
        place = json.dumps(str(cwd.resolve()))
        level = "trusted" if trusted else "untrusted"
        settings = {
            "model": '"gpt-5.5-codex"',
            "model_provider": '"fake"',
            "model_providers.fake.name": '"fake"',
            "model_providers.fake.base_url": f'"{url}/v1"',
            "model_providers.fake.env_key": '"FAKE_KEY"',
            "model_providers.fake.wire_api": '"responses"',
            "model_providers.fake.request_max_retries": "1",
            "model_providers.fake.stream_max_retries": "1",
            "analytics.enabled": "false",
            "check_for_update_on_startup": "false",
            "features.daemon_auto_start": "false",
            "projects": f'{{{place} = {{trust_level = "{level}"}}}}',
        }
        args = ["exec", *(["resume"] if resume else []), "--json"]
        args.append("--dangerously-bypass-approvals-and-sandbox")
        for key, value in settings.items():
            args += ["-c", f"{key}={value}"]
        args += [*flags, *([resume] if resume else []), prompt]
        return self.run(args, cwd, {**self.own, **(env or {})}, timeout, code)

    @property
    def own(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.codex_home), "FAKE_KEY": "sk-dummy"}

    def hooks(self, cwd: Path) -> list[Event]:
        """Return the hooks that Codex sees, each with its key, currentHash and trustStatus."""
        return [hook for project in self.read_projects(cwd) for hook in project["hooks"]]

    def read_projects(self, cwd: Path) -> list[Event]:
        """Return what Codex knows of hooks here: `hooks`, and `warnings` about their settings."""
        about = {"clientInfo": {"name": "tests", "version": "0"}}
        calls: list[Event] = [
            {"id": 1, "method": "initialize", "params": about},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": [str(cwd.resolve())]}},
        ]
        # It ends when its standard input is closed, so that stays open until the answer is there.
        child = subprocess.Popen(
            [self.program, "app-server"],
            cwd=cwd,
            env={**environment(self.home), **self.own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert child.stdin is not None and child.stdout is not None
        late = threading.Timer(PATIENCE, child.kill)
        late.start()
        try:
            child.stdin.write(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
            child.stdin.flush()
            answers = (json.loads(line) for line in child.stdout)
            projects = next(one["result"]["data"] for one in answers if one.get("id") == 2)
        finally:
            late.cancel()
            proc.end_group(child, 0)
        return list(projects)


class Copilot(Client):
    """`copilot -p` with all tools allowed, in a trusted folder."""

    name = "copilot"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        cache = home / ".cache" / "copilot"
        if not cache.exists():
            cache.parent.mkdir(parents=True, exist_ok=True)
            cache.symlink_to(PROGRAMS.parent.parent / "copilot-cache")

    def __call__(
        self,
        url: str,
        prompt: str,
        *flags: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        code: int | None = 0,
    ) -> Session:
        args = ["-p", prompt, "--allow-all-tools", "--trust-folder", "--output-format", "json"]
        return self.run([*args, *flags], cwd, {**self.own(url), **(env or {})}, timeout, code)

    def own(self, url: str) -> dict[str, str]:
        return {
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_MODEL": "claude-sonnet-4.6",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_API_KEY": "sk-dummy",
            "COPILOT_PROVIDER_BASE_URL": url,
            "COPILOT_PROVIDER_TYPE": "anthropic",
        }


class Gemini(Client):
    """`gemini -p` that approves every call, in a folder that the environment trusts."""

    name = "gemini"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
        }
        (home / ".gemini").mkdir(exist_ok=True)
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))

    def __call__(
        self,
        url: str,
        prompt: str,
        *flags: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        code: int | None = 0,
    ) -> Session:
        args = ["-p", prompt, "-m", "gemini-2.5-pro", "-o", "stream-json"]
        args += ["--approval-mode", "yolo", *flags]
        return self.run(args, cwd, {**self.own(url), **(env or {})}, timeout, code)

    def own(self, url: str) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GOOGLE_GEMINI_BASE_URL": url,
        }


class Opencode(Client):
    """`opencode run`, with its settings in the environment; more settings are merged in.

    Unless it is `pure`, it loads plugins.
    """

    name = "opencode"

    def __call__(
        self,
        url: str,
        prompt: str,
        *flags: str,
        cwd: Path,
        settings: Mapping[str, Any] | None = None,
        pure: bool = True,
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
        code: int | None = 0,
    ) -> Session:
        every = {**self.settings(url), **(settings or {})}
        own = {**self.own(url), "OPENCODE_CONFIG_CONTENT": json.dumps(every)}
        own["npm_config_offline"] = "true"  # the packages that it installs for plugins
        args = ["run", *(["--pure"] if pure else []), "--format", "json", prompt, *flags]
        return self.run(args, cwd, {**own, **(env or {})}, timeout, code)

    def settings(self, url: str) -> dict[str, Any]:
        model = {
            "tool_call": True,
            "limit": {"context": 200_000, "output": 8_000},
            "cost": {"input": 3, "output": 15},  # dollars for a million tokens
        }
        provider = {
            "npm": "@ai-sdk/anthropic",
            "options": {"baseURL": f"{url}/v1", "apiKey": "sk-dummy"},
            "models": {"m": model},
        }
        return {
            "model": "fake/m",
            "small_model": "fake/m",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"fake": provider},
        }

    def own(self, url: str) -> dict[str, str]:
        """Return the environment; the settings are those of the user, in the home."""
        place = self.home / ".config" / "opencode"
        place.mkdir(parents=True, exist_ok=True)
        (place / "opencode.json").write_text(json.dumps(self.settings(url)))
        # No plugin is installed: that would take seconds, and the network.
        return {"npm_config_fetch_retries": "0", "npm_config_registry": "http://127.0.0.1:9"}


@pytest.fixture
def gemini(tmp_path: Path) -> Gemini:
    return Gemini(tmp_path / "home")


@pytest.fixture
def copilot(tmp_path: Path) -> Copilot:
    return Copilot(tmp_path / "home")


@pytest.fixture
def opencode(tmp_path: Path) -> Opencode:
    return Opencode(tmp_path / "home")


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path / "home")


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return Codex(tmp_path / "home")


@pytest.fixture
def play() -> Iterator[Callable[..., FakeModel]]:
    """Return a function that starts servers, each of which plays a script until the test ends."""
    with ExitStack() as servers:

        def make(script: Script = (), **more: Any) -> FakeModel:
            return servers.enter_context(FakeModel(script, **more))

        yield make

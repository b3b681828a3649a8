"""`kedge serve`: the local server that agents' requests go through."""

from __future__ import annotations

from typing import Any

import click

from kedge import config
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.errors import CheckFound, UsageError
from kedge.proxy import service, upstreams
from kedge.proxy.service import ServiceOptions, ServiceState


@click.command(
    cls=KedgeCommand,
    epilog="It listens on 127.0.0.1 and runs until it is interrupted. kedge exec -- CMD starts an "
    "agent whose requests go through it.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; 0 for any."
)
@click.option(
    "--upstream", metavar="URL", help="Where all requests go, instead of the providers' own APIs."
)
@click.option(
    "--policy",
    type=click.Choice(["off", "observe", "advise", "enforce"]),
    help="The policy of sessions without hooks; drift.policy by default.",
)
@click.option("--no-proxy", is_flag=True, help="Serve without the proxy.")
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End after so long without requests.",
)
@click.option("--status", is_flag=True, help="Show whether it runs; exit code 4 if not.")
@click.option("--stop", is_flag=True, help="End the one that runs.")
def command(
    edge: Edge,
    port: int,
    upstream: str | None,
    policy: str | None,
    no_proxy: bool,
    idle: float | None,
    status: bool,
    stop: bool,
) -> Reply:
    """Judge agents' tool calls before they run, between them and their model."""
    project = edge.project()
    if status and stop:
        raise UsageError("--status cannot be combined with --stop", hint="give one of them")
    if status:
        running = service.find_running(project.home())
        if running is None:
            raise CheckFound("kedge serve does not run here", hint="kedge serve starts it")
        return Reply(_describe(running), _write(running))
    if stop:
        ended = service.stop(project.home())
        if ended is None:
            return Reply({"stopped": False}, "kedge serve does not run here")
        return Reply({"stopped": True, "pid": ended.pid}, f"stopped process {ended.pid}")
    loaded = config.load(project)
    edge.warn(*loaded.warnings)
    options = ServiceOptions(
        port,
        upstreams.choose_upstreams(loaded.settings.serve, upstream),
        policy,
        proxy=not no_proxy,
        idle=idle or 0.0,
    )

    def announce(state: ServiceState) -> None:
        if edge.json:
            edge.stream({"event": "serving", **_describe(state)})
        else:
            edge.say(_write(state))

    reason = service.run(project, options, announce)
    if edge.json:
        edge.stream({"event": "ended", "reason": reason})
    return Reply({"reason": reason}, f"ended: {reason}")


def _describe(state: ServiceState) -> dict[str, Any]:
    return {
        "pid": state.pid,
        "port": state.port,
        "url": state.url,
        "upstreams": dict(state.upstreams),
        "policy": state.policy,
        "proxy": state.proxy,
        "version": state.version,
    }


def _write(state: ServiceState) -> str:
    lines = [f"serving on {state.url} (process {state.pid})"]
    if state.proxy:
        lines += [f"  {name}: {url}" for name, url in sorted(state.upstreams.items())]
        lines.append("  kedge exec -- claude starts an agent whose requests go through it")
    return "\n".join(lines)

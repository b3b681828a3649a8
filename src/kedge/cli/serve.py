"""`kedge serve`: the local server that agents' requests go through."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from kedge import config
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.errors import CheckFound, UsageError
from kedge.host import agent_session
from kedge.host.project import Project
from kedge.proxy import service, unit, upstreams
from kedge.proxy.headers import is_loopback
from kedge.proxy.service import Pages, ServiceOptions, ServiceState
from kedge.web import access


@click.command(
    cls=KedgeCommand,
    epilog="It listens on 127.0.0.1 and runs until it is interrupted. kedge exec -- CMD starts an "
    "agent whose requests go through it.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; 0 for any."
)
@click.option(
    "--host",
    default=service.HOST,
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on. One that other machines reach needs --i-know.",
)
@click.option(
    "--i-know",
    "knows",
    is_flag=True,
    help="Let everybody in who reaches the address: they can send requests through the proxy.",
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
@click.option("--no-dashboard", is_flag=True, help="Serve without the dashboard.")
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End after so long without requests.",
)
@click.option(
    "--install",
    is_flag=True,
    help="Write a unit for systemd or launchd that runs it with these options.",
)
@click.option("--uninstall", is_flag=True, help="Remove that unit.")
@click.option("--status", is_flag=True, help="Show whether it runs; exit code 4 if not.")
@click.option("--stop", is_flag=True, help="End the one that runs.")
def command(
    edge: Edge,
    port: int,
    host: str,
    knows: bool,
    upstream: str | None,
    policy: str | None,
    no_proxy: bool,
    no_dashboard: bool,
    idle: float | None,
    install: bool,
    uninstall: bool,
    status: bool,
    stop: bool,
) -> Reply:
    """Judge agents' tool calls before they run, and show in a browser what agents do."""
    project = edge.project()
    chosen = {"--install": install, "--uninstall": uninstall, "--status": status, "--stop": stop}
    names = [name for name, given in chosen.items() if given]
    if len(names) > 1:
        raise UsageError(f"{names[0]} cannot be combined with {names[1]}", hint="give one of them")
    if status:
        running = service.find_running(project.home())
        if running is None:
            raise CheckFound("kedge serve does not run here", hint="kedge serve starts it")
        link = _link(project, running)
        return Reply(_describe(running, link), _write(running, link))
    if stop:
        ended = service.stop(project.home())
        if ended is None:
            return Reply({"stopped": False}, "kedge serve does not run here")
        return Reply({"stopped": True, "pid": ended.pid}, f"stopped process {ended.pid}")
    if uninstall:
        return _uninstall(project)
    if not is_loopback(host) and not knows:
        raise UsageError(
            f"--host {host} lets other machines send requests through the proxy",
            hint="add --i-know if you want that, or leave --host out",
        )
    loaded = config.load(project)
    edge.warn(*loaded.warnings)
    options = ServiceOptions(
        port,
        upstreams.choose_upstreams(loaded.settings.serve, upstream),
        policy,
        proxy=not no_proxy,
        idle=idle or 0.0,
        host=host,
    )
    if install:
        return _install(project, options, upstream, no_dashboard=no_dashboard)

    def announce(state: ServiceState) -> None:
        link = _link(project, state)
        if edge.json:
            edge.stream({"event": "serving", **_describe(state, link)})
        else:
            edge.say(_write(state, link))

    open_pages = None if no_dashboard else _find_pages(project)
    reason = service.run(project, options, announce, open_pages)
    if edge.json:
        edge.stream({"event": "ended", "reason": reason})
    return Reply({"reason": reason}, f"ended: {reason}")


def _find_pages(project: Project) -> Callable[[], Pages]:
    """Return what opens the dashboard; NotInstalled without the packages that it needs."""

    def open_pages() -> Pages:
        try:
            import jinja2  # noqa: F401
        except ImportError as error:
            raise service.NotInstalled(
                "the dashboard needs jinja2, which is not installed"
            ) from error
        from kedge.web.dashboard import Dashboard

        return Dashboard(project)

    return open_pages


def _link(project: Project, state: ServiceState) -> str:
    """Return the address that opens the dashboard; "" if it is not served, or for an agent."""
    shown = state.pages and agent_session.is_user(os.environ)
    return access.make_link(project.home(), state.url) if shown else ""


def _install(
    project: Project, options: ServiceOptions, upstream: str | None, *, no_dashboard: bool
) -> Reply:
    words = ["--port", str(options.port)] if options.port else []
    words += ["--host", options.host, "--i-know"] if options.host != service.HOST else []
    words += ["--upstream", upstream] if upstream else []
    words += ["--policy", options.policy] if options.policy else []
    words += [] if options.proxy else ["--no-proxy"]
    words += ["--no-dashboard"] if no_dashboard else []
    words += ["--idle", f"{options.idle:g}"] if options.idle else []
    changed = unit.install(project, words)
    found = unit.find_unit(project)
    data = {"path": str(found.path), "changed": changed, "enable": found.enable}
    written = "wrote" if changed else "is there already:"
    return Reply(data, f"{written} {found.path}\n\nNext:\n  {found.enable}")


def _uninstall(project: Project) -> Reply:
    removed = unit.uninstall(project)
    if removed is None:
        return Reply({"path": None}, "there is no unit of kedge serve for this repository")
    service.stop(project.home())
    data = {"path": str(removed.path), "forget": removed.forget}
    return Reply(data, f"removed {removed.path}\n\nNext:\n  {removed.forget}")


def _describe(state: ServiceState, link: str) -> dict[str, Any]:
    return {
        "pid": state.pid,
        "port": state.port,
        "url": state.url,
        "upstreams": dict(state.upstreams),
        "policy": state.policy,
        "proxy": state.proxy,
        "dashboard": link or None,
        "version": state.version,
    }


def _write(state: ServiceState, link: str) -> str:
    lines = [f"serving on {state.url} (process {state.pid})"]
    if state.proxy:
        lines += [f"  {name}: {url}" for name, url in sorted(state.upstreams.items())]
        lines.append("  kedge exec -- claude starts an agent whose requests go through it")
    if link:
        lines.append(f"  dashboard: {link}")
    return "\n".join(lines)

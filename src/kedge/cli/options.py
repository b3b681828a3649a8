"""Options that several command groups share."""

from __future__ import annotations

import click

allow_secret = click.option(
    "--allow-secret",
    "allow",
    multiple=True,
    metavar="ID",
    help="Accept this secret finding; repeatable.",
)

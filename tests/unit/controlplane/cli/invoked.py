"""`kedge` run in this process, its commands built once: Typer's own runner builds all of them for every run."""

import sys
from functools import cache

from typer.main import get_command
from typer.testing import CliRunner, Result

from controlplane.cli.main import app
from controlplane.cli.surroundings import Surroundings

command = cache(lambda: get_command(app))
"""What Typer makes of the app. A run keeps what it knows in a context of its own."""


def kedge(*arguments: str, typed: str = "", around: Surroundings | None = None) -> Result:
    """What `kedge ARGUMENTS` printed and its exit status; `typed` is its input. What it does not catch is raised."""
    runner, status = CliRunner(), 0
    with runner.isolation(input=typed) as (out, err, both):
        try:
            command().main(list(arguments), prog_name="kedge", obj=around)
        except SystemExit as ended:
            status = int(ended.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        texts = (out.getvalue(), err.getvalue(), both.getvalue())
    return Result(runner, *texts, return_value=None, exit_code=status, exception=None)

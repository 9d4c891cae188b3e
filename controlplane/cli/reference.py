"""Writes `docs/cli.md` from the commands themselves, so that the page cannot lag behind them.

`python -m controlplane.cli.reference` writes it; with `--check` it writes nothing and exits 1 if it is not current.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from controlplane.cli import exits
from controlplane.cli.main import app
from controlplane.cli.output import API_VERSION

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
COMMAND = "python -m controlplane.cli.reference"
WIDTH = 80

_INTRODUCTION = f"""# The command line

<!-- Written by `{COMMAND}`; do not edit. -->

`kedge` speaks the HTTP API of `kedge server` ([its calls](api.md), and which verbs have none); planning (`drain`,
`rebalance`, `brokers`), `state export`, `machines` and `doctor` do without one. It finds the server by
`KEDGE_SERVER`, else by `server.json` in the home directory. It shows a token of yours: `KEDGE_TOKEN`, the file
`KEDGE_TOKEN_FILE` names, or what `kedge login` kept for that server; without one, and on the server's own machine
only, the `token` of the home. The home is `KEDGE_HOME`, else `.kedge` in this directory. A file with a token that
others may read is refused, and a token is never sent over plain HTTP to anything but a loopback address.

## Habits

- Data goes to stdout; questions, progress, plans shown before a question, hints and errors go to stderr.
- Errors say what happened, where, why, and what to do next. All problems of a file are told at once, each as
  `file:line:column: error CODE: cause` with its fix.
- A plan somebody said yes to is applied as it was shown or not at all. So is a saved one (`plan -o FILE`,
  `apply FILE`); what moved is named. `-y` accepts whatever the plan is by then.
- Without a terminal nothing is asked: the command ends with code {exits.FAILED} and says which option answers the
  question. `delete` wants the cluster's name; `-y` is not enough.
- The first Ctrl-C while waiting detaches and prints the command that watches again. Nothing on the server is cancelled.
- Waiting is pinned to a generation. It ends at once where waiting cannot help: the server gave up, somebody paused the
  cluster, another spec was declared, the cluster is being deleted. A server that restarts meanwhile is waited for.
- Colour: `--no-color` beats `NO_COLOR`, which beats `FORCE_COLOR`, which beats "is it a terminal, and `TERM` not
  `dumb`". Redrawing and questions depend on the terminal alone. Off a terminal there is one plain line per step.
- Every POST carries an `Idempotency-Key`: a request whose answer was lost is sent again and recorded once.
- `kedge --install-completion` completes verbs, options and the names of living clusters.

## Exit codes

| code | meaning |
|---|---|
| {exits.OK} | done; `diff`: the same; `wait`: reached |
| {exits.FAILED} | refused, invalid, not confirmed, or the server cannot be asked; `diff`: it differs; planning: there \
is no plan |
| {exits.CHANGES} | `plan --detailed-exitcode`: there is something to do; `diff`: it could not be told |
| {exits.TIMED_OUT} | `wait`, `apply --wait`, `failover --wait`: `--timeout` was up; the server goes on |
| {exits.BLOCKED} | `wait`, `apply --wait`, `failover --wait`: it needs a person; why and what next are on stderr |
| {exits.VULNERABLE} | `images scan`: something in the image is vulnerable |
| {exits.NOT_COVERED} | `images scan`: nothing is known to be vulnerable, and not everything is known |
| {exits.USAGE} | the command line itself is wrong |
| {exits.INTERRUPTED} | Ctrl-C, also when it only detached |

## Machine output

`-o json` and `-o yaml` write one document that begins with its schema,
`{{"apiVersion": "{API_VERSION}", "kind": ...}}`:
`ClusterList` (with `items`), `Cluster`, `Plans` (`plan --json`), `Applied`, `DryRun`, `Diff`, `Validation`,
`WaitResult`, `Command`, `SourceList` (with `items`), `Endpoints`, `Backup`, `Rebuild`, `Version`, `DrainPlan`,
`DrainCheck`, `Anomalies`, `AnomalyList`, `Healing`, `NotifierList` (with `items`), `NotifierTest`, `RebalancePlan`,
`DemotePlan`, `RestartCheck`, `Rolls`, `Drift`, `MachineList` (with `items`). `events -o json` and `get -w -o json`
write one document a line (`Event`, `Cluster`). Fields may be added to a version; none is renamed or dropped, and new
ones are to be ignored. Times are ISO 8601 in UTC; units stand in the names of fields (`_s`, `bytes`).
"""


def main(arguments: list[str] | None = None) -> int:
    """Entry point. Returns 0, or 1 when `--check` finds a page that is not current."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is not current")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is")
    options = parser.parse_args(arguments)
    is_current = options.page.is_file() and options.page.read_text(encoding="utf-8") == page()
    if not options.check:
        options.page.write_text(page(), encoding="utf-8")
        sys.stdout.write(f"wrote {options.page}\n")
    elif not is_current:
        sys.stderr.write(f"{options.page} is not current; run `{COMMAND}`\n")
    return 1 if options.check and not is_current else 0


def page() -> str:
    """The whole page."""
    return _INTRODUCTION + "".join(f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in helps())


def helps() -> Iterator[tuple[str, str]]:
    """(`kedge VERB`, its help) of the root and of every verb and group, 80 columns wide."""
    root: Any = get_command(app)
    context = root.make_context("kedge", [], resilient_parsing=True, terminal_width=WIDTH)
    yield "kedge", root.get_help(context)
    yield from _below(root, context, "kedge")


def _below(group: Any, context: Any, path: str) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        verb = group.get_command(context, name)
        inner = verb.make_context(name, [], parent=context, resilient_parsing=True, terminal_width=WIDTH)
        yield f"{path} {name}", verb.get_help(inner)
        if hasattr(verb, "list_commands"):
            yield from _below(verb, inner, f"{path} {name}")


if __name__ == "__main__":
    sys.exit(main())

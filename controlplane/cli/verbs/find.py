"""`find`: what has a text in its name, id or address, in every cluster one may read."""

from typing import Annotated

import typer

from controlplane.api.schemas.search import SearchOut
from controlplane.cli.options import Output
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.session import Session, session_of
from controlplane.cli.tables import listing
from events.quantities import counted


def find(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", show_default=False, help="Part of the name; case-insensitive.")
    ],
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Maximum number.")] = 50,
    output: Output = Format.TEXT,
) -> None:
    """Find clusters, brokers, VMs, addresses and topics by a part of their name.

    Looks through all clusters you may read: names, broker ids, instance ids, addresses, and the topics that Kafka had
    at the last look. In names of topics * stands for anything, and /.../ is a regular expression.

    \b
    Examples:
      kedge find payments
      kedge find 10.0.3.17
      kedge find 'pay*-dlq'
      kedge find '/^pay[a-z]+[.]v2$/' -o json | jq -r '.found[].name'
    """
    session = session_of(context)
    found = session.client.find(text, limit=limit)
    if output is not Format.TEXT:
        write_document(session, output, document("Found", found))
        return
    if found.found:
        rows = [[one.kind, one.name, one.cluster, one.detail] for one in found.found]
        session.show(listing(["KIND", "NAME", "CLUSTER", "DETAIL"], rows))
    else:
        session.tell(f"nothing known here has `{text}` in its name, id or address")
    _tell_limits(session, found)


def _tell_limits(session: Session, found: SearchOut) -> None:
    """What may be missing from the answer, and why."""
    left = found.things + found.topics - len(found.found)
    if found.refused:
        session.tell(f"as a regular expression that is not looked for: {found.refused}", "yellow")
    if found.late:
        session.tell("the search stopped after 2 seconds: use a longer part of the name", "yellow")
    if left > 0:
        more = "at least " if found.cut else ""
        session.tell(f"{more}{left} more: use a longer name, or --limit {min(1000, len(found.found) + left)}")
    if found.unread:
        whose = counted(found.unread, "cluster")
        session.tell(f"the topics of {whose} are not known yet: they are not among these", "yellow")
    if found.recorded:
        session.tell(f"the topics of {counted(found.recorded, 'cluster')} are from an earlier reading")

"""The quorum in `kedge describe`: who votes, from which directory, how far behind, and who is remembered."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from controlplane.api.schemas.quorum import QuorumMemberOut, QuorumOut, RememberedOut
from controlplane.cli.tables import listing
from controlplane.kafka.quorum import silent_for
from controlplane.runtime.styled_text import styled


def quorum_section(quorum: QuorumOut) -> RenderableType:
    """The members as a table, the change in hand, and those Kafka has not forgotten."""
    rows = [_row(m) for m in sorted(quorum.members, key=lambda m: (not m.votes, m.id))]
    table = listing(["ID", "NODE", "ROLE", "LAG", "SILENT", "DIRECTORY"], rows)
    return Group(table, *_words(quorum))


def _row(member: QuorumMemberOut) -> tuple[Text | str, ...]:
    role = "leader" if member.leads else "voter" if member.votes else "no vote"
    node: Text | str = member.node or styled("none of ours", "yellow")
    return (str(member.id), node, role, str(member.lag), silent_for(member.silent_s), member.directory_id)


def _words(quorum: QuorumOut) -> Iterator[Text]:
    if quorum.static:
        yield styled("static (kraft.version 0): its voters cannot change, and no pool joins it", "yellow")
    if quorum.change:
        yield styled(quorum.change, "yellow")
    if quorum.remembered:
        remembered = ", ".join(_remembered(r) for r in quorum.remembered)
        yield styled(f"left, and still registered in Kafka: {remembered}", "dim")


def _remembered(left: RememberedOut) -> str:
    return f"{left.id} ({left.node}, Kafka {left.kafka_version})"

"""`kedge describe`: how a cluster is, since when, what it waits for, and what to type next."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.api.schemas.conditions import ConditionOut
from controlplane.api.schemas.instances import ConsoleOut, FindingOut, InstanceOut
from controlplane.api.trouble import message_of
from controlplane.cli import progress, quorum_view, tables, waiting
from controlplane.cli.status_tree import status_tree
from controlplane.cluster.condition_severity import row_of
from controlplane.cluster.wait_reasons import NEXT
from controlplane.runtime.quantities import ago, human_seconds, since
from controlplane.runtime.styled_text import styled

SYNCED = "Synced"


def description(detail: ClusterDetailOut, *, now: datetime) -> Iterator[RenderableType]:
    """The sections, in the order a person asks."""
    yield _head(detail, now)
    if detail.conditions:
        yield from _section("Conditions", _conditions(detail, now))
    if detail.drain is not None:
        yield from _section("Drain", styled(progress.drain_words(detail.drain)))
    if detail.rebalance is not None:
        yield from _section("Rebalance", styled(progress.rebalance_words(detail.rebalance)))
    yield from _section("Instances", _instances(detail, now))
    if detail.externals:
        yield from _section("External", _externals(detail))
    if detail.quorum is not None and detail.quorum.members:
        yield from _section("Quorum", quorum_view.quorum_section(detail.quorum))
    unhealthy = [(i, f) for i in detail.instances for f in i.findings]
    if unhealthy:
        yield from _section("Findings", _findings(unhealthy, now))
    for console in detail.consoles:
        yield from _section(f"Console of {console.key}, {ago(console.at, now)}", _console(console))
    if detail.pending:
        yield from _section("Pending", status_tree(detail.pending, detail.instances))
    commands = [] if detail.past else next_commands(detail)
    if commands:
        yield from _section("Next", Text("\n").join(styled(command, "bold") for command in commands))


def next_commands(detail: ClusterDetailOut) -> list[str]:
    """What to type next, each once: what the conditions ask for, else how to follow what is going on."""
    asked = [command for c in detail.conditions if _asks(c) and (command := waiting.next_command(c, detail.name))]
    if not asked and detail.status == "Working":
        asked = [f"kedge wait {detail.name} --for=converged"]
    if not asked and detail.status == "Deleting":
        asked = [f"kedge wait {detail.name} --for=deleted"]
    return list(dict.fromkeys(asked))


def _section(title: str, body: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield styled(title, "bold")
    yield Padding(body, (0, 0, 0, 2), expand=False)


def _head(detail: ClusterDetailOut, now: datetime) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _facts(detail, now):
        table.add_row(styled(f"{name}:", "dim"), value)
    return table


def _facts(detail: ClusterDetailOut, now: datetime) -> Iterator[tuple[str, Text]]:
    yield "Name", styled(detail.name, "bold")
    yield "Status", tables.status_text(detail.status)
    if detail.why:
        yield "Why", styled(detail.why, "yellow")
    for fault in detail.faults:
        yield "Fault", styled(f"on purpose: {fault}", "yellow")
    yield "Last tick", styled(f"{detail.sentence or 'none yet'}" + _aged(detail, now))
    seen = "reached" if detail.converged_generation == detail.generation else "not reached yet"
    yield "Generation", styled(f"{tables.generation_words(detail)} ({seen}), declared {ago(detail.declared_at, now)}")
    yield from _source(detail, now)
    if detail.paused:
        yield "Paused", styled(detail.paused, "yellow")
    if detail.window:
        yield "Window", styled(detail.window)
    yield "Kafka", styled(detail.kafka_version + _features(detail.features))
    yield "Brokers", styled(f"{detail.brokers} of {detail.desired_brokers}")
    yield "Controllers", styled(f"{detail.controllers} of {detail.desired_controllers}")
    yield "Partitions", _partitions(detail)
    yield "UID", styled(detail.uid, "dim")


def _source(detail: ClusterDetailOut, now: datetime) -> Iterator[tuple[str, Text]]:
    """Where the spec comes from; nothing for one that is declared through the API."""
    source = detail.source
    if not source.sync:
        return
    place = f"{source.path or 'no file yet'} in {source.repository or '?'}, branch {source.branch or '?'}"
    yield "Source", styled(f"{source.source}: {place}")
    if source.commit:
        author = f", by {source.author} ({'signed' if source.signed_by else 'claimed'})" if source.author else ""
        yield "Commit", styled(f"{source.commit[:12]}{author}")
    why = "" if source.reason == source.sync else f" ({source.reason})"
    age = f", {ago(source.since, now)}" if source.since else ""
    said = source.message.partition(NEXT)[0].rstrip(" .")
    yield "Sync", tables.sync_text(source.sync).append_text(styled(f"{why}{age}{f': {said}' if said else ''}"))


def _aged(detail: ClusterDetailOut, now: datetime) -> str:
    return f" ({ago(detail.sentence_at, now)})" if detail.sentence_at else ""


def _features(levels: dict[str, int]) -> str:
    named = ", ".join(f"{name} {level}" for name, level in sorted(levels.items()))
    return f" (finalised: {named})" if named else ""


def _partitions(detail: ClusterDetailOut) -> Text:
    if detail.partitions is None:
        return styled("unknown: no metadata was read yet", "yellow")
    below, lagging = detail.under_min_isr or 0, detail.under_replicated or 0
    style = "red" if below else "yellow" if lagging else "green"
    age = "" if detail.metadata_age_s is None else f", read {human_seconds(round(detail.metadata_age_s))} ago"
    return styled(f"{detail.partitions}, {lagging} under-replicated, {below} below min ISR{age}", style)


def _conditions(detail: ClusterDetailOut, now: datetime) -> Table:
    # What the source says is long, and stands at the top already.
    conditions = [c.model_copy(update={"message": "see Sync"}) if c.type == SYNCED else c for c in detail.conditions]
    rows = [_condition_row(condition, detail.name, now) for condition in conditions]
    return tables.listing(["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE", "NEXT"], rows)


def _condition_row(condition: ConditionOut, name: str, now: datetime) -> Sequence[Text | str]:
    good = condition.status == row_of(condition.type).good_when_true
    status = styled("True" if condition.status else "False", "green" if good else "yellow")
    command = waiting.next_command(condition, name) if _asks(condition) else ""
    return (
        condition.type,
        status,
        condition.reason,
        since(condition.since, now),
        message_of(condition) or "-",
        command or "-",
    )


def _asks(condition: ConditionOut) -> bool:
    """Whether a person is to do something: the message of one that is false may say so too, as of `Synced`."""
    return condition.status or NEXT in condition.message


def _findings(unhealthy: Sequence[tuple[InstanceOut, FindingOut]], now: datetime) -> Table:
    """What agents found wrong inside services that still run."""
    rows = [(i.key, str(i.service_id), styled(f.name, "yellow"), since(f.since, now), f.message) for i, f in unhealthy]
    return tables.listing(["INSTANCE", "ID", "FINDING", "SINCE", "MESSAGE"], rows)


def _console(console: ConsoleOut) -> Text:
    """What a VM wrote that never joined: control characters of its boot loader would move the cursor."""
    text = "".join(c for c in console.text if c.isprintable() or c == "\n")
    return styled(text or console.why, "dim")


def _externals(detail: ClusterDetailOut) -> RenderableType:
    """Brokers that others run: they have no instance."""
    rows = [[str(b.id), b.rack or "-", b.address, b.state] for b in detail.externals]
    return tables.listing(["BROKER", "RACK", "ADDRESS", "STATE"], rows)


def _instances(detail: ClusterDetailOut, now: datetime) -> RenderableType:
    alive = [instance for instance in detail.instances if instance.phase != "retired"]
    return tables.instance_table(alive, now=now) if alive else styled("none yet")

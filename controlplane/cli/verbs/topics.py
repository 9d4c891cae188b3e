"""Verbs of topics: which there are, one of them, what was declared of it, keep one made outside, delete one."""

from typing import Annotated

import typer

from controlplane.api.schemas import commands as command_api, topics as topic_api
from controlplane.cli import exits
from controlplane.cli.errors import CliError
from controlplane.cli.options import Cluster, Output, Reason, Yes
from controlplane.cli.output import Format, document, show_answer, show_or_write, write_document
from controlplane.cli.previewed_order import preview_first
from controlplane.cli.prompts import typed_name
from controlplane.cli.session import Session, session_of
from controlplane.cli.topics_view import declaration_table, topic_lines, topic_table, unhealthy_lines

topic = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Topic = Annotated[str, typer.Argument(metavar="TOPIC", show_default=False, help="Name of the topic in Kafka.")]


def topics(
    context: typer.Context,
    cluster: Cluster,
    internal: Annotated[bool, typer.Option("--internal", help="Include topics of Kafka and Kedge.")] = False,
    ailing: Annotated[
        bool, typer.Option("--ailing", help="List partitions of all topics that are not in sync instead.")
    ] = False,
    match: Annotated[str, typer.Option("--match", metavar="TEXT", help="Part of the topic's name.")] = "",
    output: Output = Format.TEXT,
) -> None:
    """Show the topics of a cluster: declared and observed.

    STATE: Observed (created outside Kedge, not managed), Declared (not created yet), Changing, InSync, Degraded,
    Deleting.

    With --ailing one line for each partition without a leader, below min ISR or with a replica out of sync, in this
    order; Kafka's own topics are included.

    \b
    Examples:
      kedge topics orders
      kedge topics orders --ailing --match payments
      kedge topics orders -o json | jq -r '.topics[] | select(.state == "Degraded") | .name'
    """
    session = session_of(context)
    if ailing:
        _show_unhealthy(session, session.client.unhealthy_partitions(cluster, match=match), output)
        return
    found = session.client.topics(cluster, match=match)
    shown = [one for one in found.topics if internal or not one.internal or one.declared]
    if output is not Format.TEXT:
        write_document(session, output, document("TopicList", found.model_copy(update={"topics": shown})))
        return
    if found.metadata_age_s is None:
        session.tell("Kafka was not read yet by this server: what is declared is all that is known")
    if not shown:
        none = f"no topic of {cluster} matches" if match else "no topic"
        session.tell(none if match else f"{none}; to declare some: kedge apply -f FILE (cluster {cluster})")
        return
    session.show(topic_table(shown))


@topic.callback()
def root() -> None:
    """Show, adopt or delete one topic of a cluster.

    \b
    Examples:
      kedge topic describe orders payments
      kedge topic history orders payments
      kedge topic adopt orders payments
      kedge topic delete orders payments --confirm payments
    """


@topic.command()
def describe(context: typer.Context, cluster: Cluster, name: Topic, output: Output = Format.TEXT) -> None:
    """Show one topic: declared and observed.

    \b
    Examples:
      kedge topic describe orders payments
    """
    session = session_of(context)
    found = session.client.topic(cluster, name)
    show_or_write(session, output, document("Topic", found), *topic_lines(found, now=session.around.utc_now()))


@topic.command()
def history(context: typer.Context, cluster: Cluster, name: Topic, output: Output = Format.TEXT) -> None:
    """Show the declarations of a topic, and what each changed.

    \b
    Examples:
      kedge topic history orders payments
      kedge rollback orders --topic payments --to 2
    """
    session = session_of(context)
    found = session.client.topic_declarations(cluster, name)
    if output is not Format.TEXT:
        write_document(session, output, document("TopicDeclarations", found))
    elif found.declarations:
        session.show(declaration_table(found.declarations))
    else:
        session.tell(f"{name} is not declared: it was created outside Kedge")


@topic.command()
def adopt(
    context: typer.Context, cluster: Cluster, name: Topic, reason: Reason = "", output: Output = Format.TEXT
) -> None:
    """Manage a topic that was created outside Kedge.

    A declared topic becomes as its document says. Any other keeps its partitions and replicas; its configuration is
    left alone until a document declares it.

    \b
    Examples:
      kedge topic adopt orders payments --reason "made by hand in March"
    """
    session = session_of(context)
    show_answer(session, session.client.adopt_topic(cluster, name, topic_api.AdoptTopicIn(reason=reason)), output)


@topic.command()
def delete(
    context: typer.Context,
    cluster: Cluster,
    name: Topic,
    confirmed: Annotated[
        str,
        typer.Option("--confirm", metavar="TOPIC", show_default=False, help="The topic's name, instead of typing it."),
    ] = "",
    retain: Annotated[
        bool, typer.Option("--retain", help="Keep it in Kafka, regardless of its deletion policy.")
    ] = False,
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Delete a topic. Asks for its name to be typed.

    Its document decides about its data: `deletionPolicy: retain` leaves it in Kafka, `delete` destroys its records.

    \b
    Examples:
      kedge topic delete orders payments --confirm payments
      kedge topic delete orders payments --confirm payments --retain
    """
    session = session_of(context)
    found = session.client.topic(cluster, name)
    policy = found.declared.deletion_policy if found.declared and not retain else "retain"
    fate = "it is destroyed with all its records" if policy == "delete" else "it stays in Kafka, unmanaged"
    session.tell(f"{cluster}/{name}: {fate}", "bold")
    by_hand = f"kedge topic delete {cluster} {name} --confirm {name}"
    typed = confirmed or typed_name(session, f"Type the name of the topic to delete it ({name})", unattended=by_hand)
    if typed != name:
        raise CliError("not confirmed, nothing was changed", why=f"`{typed}` is not `{name}`", next_step=by_hand)
    order = topic_api.DeleteTopicIn(confirm=typed, reason=reason, retain=retain)
    show_answer(session, session.client.delete_topic(cluster, name, order), output)


def replication_factor(
    context: typer.Context,
    cluster: Cluster,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", show_default=False, help="A topic by its full name. Repeatable."),
    ] = None,
    factor: Annotated[
        int | None, typer.Option("--to", metavar="N", min=1, show_default=False, help="Replicas of each partition.")
    ] = None,
    below_min_isr: Annotated[
        bool, typer.Option("--below-min-isr", help="It may be fewer than min.insync.replicas asks for.")
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Begin nothing more of it, for all topics where none is named.")
    ] = False,
    reason: Reason = "",
    yes: Yes = False,
    output: Output = Format.TEXT,
) -> None:
    """Give topics that no document declares another number of replicas.

    New ones go to zones without one, then to the least full broker; what is dropped is out of sync, in a crowded zone
    or on the fullest broker, never the leader, one of a partition at a time. In small throttled batches, at rest; a
    server that dies loses nothing of it. A declared topic is refused: change `replicas` of its document.

    What would be done is shown first, and asked about.

    \b
    Examples:
      kedge replication-factor orders --topic clicks --to 3 --reason "it matters now"
      kedge replication-factor orders --topic clicks --topic views --to 2 --yes
      kedge replication-factor orders --topic clicks --cancel
    """
    session = session_of(context)
    if cancel:
        _refuse_both(cluster, factor)
        order = topic_api.CancelReplicationFactorIn(topics=topics or [], reason=reason)
        show_answer(session, session.client.cancel_replication_factor(cluster, order), output)
        return
    if not topics or factor is None:
        next_step = f"kedge replication-factor {cluster} --topic TOPIC --to N"
        why = "name the topics, and how many replicas they are to have"
        raise CliError("nothing was requested", why=why, next_step=next_step, exit_code=exits.USAGE)
    wanted = topic_api.ReplicationFactorIn(topics=topics, factor=factor, below_min_isr=below_min_isr, reason=reason)

    def send(*, dry_run: bool) -> command_api.CommandOut:
        return session.client.change_replication_factor(cluster, wanted.model_copy(update={"dry_run": dry_run}))

    show_answer(session, preview_first(session, cluster, send, yes=yes), output)
    session.tell(f"to follow it: kedge wait {cluster} --for=converged; to end it early: add --cancel")


def _refuse_both(cluster: str, factor: int | None) -> None:
    if factor is not None:
        why, next_step = "--cancel asks for nothing new", f"kedge replication-factor {cluster} --cancel"
        raise CliError("--to and --cancel exclude each other", why=why, next_step=next_step, exit_code=exits.USAGE)


def _show_unhealthy(session: Session, found: topic_api.UnhealthyPartitionsOut, output: Format) -> None:
    if output is not Format.TEXT:
        write_document(session, output, document("AilingPartitions", found))
    elif found.metadata_age_s is None:
        session.tell(f"Kafka of {found.cluster} was not read yet by any server: partitions out of sync are not known")
    else:
        session.show(*unhealthy_lines(found, now=session.around.utc_now()))

"""What a cluster has to be before it may migrate to KRaft, and what may be asked of it while it does. Pure."""

from collections.abc import Iterator

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.tls_steps import security_in_change
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from events.spec import problems as p
from events.spec.migration_rules import changes_on_top, named_changes
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.releases import MIGRATES, SUPPORTED, as_numbers, is_of_migrations, metadata_level_of

_MODE: Path = ("spec", "kafka", "mode")
_VERSION: Path = ("spec", "kafka", "version")


def in_force(view: ClusterView, document: KafkaClusterDocument) -> KafkaClusterDocument | None:
    """What the document is a change of. On the way back from a migration that is the spec the way began at."""
    declared = view.document
    if declared is None or view.quorum.ensemble_spec is None or document.spec.kafka.mode == "kraft":
        return declared
    return view.quorum.ensemble_spec if view.in_zookeeper_mode else declared


def newborn_problems(document: KafkaClusterDocument, positions: Positions) -> Iterator[Problem]:
    """A new cluster on the version that only a migration leads to."""
    kafka = document.spec.kafka
    if kafka.mode == "kraft" and is_of_migrations(kafka.version):
        newest = max(SUPPORTED, key=as_numbers)
        message = f"Kafka {kafka.version} in mode `kraft` is only what a migration from ZooKeeper leads to"
        yield positions.problem(p.KAFKA_VERSION, _VERSION, message, f"Write `version: {newest}` for a new cluster.")


def migration_admission(view: ClusterView, document: KafkaClusterDocument, positions: Positions) -> Iterator[Problem]:
    """What refuses it by what the cluster is doing, beside what the rules say of the two specs."""
    declared = view.document
    if declared is None or view.quorum.ensemble_spec is None or not view.in_zookeeper_mode:
        return
    between = view.quorum.migration is not None or declared.spec.kafka.mode == "kraft"
    to_kraft = document.spec.kafka.mode == "kraft"
    if between:
        yield from _meanwhile(view, declared, document, positions)
    elif to_kraft:
        why = not_ready(view)
        if why:
            fix = "Wait for that (`kedge describe`), then apply this spec again."
            yield positions.problem(p.MIGRATION, _MODE, f"the cluster cannot migrate to KRaft now: {why}", fix)


def not_ready(view: ClusterView) -> str:
    """What else is in hand, or not as a migration needs it; "" where it may begin."""
    level = metadata_level_of(MIGRATES)
    if view.quorum.founding is None or not view.roll.converged:
        return "it has not been founded yet"
    if view.quorum.protocol != level:
        return (
            f"its brokers speak protocol {view.quorum.protocol}, and {level} is needed: it comes at the end of the roll"
        )
    if changing := security_in_change(view):
        return changing
    unready = next((i for i in view.alive() if i.phase is not Phase.JOINED or i.lost), None)
    if unready is not None:
        return f"{unready.key} is {'lost' if unready.lost else unready.phase}"
    if view.roll.converged != view.generation:
        return f"generation {view.generation} is not reached yet"
    return "it has other work in hand" if has_work(view) else ""


def _meanwhile(
    view: ClusterView, declared: KafkaClusterDocument, document: KafkaClusterDocument, positions: Positions
) -> Iterator[Problem]:
    """Going on, or going back: nothing else changes while the cluster is between the two."""
    to_kraft = document.spec.kafka.mode == "kraft"
    if not to_kraft and view.quorum.migration is not None and view.quorum.migration.has_no_way_back:
        alone = next((f"controller {i}" for i in view.quorum.migration.released()), "a controller")
        message = (
            f"the cluster migrates to KRaft, and there is no way back any more: {alone} was started without ZooKeeper, "
            "and what was changed since may not be in it"
        )
        yield positions.problem(p.MIGRATION, _MODE, message, "Write `mode: kraft`, with the spec in force.")
        return
    same_mode = declared.spec.kafka.mode == document.spec.kafka.mode
    before = declared if same_mode else in_force(view, document)
    if before is None or before.spec.kafka.mode != document.spec.kafka.mode:
        return  # the rules of a change of mode judge it
    more = changes_on_top(before, document)
    if more:
        message = f"{named_changes(more)} would change while the cluster is between ZooKeeper and KRaft"
        fix = "Apply it once the migration has ended (`kedge describe` tells how far it is)."
        yield positions.problem(p.MIGRATION, more[0].steps or _MODE, message, fix)

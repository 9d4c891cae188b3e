"""The decision on a person's word that VMs are gone which Kedge does not believe to be: pure, from what is in force."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from controlplane.cluster.commands import CommandRefused, ConfirmLoss
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import Lookups
from events import facts
from planner.observed import KafkaSnapshot

COUNTS = timedelta(seconds=90)
"""At rest Kafka is read once a minute: metadata older than this says nothing of now."""


def loss_confirmed(view: ClusterView, command: ConfirmLoss, known: Lookups) -> CommandDecision:
    """The fact to record: of the VMs in doubt those in the racks named, and no others. Raises CommandRefused where the
    name is not typed out, nothing is in doubt there, or an agent or Kafka says that one of them lives."""
    if command.confirm != view.name:
        message = f"to confirm a loss of {view.name} its name must be typed out; {command.confirm!r} is not it"
        raise CommandRefused("name-mismatch", message, f"kedge confirm-loss {view.name} --confirm {view.name}")
    doubted = [view.instances[k] for k in view.vms.losses.doubted if k in view.instances]
    if not doubted:
        message = f"no listing calls VMs of {view.name} gone that Kedge does not believe to be"
        raise CommandRefused("nothing-doubted", message, f"`kedge describe {view.name}` says what it waits for.")
    racks = sorted({i.planned.rack for i in doubted})
    if not command.racks or set(command.racks) - set(racks):
        named = ", ".join(command.racks) or "none"
        message = f"VMs of racks {', '.join(racks)} of {view.name} are in doubt; named was {named}"
        raise CommandRefused("unknown-rack", message, "Name racks whose VMs are in doubt, each with --rack.")
    meant = [i for i in doubted if i.planned.rack in command.racks]
    _refuse_who_lives(view, meant, known.reports(), known.kafka, known.now())
    fact = facts.LossesConfirmed(
        tuple(i.key for i in meant), tuple(sorted(set(command.racks))), asked_by(command, command.reason)
    )
    left = f"; {len(doubted) - len(meant)} others stay in doubt" if len(doubted) > len(meant) else ""
    names = ", ".join(i.key for i in meant)
    return CommandDecision(fact, f"{names} of {view.name} are taken for gone as long as the cloud says so{left}")


def _refuse_who_lives(
    view: ClusterView,
    meant: Sequence[InstanceView],
    reports: Mapping[str, ReportSeen],
    kafka: KafkaSnapshot | None,
    now: datetime,
) -> None:
    then = f"The listing is wrong then: look at the account and its permissions, and at `kedge describe {view.name}`."
    heard = [i.key for i in meant if i.key in reports and reports[i.key].is_young(now)]
    if heard:
        message = f"the agents of {', '.join(heard)} were heard within the last 30 s: their VMs are not gone"
        raise CommandRefused("agents-heard", message, then)
    if (
        kafka is None
        or now - kafka.at > COUNTS
        or view.vms.losses.doubted_at is None
        or kafka.at <= view.vms.losses.doubted_at
    ):
        return
    serving = [i.key for i in meant if i.is_broker and i.service_id in kafka.live_brokers()]
    if serving:
        age_s = (now - kafka.at).total_seconds()
        message = f"Kafka's metadata of {age_s:.0f} s ago has {', '.join(serving)} serving: their VMs are not gone"
        raise CommandRefused("brokers-serve", message, then)

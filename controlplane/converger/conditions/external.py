"""Conditions of what others run: `ExternalEmpty`, brokers that hold nothing any more and whose owner is to stop them,
and `ExternalUnread`, a cluster that the client properties its spec names do not open."""

from datetime import timedelta

from controlplane.cluster.external_brokers import declared_external, named
from controlplane.converger.situation.situation import Situation
from events import facts

EXTERNAL_EMPTY = "ExternalEmpty"
EXTERNAL_UNREAD = "ExternalUnread"
_UNREAD_AFTER = timedelta(minutes=3)
"""Brokers are asked once a minute at rest: one look that fails is no news."""


def external_empty(situation: Situation) -> facts.ConditionChanged | None:
    """From the record alone. None where others run no part of the cluster."""
    view = situation.view
    if view.external is None:
        return None
    empty = [b.id for b in view.external.brokers.values() if b.empty_at is not None and b.stopped_at is None]
    if not empty:
        return facts.ConditionChanged(EXTERNAL_EMPTY, False, "Free", "")
    voting = sorted(view.quorum.voters.keys() & set(empty))
    alone = sorted(set(empty) - set(voting))
    parts = []
    if alone:
        parts.append(
            f"{named(alone)} {'hold' if len(alone) > 1 else 'holds'} no replica any more. Next: stop "
            f"{'them' if len(alone) > 1 else 'it'} yourself; Kedge stops nothing of others, and forgets the "
            "registration a minute later"
        )
    if voting:
        parts.append(f"{named(voting)} is empty and votes in the quorum, too: leave it running")
    return facts.ConditionChanged(EXTERNAL_EMPTY, True, "StopThem" if alone else "Votes", "; ".join(parts))


def external_unread(situation: Situation) -> facts.ConditionChanged | None:
    """Of a cluster of others that is taken on, and spoken to by client properties; None of any other."""
    external, seen = declared_external(situation.view), situation.seen
    if situation.view.external is None or external is None or external.client_properties is None:
        return None
    if seen.kafka is not None and situation.now - seen.kafka.at <= _UNREAD_AFTER:
        return facts.ConditionChanged(EXTERNAL_UNREAD, False, "Read", "")
    if "kafka" not in seen.missing:
        return None  # nobody has asked as yet
    message = f"nothing is known of the brokers of others: {seen.why_no_kafka}"
    return facts.ConditionChanged(EXTERNAL_UNREAD, True, "NotLetIn", message)

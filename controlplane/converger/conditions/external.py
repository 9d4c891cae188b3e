"""The condition `ExternalEmpty`: brokers of others that hold nothing any more, and whose owner is to stop them."""

from controlplane.cluster.external_brokers import named
from controlplane.converger.situation.situation import Situation
from events import facts

EXTERNAL_EMPTY = "ExternalEmpty"


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

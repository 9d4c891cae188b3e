"""A VM that its cloud takes back in minutes does not wait for what may take hours: a drain of another node, a handover
whose gate is closed, the grace of one that was lost.

    a date soon, something waits -> healing.requested + node.replace_requested -> surge.requested, beside it
                                 -> its successor is there, somebody is lost and may come back: drain.requested

Its successor is there by then, or soon after; what the old one had is brought to it by the next drain, or, where the VM
was gone first, from the copies of others. A drain takes nothing away, so it waits for no grace of a lost one either.
Nobody is stopped for it: the gates of all others are as they are, and count the one that goes as away
(`unavailability`).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from controlplane.cluster.holds import hold_on
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.clouds.announced import announced_dates, judged
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.maintenance import maintenance_step
from controlplane.converger.steps.rolls.replacements import made_beside
from controlplane.converger.steps.rolls.succession import drain_beside

SOON = timedelta(minutes=30)
"""A later date can be kept by what is in hand, or is looked at again."""


def noticed_first(situation: Situation) -> Decision | None:
    """Asks for its successor, then makes it, then has it filled. None where no VM goes so soon, or a person holds the
    cluster."""
    soon = _soon(situation, announced_dates(situation))
    if not soon or hold_on(situation.view, situation.now) is not None:
        return None
    chosen, _ = judged(situation)
    if chosen is not None and chosen.key in soon:
        return maintenance_step(situation)
    nodes = frozenset(situation.view.instances[key].node for key in _without_successor(situation.view, soon))
    made = made_beside(situation, nodes) if nodes and not situation.view.intents else None
    return made if made is not None and made.wait is None else drain_beside(situation, soon)


def _soon(situation: Situation, dates: Mapping[str, datetime]) -> frozenset[str]:
    return frozenset(key for key, at in dates.items() if timedelta(0) < at - situation.now <= SOON)


def _without_successor(view: ClusterView, keys: frozenset[str]) -> Iterator[str]:
    """Those of them that are to be replaced, and for which nothing was made."""
    for key in keys & view.requests.to_replace.keys():
        if view.of_node(view.instances[key].node)[-1].key == key:
            yield key

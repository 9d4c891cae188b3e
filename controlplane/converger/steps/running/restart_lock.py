"""The lock rolling restarts of a cluster in ZooKeeper mode are made under, in its own ensemble: others who restart its
services by hand or by script can take it, too, and are waited for.

It is advice beside the gates, not instead of them. Losing it stops the next restart; the one in hand is seen through.
Cures of what is unhealthy do not wait for it.
"""

from controlplane.cluster.holds import hold_on
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.quorum.seats import brokers_to_tell
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.stages import held_by_stage
from controlplane.converger.questions.windows import closed_for
from controlplane.converger.situation.decision import Decision, act, wait
from controlplane.converger.situation.effects import ReleaseRestartLock, TakeRestartLock
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.zookeeper.locks import may_begin
from planner.rollout.diff import Change


def lock_first(situation: Situation, why: str) -> Decision | None:
    """Takes the lock before a restart. None where one may begin: it is held, or the cluster has no ZooKeeper."""
    status = situation.seen.zookeeper.restart_lock
    if not situation.view.in_zookeeper_mode or status == "held":
        return None
    if status == "unsure":
        return wait(WaitReason.RESTART_LOCK, may_begin(status).reason)
    return wait(WaitReason.RESTART_LOCK, "taking the restart lock", TakeRestartLock(why), patience_s=60)


def give_back(situation: Situation) -> Decision | None:
    """Frees the lock once no restart is left, or none is to begin for a while: the cluster is paused, or what is left
    waits for a window, the end of a freeze or an earlier stage. None where there is none to free."""
    view = situation.view
    if not view.in_zookeeper_mode or view.settings.restarts or situation.seen.zookeeper.restart_lock == "lost":
        return None
    if view.quorum.migration is not None and hold_on(view, situation.now) is None:
        return None  # the migration restarts one after the other, and gives it back itself
    waits = closed_for(situation) is not None or held_by_stage(situation) is not None
    left = not waits and any(c.change is Change.RESTART for c in pending_changes(view))
    is_wanted = left or bool(brokers_to_tell(view))  # who is told other servers ends a replacement: that never waits
    if is_wanted and hold_on(view, situation.now) is None:
        return None
    return act("giving the restart lock back", ReleaseRestartLock())

"""Plans of work in hand, read from their store once: a big one is megabytes of JSON, and every tick asks for it."""

from collections.abc import Callable
from typing import Generic, TypeVar

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import PlansRead
from controlplane.storage.plan_store import PlanStore
from events.ids import ClusterUid
from planner.drain.plan import DrainPlan, PlanUnreadable
from planner.rebalancing.plan import RebalancePlan

_Plan = TypeVar("_Plan")


class ReadPlans(Generic[_Plan]):
    """By cluster, the plan it has in hand. The store is asked each time, and what it says counts: only the same bytes
    are not read again."""

    def __init__(self, store: PlanStore, read: Callable[[bytes], _Plan]) -> None:
        """`read` raises PlanUnreadable; what it gives is shared from tick to tick, so nobody may change it."""
        self._store, self._read = store, read
        self._kept: dict[ClusterUid, tuple[bytes, _Plan]] = {}

    def of(self, uid: ClusterUid, sha256: str) -> _Plan | None:
        """None where the cluster has none ("" for its SHA-256), or it is lost, corrupt or written by another release:
        it is planned again then, which decide() says in words. Raises StoreUnavailable."""
        body = self._store.get(sha256) if sha256 else None
        if body is None:
            self._kept.pop(uid, None)
            return None
        kept = self._kept.get(uid)
        if kept is not None and kept[0] == body:
            return kept[1]
        try:
            plan = self._read(body)
        except PlanUnreadable:
            return None
        self._kept[uid] = body, plan
        return plan


class PlansReader:
    """The plans of a cluster's drain and rebalance."""

    def __init__(self, store: PlanStore) -> None:
        self._drains = ReadPlans(store, DrainPlan.from_bytes)
        self._rebalances = ReadPlans(store, RebalancePlan.from_bytes)

    def of(self, view: ClusterView) -> PlansRead:
        """Raises StoreUnavailable."""
        drain = view.moves.drain.plan.sha256 if view.moves.drain else ""
        rebalance = view.moves.rebalance.plan.sha256 if view.moves.rebalance else ""
        return PlansRead(self._drains.of(view.uid, drain), drain, self._rebalances.of(view.uid, rebalance), rebalance)

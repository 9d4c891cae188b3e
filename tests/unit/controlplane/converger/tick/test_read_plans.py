"""Plans in hand are read once, and yet are what their store says at that moment."""

from controlplane.converger.tick.read_plans import ReadPlans
from events.ids import ClusterUid
from planner.drain.plan import DrainPlan
from tests.builders import a_plan
from tests.fakes.plans import MemoryPlanStore

ONE, OTHER = ClusterUid("c1"), ClusterUid("c2")


class Reader:
    """Reads drain plans, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, body: bytes) -> DrainPlan:
        self.times += 1
        return DrainPlan.from_bytes(body)


class Swapped(MemoryPlanStore):
    """A store whose rows may be lost, or become something else."""

    def becomes(self, sha256: str, body: bytes | None) -> None:
        if body is None:
            del self._bodies[sha256]
        else:
            self._bodies[sha256] = body


def test_a_plan_in_hand_is_read_once_however_often_it_is_asked_for() -> None:
    store, reader, plan = MemoryPlanStore(), Reader(), a_plan()
    plans, sha256 = ReadPlans(store, reader), store.put(plan.to_bytes())
    assert [plans.of(ONE, sha256) for _ in range(3)] == [plan] * 3
    assert reader.times == 1


def test_each_cluster_has_its_own_plan_and_the_next_round_another_one() -> None:
    store, reader = MemoryPlanStore(), Reader()
    plans, made = ReadPlans(store, reader), [a_plan(round=n) for n in (1, 2, 3)]
    first, second, others = [store.put(plan.to_bytes()) for plan in made]
    assert plans.of(ONE, first) == made[0]
    assert plans.of(OTHER, others) == made[2]
    assert plans.of(ONE, second) == made[1]


def test_a_plan_that_is_lost_or_corrupt_is_none_though_it_was_read_before() -> None:
    for left in (None, b"something else"):
        store = Swapped()
        plans, sha256 = ReadPlans(store, DrainPlan.from_bytes), store.put(a_plan().to_bytes())
        assert plans.of(ONE, sha256) is not None
        store.becomes(sha256, left)
        assert plans.of(ONE, sha256) is None


def test_what_another_release_wrote_is_none() -> None:
    store = MemoryPlanStore()
    assert ReadPlans(store, DrainPlan.from_bytes).of(ONE, store.put(b'{"format": 0}')) is None


def test_nothing_is_kept_of_a_plan_that_is_no_longer_in_hand() -> None:
    store, reader = MemoryPlanStore(), Reader()
    plans, sha256 = ReadPlans(store, reader), store.put(a_plan().to_bytes())
    plans.of(ONE, sha256)
    assert plans.of(ONE, "") is None
    plans.of(ONE, sha256)
    assert reader.times == 2

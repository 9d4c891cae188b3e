"""Which step of a migration comes next, forward and back: walked through a model of Kafka 3.9 (docs/zookeeper.md)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import cast

import pytest

from controlplane.kafka.zookeeper.migration import (
    ForgetClaim,
    Goal,
    Knows,
    MigrationBlocked,
    MigrationDone,
    MigrationPhase,
    MigrationSeen,
    MigrationState,
    MigrationWaits,
    StartServices,
    Step,
    Stop,
    may_go_back,
    next_step,
    phase_of,
)
from controlplane.kafka.zookeeper.registry import RegisteredBroker, RegistrySeen

AT = datetime(2026, 1, 1, tzinfo=UTC)
BROKERS, CONTROLLERS = (1000, 1001, 1002), (103, 104, 105)
STOPPED, ENSEMBLE, BOTH, QUORUM = Knows.STOPPED, Knows.ENSEMBLE, Knows.BOTH, Knows.QUORUM
MOST_STEPS = 80


@dataclass
class Kafka:
    """What Kafka and ZooKeeper do of themselves. It raises where a step would leave somebody without a leader."""

    brokers: dict[int, Knows] = field(default_factory=lambda: dict.fromkeys(BROKERS, ENSEMBLE))
    controllers: dict[int, Knows] = field(default_factory=lambda: dict.fromkeys(CONTROLLERS, STOPPED))
    kraft_leads: bool = False
    has_migration: bool = False
    is_over: bool = False
    starting: set[int] = field(default_factory=set)
    soak_left_s: float = 1.0
    ended_way_back: int = 0

    @property
    def leader(self) -> int:
        """The first controller that runs; with all of them, 104: no order of ids is relied on."""
        running = [i for i, k in self.controllers.items() if k is not STOPPED and i not in self.starting]
        return -1 if len(running) < 2 else 104 if 104 in running else running[0]

    def seen(self) -> MigrationSeen:
        told = {b: RegisteredBroker(b, "h", 9092, "a", 1) for b, k in self.brokers.items() if k.has_ensemble}
        epoch = 1 if self.kraft_leads else -1
        registry = RegistrySeen(AT, "c", told, 104 if self.kraft_leads else 1000, 1, epoch, self.has_migration)
        left = sum(k is BOTH for k in self.brokers.values()) if self.kraft_leads else 0
        return MigrationSeen(
            brokers=dict(self.brokers),
            controllers=dict(self.controllers),
            unsettled=frozenset(self.starting | {b for b, k in self.brokers.items() if k is STOPPED} | self._strays()),
            state=self._state(),
            zookeeper_brokers=left,
            leader=self.leader,
            registry=registry,
            soak_left_s=self.soak_left_s,
        )

    def _state(self) -> MigrationState | None:
        if self.leader < 0:
            return None
        if self.is_over:
            return MigrationState.OVER
        return MigrationState.BOTH_WRITTEN if self.kraft_leads else MigrationState.WAITING

    def passes(self) -> None:
        """Time does what comes by itself."""
        if not self.starting and all(k.has_quorum for k in self.brokers.values()) and self.leader >= 0:
            self.kraft_leads = self.kraft_leads or not self.is_over
        if self.kraft_leads and all(k is QUORUM for k in self.brokers.values()):
            self.soak_left_s = 0.0
        self.starting.clear()
        if self.leader >= 0 and self.controllers[self.leader] is QUORUM:
            self.is_over = True
        self.has_migration = self.has_migration or (self.leader >= 0 and not self.is_over)

    def take(self, step: Step) -> None:
        if isinstance(step, StartServices):
            self._start(step)
        elif isinstance(step, Stop):
            self._stop(step)
        elif isinstance(step, ForgetClaim):
            assert not self._controllers_running(), "a controller that runs would write over who leads then"
            self.kraft_leads = self.has_migration = False
        elif isinstance(step, MigrationWaits):
            self.passes()

    def _start(self, step: StartServices) -> None:
        assert not self.starting, f"{step} while {self.starting} is not back"
        if step.service == "broker":
            (broker,) = step.ids
            down = [b for b, k in self.brokers.items() if b != broker and (k is STOPPED or b in self._strays())]
            assert not down, f"{step} beside {down}"
            assert not step.knows.has_quorum or self.leader >= 0, "no controller answers it"
            assert step.knows is not QUORUM or self.kraft_leads, "the quorum does not have the metadata yet"
            assert step.knows is not ENSEMBLE or not self.kraft_leads, "nobody of its own mode leads"
            self.brokers[broker] = step.knows
        else:
            serving = self._controllers_running()
            assert len(step.ids) == 1 or not serving, f"{step} takes the quorum away"
            if step.knows is QUORUM:
                assert all(k is QUORUM for k in self.brokers.values()), "a broker would be left in ZooKeeper"
                self.ended_way_back += step.ends_way_back
                assert self.ended_way_back == 1, "the end of the way back is said once, by the first"
                if step.ids[0] == self.leader:
                    others = [k for i, k in self.controllers.items() if i != self.leader]
                    assert set(others) == {QUORUM}, "the leader goes last"
            self.controllers.update(dict.fromkeys(step.ids, step.knows))
        self.starting.update(step.ids)

    def _stop(self, step: Stop) -> None:
        assert not self.starting
        if step.service == "broker":
            (broker,) = step.ids
            assert self.leader >= 0, "nobody would move its leaders away"
            self.brokers[broker] = STOPPED
        else:
            assert QUORUM not in self.brokers.values(), "a broker would be left without a controller"
            stopped = [b for b, k in self.brokers.items() if k is STOPPED]
            assert not self.kraft_leads or stopped, "nobody would lead for as long as a broker hangs"
            self.controllers.update(dict.fromkeys(step.ids, STOPPED))

    def _strays(self) -> set[int]:
        """In no ISR: who leads does not count them."""
        is_led = self.kraft_leads and self._controllers_running()
        return {b for b, k in self.brokers.items() if k is ENSEMBLE} if is_led else set()

    def _controllers_running(self) -> list[int]:
        return [i for i, k in self.controllers.items() if k is not STOPPED]


def walk(kafka: Kafka, goal: Goal) -> Iterator[Step]:
    """Steps that are taken, until nothing is left to do."""
    for _ in range(MOST_STEPS):
        step = next_step(kafka.seen(), goal)
        yield step
        if isinstance(step, MigrationDone | MigrationBlocked):
            return
        kafka.take(step)
    raise AssertionError(f"{goal}: not there after {MOST_STEPS} steps: {kafka}")


def acts(kafka: Kafka, goal: Goal) -> list[str]:
    taken = [s for s in walk(kafka, goal) if not isinstance(s, MigrationWaits)]
    told = {
        StartServices: "start",
        Stop: "stop",
        ForgetClaim: "forget",
        MigrationDone: "done",
        MigrationBlocked: "blocked",
    }
    return [
        f"{told[type(s)]} {s.ids} {s.knows if isinstance(s, StartServices) else ''}".strip()
        if isinstance(s, StartServices | Stop)
        else told[type(s)]
        for s in taken
    ]


def migrated_to(phase: MigrationPhase) -> Kafka:
    """As far forward as the beginning of that phase."""
    kafka = Kafka()
    for _ in walk(kafka, "kraft"):
        if phase_of(kafka.seen()) is phase:
            return kafka
    raise AssertionError(f"{phase} was never there")


def test_forward_controllers_come_first_and_brokers_are_told_of_both_before_any_of_the_quorum_alone() -> None:
    assert acts(Kafka(), "kraft") == [
        "start (103, 104, 105) both",
        *(f"start ({b},) both" for b in BROKERS),
        *(f"start ({b},) the quorum" for b in BROKERS),
        "start (103,) the quorum",
        "start (105,) the quorum",
        "start (104,) the quorum",
        "done",
    ]


def test_the_way_back_of_a_cluster_that_writes_both_stops_a_broker_before_the_controllers() -> None:
    kafka = migrated_to(MigrationPhase.WRITTEN_TWICE)
    assert acts(kafka, "zookeeper") == [
        "stop (1000,)",
        "stop (103, 104, 105)",
        "forget",
        *(f"start ({b},) the ensemble" for b in BROKERS),
        "done",
    ]


def test_the_way_back_before_the_quorum_has_the_metadata_needs_no_broker_to_stand_still() -> None:
    kafka = migrated_to(MigrationPhase.BRIDGED)
    assert acts(kafka, "zookeeper") == ["start (1000,) the ensemble", "stop (103, 104, 105)", "forget", "done"]


def test_brokers_that_were_the_quorums_alone_go_back_by_way_of_both() -> None:
    kafka = migrated_to(MigrationPhase.WRITTEN_TWICE)
    while Knows.BOTH in kafka.brokers.values():
        kafka.take(next_step(kafka.seen(), "kraft"))
    back = acts(kafka, "zookeeper")
    assert back[:3] == [f"start ({b},) both" for b in BROKERS]
    assert back[-1] == "done"


def test_wherever_a_person_changes_their_mind_the_cluster_comes_to_rest_in_one_mode() -> None:
    length = len(list(walk(Kafka(), "kraft")))
    ends = []
    for turn in range(length):
        kafka = Kafka()
        for _, step in zip(range(turn), walk(kafka, "kraft"), strict=False):
            assert step
        *_, last = walk(kafka, "zookeeper")
        assert isinstance(last, MigrationBlocked) == bool(kafka.ended_way_back)
        if isinstance(last, MigrationDone):
            assert set(kafka.brokers.values()) == {ENSEMBLE}
            assert set(kafka.controllers.values()) == {STOPPED}
            assert (kafka.has_migration, kafka.kraft_leads) == (False, False)
        ends.append(type(last))
        *_, again = walk(kafka, "kraft")
        assert isinstance(again, MigrationDone), (
            f"turned back at step {turn}, and never came to KRaft after that: {again}"
        )
    assert {MigrationDone, MigrationBlocked} == set(ends)


def test_wherever_the_way_back_is_given_up_it_can_be_taken_again() -> None:
    length = len(list(walk(migrated_to(MigrationPhase.WRITTEN_TWICE), "zookeeper")))
    sent_back = 0
    for turn in range(length):
        kafka = migrated_to(MigrationPhase.WRITTEN_TWICE)
        for _, step in zip(range(turn), walk(kafka, "zookeeper"), strict=False):
            assert step
        *_, forward = walk(kafka, "kraft")
        if isinstance(forward, MigrationBlocked):
            assert "go back to ZooKeeper first" in forward.reason
            *_, back = walk(kafka, "zookeeper")
            assert isinstance(back, MigrationDone)
            sent_back += 1
    assert sent_back, "after the controllers were stopped the only way is on to ZooKeeper"


def test_however_often_a_person_changes_their_mind_each_step_is_safe_and_one_mode_is_reached() -> None:
    """The model asserts at every step; a mind is changed with a chance of one in four."""
    ends = set()
    for seed in range(300):
        chance, kafka, goal = Random(seed), Kafka(), cast(Goal, "kraft")
        for _ in range(60):
            if chance.random() < 0.25:
                goal = "zookeeper" if goal == "kraft" else "kraft"
            kafka.take(next_step(kafka.seen(), goal))
        wanted: Goal = "kraft" if kafka.ended_way_back else "zookeeper"
        *_, last = walk(kafka, wanted)
        assert isinstance(last, MigrationDone), f"seed {seed}: {last}"
        ends.add(wanted)
    assert ends == {"kraft", "zookeeper"}


@pytest.mark.parametrize("goal", ["kraft", "zookeeper"])
def test_a_broker_sent_back_in_the_moment_in_which_the_quorum_began_to_lead_is_told_of_it_again(goal: Goal) -> None:
    kafka = Kafka()
    while Knows.ENSEMBLE in kafka.brokers.values() or kafka.starting:
        kafka.take(next_step(kafka.seen(), "kraft"))
        if kafka.starting == {1002}:
            kafka.starting.clear()
    kafka.kraft_leads = False
    back = next_step(kafka.seen(), "zookeeper")
    kafka.take(back)
    kafka.kraft_leads = True
    kafka.starting.clear()
    assert isinstance(back, StartServices)
    assert kafka.seen().unsettled == {1000}
    again = next_step(kafka.seen(), goal)
    assert isinstance(again, StartServices)
    assert (again.ids, again.knows) == ((1000,), BOTH)
    *_, last = walk(kafka, goal)
    assert isinstance(last, MigrationDone)


def test_the_first_controller_of_the_quorum_alone_is_the_point_of_no_return_and_says_so() -> None:
    steps = [s for s in walk(Kafka(), "kraft") if isinstance(s, StartServices) and s.ends_way_back]
    assert [(s.service, s.ids) for s in steps] == [("controller", (103,))]
    assert "no way back" in steps[0].reason
    seen = migrated_to(MigrationPhase.FINALISED).seen()
    assert "103 were started without ZooKeeper" in may_go_back(seen)
    back = next_step(seen, "zookeeper")
    assert isinstance(back, MigrationBlocked)
    assert "there is no way back" in back.reason


def test_before_that_there_is_a_way_back() -> None:
    for phase in (
        MigrationPhase.ZOOKEEPER,
        MigrationPhase.PROVISIONED,
        MigrationPhase.BRIDGED,
        MigrationPhase.WRITTEN_TWICE,
    ):
        assert may_go_back(migrated_to(phase).seen()) == ""


def test_the_soak_is_waited_for_while_there_is_a_way_back() -> None:
    kafka = migrated_to(MigrationPhase.WRITTEN_TWICE)
    seen = replace(kafka.seen(), brokers=dict.fromkeys(BROKERS, QUORUM), zookeeper_brokers=0, soak_left_s=90.0)
    step = next_step(seen, "kraft")
    assert isinstance(step, MigrationWaits)
    assert "soaking 90 s more while there is a way back" in step.reason


@pytest.mark.parametrize(
    ("phase", "changed", "said"),
    [
        (MigrationPhase.PROVISIONED, {"state": None}, "elect a leader"),
        (MigrationPhase.PROVISIONED, {"state": MigrationState.NONE, "leader": 103}, "does not wait for brokers"),
        (MigrationPhase.BRIDGED, {"unsettled": frozenset({1000})}, "waiting for 1000 to be back"),
        (MigrationPhase.WRITTEN_TWICE, {"leader": -1}, "elect a leader"),
    ],
)
def test_nothing_begins_on_a_guess(phase: MigrationPhase, changed: dict[str, object], said: str) -> None:
    step = next_step(replace(migrated_to(phase).seen(), **changed), "kraft")  # type: ignore[arg-type]
    assert isinstance(step, MigrationWaits)
    assert said in step.reason


def test_brokers_are_not_the_quorums_before_zookeeper_names_its_leader() -> None:
    seen = migrated_to(MigrationPhase.WRITTEN_TWICE).seen()
    step = next_step(replace(seen, registry=replace(seen.registry, kraft_epoch=-1)), "kraft")
    assert isinstance(step, MigrationWaits)
    assert "does not name the quorum's leader yet" in step.reason


@pytest.mark.parametrize("knows", [ENSEMBLE, STOPPED])
def test_a_broker_the_quorum_leads_without_knowing_of_it_is_told_before_any_other_goes_on(knows: Knows) -> None:
    seen = migrated_to(MigrationPhase.WRITTEN_TWICE).seen()
    step = next_step(replace(seen, brokers={**seen.brokers, 1002: knows}), "kraft")
    assert isinstance(step, StartServices)
    assert (step.ids, step.knows) == ((1002,), BOTH)


def test_the_migration_is_over_by_the_quorums_own_word_and_not_by_ours() -> None:
    kafka = migrated_to(MigrationPhase.FINALISED)
    told = {"brokers": dict.fromkeys(BROKERS, QUORUM), "controllers": dict.fromkeys(CONTROLLERS, QUORUM)}
    settled = replace(kafka.seen(), **told, unsettled=frozenset(), leader=104)  # type: ignore[arg-type]
    step = next_step(replace(settled, state=MigrationState.BOTH_WRITTEN), "kraft")
    assert isinstance(step, MigrationWaits)
    assert "does not call the migration over yet" in step.reason


def test_a_broker_that_the_quorum_still_counts_as_zookeepers_holds_the_end_back() -> None:
    kafka = migrated_to(MigrationPhase.WRITTEN_TWICE)
    seen = replace(kafka.seen(), brokers=dict.fromkeys(BROKERS, QUORUM), zookeeper_brokers=1, soak_left_s=0.0)
    step = next_step(seen, "kraft")
    assert isinstance(step, MigrationWaits)
    assert "still counts 1 brokers" in step.reason


def test_a_broker_that_knows_the_ensemble_alone_is_named_once_the_migration_is_over() -> None:
    seen = replace(
        migrated_to(MigrationPhase.FINALISED).seen(), brokers={**dict.fromkeys(BROKERS, QUORUM), 1001: ENSEMBLE}
    )
    step = next_step(seen, "kraft")
    assert isinstance(step, MigrationBlocked)
    assert "brokers 1001 are not KRaft's" in step.reason

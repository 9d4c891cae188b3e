"""Who goes next, and the plan a person reads: the same ladder, replayed to its end."""

from dataclasses import replace
from typing import Any

import pytest

from events.jvm import Jvm, JvmChange
from planner.rollout.desired import DesiredNode, desired_nodes
from planner.rollout.diff import BornWith, Change, Incumbent, IncumbentDisks, IncumbentReasons, NodeChange, node_changes
from planner.rollout.order import Work, next_work, restart_order, who_leads
from planner.rollout.steps import BOOT_S, KAFKA_REACHES_OF_THROTTLE, RolloutAssumptions, RolloutPlan, rollout_plan
from tests.builders import a_document, a_snapshot

NODES = {n.node: n for n in desired_nodes(a_document())}
NEWER = {n.node: n for n in desired_nodes(a_document(version="4.2.0", brokers=6))}
IDS = {n: k + (100 if n.startswith("controllers") else 997) for k, n in enumerate(NODES)}


BORN = {"config": "config", "born_gib": "disk_gib", "born_heap_mib": "heap_mib"}
REASONS = {"restart_asked", "replace_asked"}


def _has(node: str, **overrides: Any) -> Incumbent:
    n = NODES.get(node) or NEWER[node]
    known = Incumbent(
        n.node, 1, n.rack, n.index, n.service, IDS.get(node, 1010), n.digest, n.kafka_version, n.shape, lost=False
    )
    parts = {
        "born": BornWith(**{k: overrides.pop(name) for name, k in BORN.items() if name in overrides}),
        "reasons": IncumbentReasons(**{k: overrides.pop(k) for k in REASONS & overrides.keys()}),
        "disks": IncumbentDisks(gib=overrides.pop("disk_gib", 0)),
        "jvm": Jvm(overrides.pop("heap_mib", 0), overrides.pop("options", ())),
    }
    return replace(known, **parts, **overrides)


def _work(*incumbents: Incumbent, wanted: Any = NODES, surge: int = 1, leader: int = 100) -> Work | None:
    return next_work(node_changes(wanted.values(), incumbents), surge=surge, leaders={leader})


def _all(**overrides: Any) -> list[Incumbent]:
    return [_has(n, **overrides) for n in NODES]


# --- diff -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("want", "have", "change", "reason"),
    [
        ("brokers-a-0", None, Change.CREATE, "does not exist yet"),
        (None, {}, Change.REMOVE, "not in the spec any more"),
        (None, {"lost": True}, Change.REMOVE, "not in the spec any more"),
        ("brokers-a-0", {}, Change.KEEP, ""),
        ("brokers-a-0", {"lost": True}, Change.REPLACE, "the VM of brokers-a-0 is gone"),
        ("brokers-a-0", {"digest": "x", "kafka_version": "4.0.0"}, Change.REPLACE, "Kafka 4.0.0 -> 4.1.1"),
        ("brokers-a-0", {"digest": "x", "shape": "large"}, Change.REPLACE, "machine large -> small"),
        ("brokers-a-0", {"digest": "x"}, Change.REPLACE, "its fixed settings changed (x ->"),
        ("brokers-a-0", {"replace_asked": "asked by anna"}, Change.REPLACE, "brokers-a-0: asked by anna"),
        ("brokers-a-0", {"restart_asked": "asked by anna"}, Change.RESTART, "brokers-a-0: asked by anna"),
        (
            "brokers-a-0",
            {"restart_asked": "asked by anna", "restarts": ("num.partitions",)},
            Change.RESTART,
            "Kafka reads num.partitions when it starts",
        ),
        ("brokers-a-0", {"restart_asked": "r", "replace_asked": "asked by ben"}, Change.REPLACE, "asked by ben"),
        ("brokers-a-0", {"heap_mib": 512, "born_heap_mib": 256}, Change.RESTART, "heap 512 -> 256 MiB"),
        (
            "brokers-a-0",
            {"heap_mib": 512, "born_heap_mib": 256, "restarts": ("num.partitions",)},
            Change.RESTART,
            "heap 512 -> 256 MiB; Kafka reads num.partitions when it starts",
        ),
    ],
)
def test_each_difference_has_its_change_and_its_reason(
    want: str | None, have: dict[str, Any] | None, change: Change, reason: str
) -> None:
    wanted: list[DesiredNode] = [NODES[want]] if want else []
    (found,) = node_changes(wanted, [] if have is None else [_has("brokers-a-0", **have)])
    assert found.change is change
    assert reason in found.reason
    assert (found.service, found.rack) == ("broker", "a")


def test_changes_are_in_the_order_of_node_names() -> None:
    assert [c.node for c in node_changes(NODES.values(), [])] == sorted(NODES)


# --- the ladder -------------------------------------------------------------------------------------------------------


def test_with_everything_as_it_should_be_there_is_no_work() -> None:
    assert _work(*_all()) is None


def test_what_is_lost_goes_before_what_is_missing() -> None:
    lost = [_has(n, lost=n == "brokers-c-0") for n in NODES if n != "brokers-a-0"]
    work = _work(*lost)
    assert work is not None
    assert (work.change, [c.node for c in work.nodes]) == (Change.REPLACE, ["brokers-c-0"])


def test_what_is_missing_is_made_together_before_anything_outdated() -> None:
    work = _work(*_all(), wanted=NEWER)
    assert work is not None
    assert (work.change, len(work.nodes)) == (Change.CREATE, 3)


def test_a_surplus_node_that_lost_its_vm_goes_before_anything_outdated() -> None:
    """A dead broker that nobody wants back holds every gate shut until it is gone."""
    dead = _has("brokers-a-1", service_id=1003, lost=True)
    work = _work(*_all(digest="old"), dead)
    assert work is not None
    assert (work.change, [c.node for c in work.nodes]) == (Change.REMOVE, ["brokers-a-1"])


def test_a_lost_controller_goes_before_outdated_brokers() -> None:
    present = [_has(n, digest="old", lost=n == "controllers-b-0") for n in NODES]
    work = _work(*present)
    assert work is not None
    assert [c.node for c in work.nodes] == ["controllers-b-0"]


def _order(surge: int = 1, leader: int = 101) -> list[list[str]]:
    """The whole roll of six brokers and three controllers."""
    wanted = {n.node: n for n in desired_nodes(a_document(brokers=6))}
    left: list[NodeChange] = list(node_changes(wanted.values(), [_has(n, digest="old") for n in wanted]))
    order: list[list[str]] = []
    while (work := next_work(left, surge=surge, leaders={leader})) is not None:
        order.append([c.node for c in work.nodes])
        left = [c for c in left if c.node not in order[-1]]
    return order


def test_the_active_controller_of_zookeeper_mode_is_the_last_of_all_brokers_and_goes_alone() -> None:
    """Each stop of an active controller is an election: of the first broker it may be one for every broker."""
    active = IDS["brokers-a-0"]
    assert [group for group in _order(surge=2, leader=active) if group[0].startswith("brokers")] == [
        ["brokers-a-1"],
        ["brokers-b-0", "brokers-b-1"],
        ["brokers-c-0", "brokers-c-1"],
        ["brokers-a-0"],
    ]


def test_services_that_are_only_restarted_keep_to_that_order() -> None:
    asked = [_has(n, restart_asked="asked by anna") for n in NODES]
    changes = node_changes(NODES.values(), asked)
    leaders = {IDS["brokers-b-0"], IDS["controllers-a-0"]}
    assert [c.node for c in restart_order(changes, leaders=leaders)] == [
        "brokers-a-0",
        "brokers-c-0",
        "brokers-b-0",
        "controllers-b-0",
        "controllers-c-0",
        "controllers-a-0",
    ]


def test_who_leads_is_known_of_both_modes() -> None:
    assert who_leads(None) == frozenset()
    assert who_leads(a_snapshot(mode="zookeeper", controller=1001)) == {100, 1001}
    assert who_leads(a_snapshot()) == {100, -1}, "in KRaft mode no broker is the controller"


def test_brokers_go_rack_by_rack_then_controllers_with_the_leader_last() -> None:
    assert _order() == [
        ["brokers-a-0"],
        ["brokers-a-1"],
        ["brokers-b-0"],
        ["brokers-b-1"],
        ["brokers-c-0"],
        ["brokers-c-1"],
        ["controllers-a-0"],
        ["controllers-c-0"],
        ["controllers-b-0"],
    ]


@pytest.mark.parametrize("surge", [2, 9])
def test_a_surge_takes_several_brokers_of_one_rack_and_never_two_controllers(surge: int) -> None:
    order = _order(surge=surge)
    assert order[:3] == [[f"brokers-{r}-0", f"brokers-{r}-1"] for r in "abc"]
    assert [len(group) for group in order[3:]] == [1, 1, 1]


def test_surplus_goes_last_all_at_once_and_the_newest_first() -> None:
    extra = [_has(f"brokers-{r}-1", service_id=1003 + k) for k, r in enumerate("abc")]
    work = _work(*_all(), *extra)
    assert work is not None
    assert work.change is Change.REMOVE
    assert [c.node for c in work.nodes] == ["brokers-c-1", "brokers-b-1", "brokers-a-1"]
    outdated = _work(*_all(digest="old"), *extra)
    assert outdated is not None
    assert outdated.change is Change.REPLACE


# --- the plan ---------------------------------------------------------------------------------------------------------

ASSUMED = RolloutAssumptions(
    bytes_by_broker={1000: 8000, 1001: 16000, 1002: 0}, bandwidth_bytes_per_s=1000, linger_s=5.0, soak_s=30.0, surge=1
)


def _plan(*incumbents: Incumbent, wanted: Any = NODES, **overrides: Any) -> RolloutPlan:
    return rollout_plan(node_changes(wanted.values(), incumbents), assumptions=ASSUMED, **overrides)


def test_a_plan_of_nothing_is_empty() -> None:
    plan = _plan(*_all())
    assert (plan.phases, plan.bytes, plan.seconds, plan.steps) == ((), 0, 0.0, 0)


def test_the_totals_of_a_roll_are_those_of_its_steps() -> None:
    outdated = {n.node: n for n in desired_nodes(a_document(version="4.2.0"))}
    plan = _plan(*_all(), wanted=outdated, finalise="4.2.0", warnings=("mind the gap",))
    assert (len(plan.phases), plan.steps, plan.bytes) == (7, 7, 24_000)
    copying_s = 24_000 / (1000 * KAFKA_REACHES_OF_THROTTLE)
    assert plan.seconds == copying_s + 3 * (5.0 + BOOT_S) + 3 * BOOT_S + 30.0
    assert plan.warnings == ("mind the gap",)
    assert plan.phases[-1].name == "finalise 4.2.0 (no way back after this step)"


def test_steps_side_by_side_last_as_long_as_the_longest() -> None:
    extra = [_has(f"brokers-{r}-1", service_id=1000 + k) for k, r in enumerate("ab")]
    (phase,) = _plan(*_all(), *extra).phases
    assert phase.parallel
    assert [s.seconds for s in phase.steps] == [25.0, 15.0]
    assert _plan(*_all(), *extra).seconds == 25.0


def test_what_happens_to_a_node_is_told_in_steps() -> None:
    plan = _plan(*[_has(n, digest="old") for n in NODES if n != "brokers-b-0"])
    how = {s.node: s.how for p in plan.phases for s in p.steps}
    assert how["brokers-b-0"] == ("create", "join")
    assert "drain" in how["brokers-a-0"]
    assert "hand over volume and address" in how["controllers-a-0"]


def test_equal_plans_have_equal_digests_and_others_not() -> None:
    rolled = [_has(n, digest="old") for n in NODES]
    assert _plan(*rolled).digest == _plan(*rolled).digest
    assert _plan(*rolled).digest != _plan(*rolled[1:]).digest
    assert _plan(*rolled).digest != _plan(*rolled, warnings=("x",)).digest


def _born_with(born_mib: int, said: int, node: str = "brokers-a-0", **spec: Any) -> Incumbent:
    """Made when the spec said `said` of the heap, which is nothing for 0, and its VM got `born_mib`."""
    born = next(n for n in desired_nodes(a_document(heap=said)) if n.node == node)
    had: dict[str, Any] = {"digest": born.digest, "config": {}, "heap_mib": born_mib, "born_heap_mib": born_mib}
    return _has(node, **{**had, **spec})


def _becomes(have: Incumbent, **spec: Any) -> NodeChange:
    wanted = [n for n in desired_nodes(a_document(**spec)) if n.node == have.node]
    (change,) = node_changes(wanted, [have])
    return change


def test_another_heap_is_a_restart_whether_the_spec_had_named_the_old_one_or_not() -> None:
    for have in (_born_with(512, 512), _born_with(256, 0), _born_with(256, 256)):
        change = _becomes(have, heap=1024)
        assert (change.change, change.jvm.heap_mib, change.is_new_to_it) == (Change.RESTART, 1024, True)


def test_a_spec_that_names_the_heap_there_is_or_drops_it_changes_nothing() -> None:
    assert _becomes(_born_with(256, 0), heap=256).change is Change.KEEP
    assert _becomes(_born_with(256, 256)).change is Change.KEEP


def test_other_options_of_the_jvm_are_a_restart_of_who_has_others() -> None:
    change = _becomes(_born_with(512, 512), heap=512, jvm="-XX:+UseZGC")
    assert (change.change, change.jvm) == (Change.RESTART, JvmChange(options=("-XX:+UseZGC",)))
    assert change.reason == "brokers-a-0: JVM option -XX:+UseZGC added"
    assert change.is_new_to_it
    has = _born_with(512, 512, options=("-XX:+UseZGC",))
    assert _becomes(has, heap=512, jvm="-XX:+UseZGC").change is Change.KEEP
    both = _becomes(has, heap=1024)
    assert both.jvm == JvmChange(1024, ())
    assert both.reason == "brokers-a-0: heap 512 -> 1024 MiB, JVM option -XX:+UseZGC removed"


def test_the_order_of_options_counts() -> None:
    has = _born_with(512, 512, options=("-Xlog:gc", "-Xss1m"))
    change = _becomes(has, heap=512, jvm="-Xss1m, '-Xlog:gc'")
    assert change.reason == "brokers-a-0: JVM options in another order"


def test_who_was_told_the_heap_of_the_spec_is_as_declared_whatever_it_was_born_with() -> None:
    assert _becomes(_born_with(512, 512, heap_mib=1024), heap=1024).change is Change.KEEP
    back = _becomes(_born_with(512, 512, heap_mib=1024), heap=512)
    assert (back.change, back.jvm.heap_mib) == (Change.RESTART, 512)


def test_a_default_that_was_another_when_the_vm_was_made_restarts_nobody() -> None:
    assert _becomes(_born_with(200, 0)).change is Change.KEEP


def test_a_heap_beside_what_no_running_vm_takes_is_another_vm_that_is_born_with_it() -> None:
    for spec in ({"version": "4.2.0"}, {"machine": "medium"}):
        change = _becomes(_born_with(512, 512), heap=1024, **spec)
        assert (change.change, change.jvm.heap_mib) == (Change.REPLACE, 0)


def test_a_heap_beside_a_disk_that_grew_or_other_settings_is_still_the_same_vm() -> None:
    grown = _born_with(512, 512, disk_gib=200, born_gib=100)
    assert _becomes(grown, heap=1024, broker_gib=200).change is Change.RESTART
    both = _becomes(_born_with(512, 512), heap=1024, config=", config: {num.partitions: 6}")
    assert (both.change, both.jvm.heap_mib) == (Change.RESTART, 1024)


def test_an_instance_whose_settings_nobody_knows_is_not_guessed_at() -> None:
    assert _becomes(_born_with(512, 512, config=None), heap=1024).change is Change.REPLACE


def test_the_first_of_each_kind_that_gets_another_heap_is_watched() -> None:
    plan = _plan(*_all(heap_mib=512, born_heap_mib=256))
    assert [p.name.partition(" in place")[0] for p in plan.phases] == [
        "restart the first broker",
        "restart 2 more brokers, one at a time, in b, c",
        "restart the first controller",
        "restart 2 more controllers, one at a time, in b, c",
    ]


def test_restarts_that_were_asked_for_are_one_serial_phase_a_service_and_nobody_is_watched() -> None:
    plan = _plan(*_all(restart_asked="asked by anna: leak"))
    assert [(p.name, p.parallel, len(p.steps)) for p in plan.phases] == [
        ("restart 3 brokers, one at a time, in a, b, c", False, 3),
        ("restart 3 controllers, one at a time, in a, b, c", False, 3),
    ]
    assert all("soak" not in s.how for p in plan.phases for s in p.steps)


def test_brokers_of_a_rack_that_may_restart_together_are_said_to_and_controllers_never_do() -> None:
    asked = "asked by anna: leak"
    wanted = {n.node: n for n in desired_nodes(a_document(brokers=5))}
    same = {n: {"digest": wanted[n].digest, "kafka_version": "4.1.1"} for n in ("brokers-a-1", "brokers-b-1")}
    extra = [_has(n, service_id=1010 + k, restart_asked=asked, **same[n]) for k, n in enumerate(same)]
    changes = node_changes(wanted.values(), (*_all(restart_asked=asked), *extra))
    three = rollout_plan(changes, assumptions=replace(ASSUMED, restarts_together=3))
    assert [p.name for p in three.phases if p.name.startswith("restart")] == [
        "restart 5 brokers, up to 2 of a rack at a time where no partition needs two of them, in a, b, c",
        "restart 3 controllers, one at a time, in a, b, c",
    ]

"""`kedge chaos` and `kedge moves`: what is allowed, and what is refused in which words."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.commands import AdoptMoves, CommandRefused, InjectChaos, TakeBackMoves
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.cluster.views.stuck_moves import StuckMovesView
from controlplane.commands.deciders.chaos import Fault, chaos_asked, why_unhealthy
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.stuck_moves import moves_adopted, moves_taken_back
from controlplane.converger.steps.chaos_end import chaos_step
from events import facts
from planner.observed import QuorumSeen, VoterSeen
from tests.builders import BEFORE, NOW, a_document, a_drain, a_partition, a_situation, a_snapshot, a_view, an_instance

WHOLE = a_snapshot(a_partition())
A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def order(fault: str = "kill-broker", **about: Any) -> InjectChaos:
    values: dict[str, Any] = {"keys": (A,), "for_s": 60.0, "reason": "game day"}
    return InjectChaos(name="orders", actor="person:anna", command_id="1", fault=fault, **{**values, **about})


def refused(view: ClusterView, command: InjectChaos, kafka: Any = WHOLE) -> CommandRefused:
    with pytest.raises(CommandRefused) as caught:
        chaos_asked(view, command, Lookups(kafka=kafka))
    return caught.value


def on_a_cloud(chaos: str = "forbidden") -> ClusterView:
    document = a_document()
    pools = tuple(
        p.model_copy(update={"place": p.place.model_copy(update={"cloud": "aws"})}) for p in document.spec.pools
    )
    spec = document.spec.model_copy(update={"pools": pools, "chaos": chaos})
    return a_view(document=document.model_copy(update={"spec": spec}))


def test_a_fault_is_recorded_with_who_asked_and_how_long() -> None:
    asked = chaos_asked(a_view(), order("pause"), Lookups(kafka=WHOLE))
    assert isinstance(asked.fact, facts.ChaosInjected)
    assert (asked.fact.fault, asked.fact.keys, asked.fact.for_s) == ("pause", (A,), 60.0)
    assert asked.fact.reason == "asked by anna: game day"
    assert asked.sentence == f"pause of {A} for 60 s"


def test_a_split_is_recorded_with_whom_from_and_which_way() -> None:
    asked = chaos_asked(a_view(), order("split", cut_from="brokers", way="out", loss_percent=9.0), Lookups(kafka=WHOLE))
    assert isinstance(asked.fact, facts.ChaosInjected)
    assert asked.fact.manner == facts.ChaosManner(cut_from="brokers", way="out")
    assert asked.sentence == f"split of {A} from brokers, what goes out for 60 s"


@pytest.mark.parametrize(
    ("fault", "about", "words"),
    [
        ("packet-loss", {"loss_percent": 20.0}, f"packet-loss of {A} of 20 % for 60 s"),
        ("slow-disk", {"mib_per_s": 2.0}, f"slow-disk of {A} to 2 MiB/s for 60 s"),
        ("split", {"cut_from": "control-plane"}, f"split of {A} from control plane for 60 s"),
    ],
)
def test_a_lasting_fault_says_how_it_is_done(fault: str, about: dict[str, Any], words: str) -> None:
    assert chaos_asked(a_view(), order(fault, **about), Lookups(kafka=WHOLE)).sentence == words


@pytest.mark.parametrize(
    ("fault", "about", "words"),
    [
        ("split", {"cut_from": "zoo"}, "nobody is cut off from 'zoo'"),
        ("split", {"way": "up"}, "there is no way 'up'"),
        ("packet-loss", {"loss_percent": 0.0}, "not 0 %"),
        ("packet-loss", {"loss_percent": 101.0}, "not 101 %"),
        ("slow-disk", {"mib_per_s": 0.0}, "0.1 MiB/s to 1000 MiB/s"),
        ("slow-disk", {"mib_per_s": float("nan")}, "0.1 MiB/s to 1000 MiB/s"),
    ],
)
def test_a_manner_that_makes_no_sense_is_refused(fault: str, about: dict[str, Any], words: str) -> None:
    error = refused(a_view(), order(fault, **about))
    assert error.code == "chaos-manner"
    assert words in str(error)


def test_a_rack_that_is_split_is_all_its_vms_and_one_with_slow_disks_its_brokers() -> None:
    def keys(fault: str) -> set[str]:
        fact = chaos_asked(a_view(), order(fault, keys=(), rack="a", mib_per_s=1.0), Lookups(kafka=WHOLE)).fact
        assert isinstance(fact, facts.ChaosInjected)
        return set(fact.keys)

    assert keys("split") == {A, "controllers-a-0.g1"}
    assert keys("slow-disk") == {A}


def test_zookeeper_is_killed_where_it_runs() -> None:
    assert refused(a_view(), order("kill-zookeeper")).code == "not-a-zookeeper"


def test_a_server_beside_a_broker_is_killed_as_one_on_a_vm_of_its_own_and_not_once_it_has_left() -> None:
    view = a_view()
    beside = replace(view.instances[A].planned, member=facts.PlannedMember(103, "zookeeper-103", 128))
    host = replace(view.instances[A], planned=beside)
    sharing = replace(view, instances={**view.instances, A: host})
    assert chaos_asked(sharing, order("kill-zookeeper"), Lookups(kafka=WHOLE)).sentence == f"kill-zookeeper of {A}"
    left = replace(view, instances={**view.instances, A: replace(host, member=replace(host.member, gone=True))})
    assert refused(left, order("kill-zookeeper")).code == "not-a-zookeeper"


@pytest.mark.parametrize("fault", ["split", "packet-loss", "slow-disk"])
def test_on_a_cloud_faults_that_need_hands_are_refused_even_where_chaos_is_allowed(fault: str) -> None:
    about = {"loss_percent": 5.0, "mib_per_s": 1.0}
    assert refused(on_a_cloud(), order(fault, **about)).code == "chaos-forbidden"
    view = on_a_cloud("allowed")
    assert refused(view, order(fault, **about)).code == "name-mismatch"
    assert refused(view, order(fault, confirm=view.name, **about)).code == "chaos-not-here"


def test_a_node_names_its_vm() -> None:
    asked = chaos_asked(a_view(), order(keys=("brokers-a-0",)), Lookups(kafka=WHOLE))
    assert isinstance(asked.fact, facts.ChaosInjected)
    assert asked.fact.keys == (A,)


def test_a_rack_is_all_its_vms() -> None:
    asked = chaos_asked(a_view(), order("kill-rack", keys=(), rack="a"), Lookups(kafka=WHOLE))
    assert isinstance(asked.fact, facts.ChaosInjected)
    assert set(asked.fact.keys) == {A, "controllers-a-0.g1"}


@pytest.mark.parametrize(
    ("about", "code"),
    [
        ({"fault": "set-on-fire"}, "unknown-fault"),
        ({"for_s": 0.0}, "chaos-time"),
        ({"for_s": 3601.0}, "chaos-time"),
        ({"keys": ("brokers-z-0",)}, "unknown-node"),
        ({"keys": ()}, "unknown-node"),
        ({"keys": ("controllers-a-0",)}, "not-a-broker"),
        ({"keys": (A, B)}, "several-racks"),
        ({"fault": "kill-rack", "rack": "z"}, "unknown-rack"),
    ],
)
def test_what_makes_no_sense_is_refused(about: dict[str, Any], code: str) -> None:
    assert refused(a_view(), order(**about)).code == code


def test_a_fault_nobody_knows_is_refused_with_those_there_are() -> None:
    assert "packet-loss" in refused(a_view(), order("slow-network")).what_next


def test_two_racks_at_once_only_if_asked_for() -> None:
    assert chaos_asked(a_view(), order(keys=(A, B), several_racks=True), Lookups(kafka=WHOLE)).fact is not None


def test_a_second_fault_in_another_rack_counts_with_the_first() -> None:
    open_fault = ChaosView("c", "pause", (B,), "asked by anna", BEFORE, 900.0)
    view = a_view(chaos={"c": open_fault})
    assert refused(view, order(force=True)).code == "several-racks"
    assert refused(view, order(keys=(B,))).code == "not-whole"


@pytest.mark.parametrize(
    ("view", "kafka"),
    [
        (a_view(drain=a_drain()), WHOLE),
        (a_view(an_instance("brokers-b-0", lost_at=BEFORE)), WHOLE),
        (a_view(), a_snapshot(a_partition(isr=(1000, 1001)))),
        (a_view(), a_snapshot(brokers=(1000, 1001), fenced=(1002,))),
        (a_view(), None),
        (a_view(), a_snapshot(a_partition(), quorum=QuorumSeen(100, 1, (VoterSeen(101, "d", 0, True, 60.0),)))),
    ],
)
def test_a_cluster_that_is_not_healthy_is_left_alone_unless_forced(view: ClusterView, kafka: Any) -> None:
    assert why_unhealthy(view, kafka)
    assert refused(view, order(), kafka).code == "not-whole"
    assert chaos_asked(view, order(force=True), Lookups(kafka=kafka)).fact is not None


def test_off_the_local_cloud_the_spec_has_to_allow_it() -> None:
    assert refused(on_a_cloud(), order("kill-vm", confirm="orders")).code == "chaos-forbidden"


def test_off_the_local_cloud_the_name_is_typed_out() -> None:
    assert refused(on_a_cloud("allowed"), order("kill-vm")).code == "name-mismatch"
    assert chaos_asked(on_a_cloud("allowed"), order("kill-vm", confirm="orders"), Lookups(kafka=WHOLE)).fact is not None


@pytest.mark.parametrize("fault", sorted(set(Fault) - {"kill-vm", "kill-rack"}))
def test_off_the_local_cloud_there_is_only_what_its_port_can_do(fault: str) -> None:
    assert refused(on_a_cloud("allowed"), order(fault, confirm="orders")).code == "chaos-not-here"


def test_a_fault_ends_by_the_clock() -> None:
    view = a_view(chaos={"c": ChaosView("c", "pause", (A,), "asked by anna", NOW - timedelta(seconds=60), 60.0)})
    verdict = chaos_step(a_situation(view))
    assert verdict is not None
    assert verdict.events == (facts.ChaosEnded("c", "its 60 s are over"),)
    assert chaos_step(a_situation(replace(view, requests=replace(view.requests, chaos={})))) is None


MOVING = a_partition(
    "orders-0", (1000, 1001, 1002, 1010), isr=(1000, 1001, 1002), adding=(1010,), removing=(1000,), min_isr=2
)
BUSY = a_snapshot(MOVING, brokers=(1000, 1001, 1002, 1010))


def take_back(*partitions: str) -> TakeBackMoves:
    return TakeBackMoves(
        name="orders", actor="person:anna", command_id="1", reason="a dead tool", partitions=partitions
    )


def test_a_foreign_move_is_taken_back_when_a_person_says_so() -> None:
    asked = moves_taken_back(a_view(), take_back("orders-0"), Lookups(kafka=BUSY))
    assert asked.fact == facts.MovesCancelRequested(("orders-0",), "asked by anna: a dead tool")
    again = a_view(stuck=StuckMovesView(cancelling={"orders-0": "asked by anna"}))
    assert moves_taken_back(again, take_back("orders-0"), Lookups(kafka=BUSY)).fact is None


@pytest.mark.parametrize(
    ("view", "name", "kafka", "code"),
    [
        (a_view(), "orders-1", BUSY, "not-moving"),
        (a_view(), "orders-0", None, "kafka-unknown"),
        (a_view(), "orders-0", a_snapshot(replace(MOVING, isr=(1000, 1010))), "too-few-in-sync"),
        (a_view(drain=a_drain()), "orders-0", BUSY, "moves-of-kedge"),
    ],
)
def test_a_move_is_not_taken_back(view: ClusterView, name: str, kafka: Any, code: str) -> None:
    with pytest.raises(CommandRefused) as caught:
        moves_taken_back(view, take_back(name), Lookups(kafka=kafka))
    assert caught.value.code == code


def test_a_foreign_move_may_be_known() -> None:
    command = AdoptMoves(name="orders", actor="person:anna", command_id="1", reason="ours", partitions=("orders-0",))
    assert moves_adopted(a_view(), command, Lookups(kafka=BUSY)).fact == facts.MovesAdopted(
        ("orders-0",), "asked by anna: ours"
    )

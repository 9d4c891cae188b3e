"""One found cluster: what runs is placed as it was, nothing is used twice, and what does not fit is told or refused."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import StartView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.documents import document_after_release, document_for
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.observation import Observation
from controlplane.converger.situation.situation import Situation
from controlplane.server.rebuild.clusters import RebuiltCluster, rebuild_cluster
from controlplane.server.rebuild.evidence import FoundCluster, Weight
from events.ids import kafka_uuid
from events.jvm import JvmChange
from planner.observed import FeatureSeen, KafkaSnapshot
from providers.base import CloudVolume, InstanceState, Place
from tests.builders import NODES, NOW, a_document
from tests.changed_view import changed_view
from tests.unit.controlplane.server.rebuild.rebuild_evidence import (
    UID,
    a_kafka,
    a_spec_file,
    a_vm,
    as_declared,
    found,
    what_ran,
)


def rebuilt(cluster: FoundCluster, **spec: Any) -> RebuiltCluster:
    return rebuild_cluster(cluster, a_spec_file(a_document(**spec)), now=NOW)


def told(cluster: RebuiltCluster, weight: Weight) -> str:
    return "\n".join(f"{f.subject}: {f.message}" for f in cluster.findings if f.weight is weight)


def ran_with(*instances: Any) -> ClusterView:
    """The lost fold: these instances, and the other nodes at rest."""
    named = {i.node for i in instances}
    return what_ran(*instances, *(as_declared(n) for n in NODES if n not in named))


def test_a_cluster_at_rest_comes_out_as_it_went_in() -> None:
    ran = what_ran()
    after = rebuilt(found(ran))
    assert after.findings == ()
    # Instances of old histories do not say their port; agents do.
    planned = {k: replace(i.planned, port=9092 * i.is_broker) for k, i in ran.instances.items()}
    assert {k: i.planned for k, i in after.view.instances.items()} == planned
    assert (after.view.quorum.founding, after.view.vms.node_addresses) == (ran.quorum.founding, ran.vms.node_addresses)
    assert (after.view.roll.converged, after.view.generation, after.view.vms.next_broker_id) == (1, 1, 1003)
    assert {i.intent for i in after.view.alive()} == {i.intent for i in ran.alive()}
    assert all(document_after_release(after.view, key) for key in ran.instances)


def test_while_it_is_held_nothing_is_decided_and_no_agent_is_told_anything() -> None:
    view = rebuilt(found(), version="4.2.0").view
    verdict = decide(Situation(view, Observation(), NOW))
    assert (verdict.effects, verdict.wait and verdict.wait.reason) == ((), "Held")
    assert verdict.wait is not None
    assert verdict.wait.next_command == "kedge resume orders"
    assert all(document_for(view, key, epoch=8) is None for key in view.instances)


def test_nothing_is_decided_about_a_tombstone_either() -> None:
    view = replace(rebuilt(found()).view, requests=replace(rebuilt(found()).view.requests, tombstone="gone mad"))
    assert decide(Situation(view, Observation(), NOW)).effects == ()


def test_after_the_release_agents_are_told_what_they_were_told_before() -> None:
    ran = what_ran()
    after = replace(rebuilt(found(ran)).view, requests=replace(rebuilt(found(ran)).view.requests, held=""))
    for key in ran.instances:
        assert document_for(after, key, epoch=7) == document_for(ran, key, epoch=7)


def test_without_any_document_kafka_tags_and_the_spec_say_the_same() -> None:
    ran = what_ran()
    blind = found(ran, vms=tuple(a_vm(ran, i, document=False) for i in ran.alive()))
    after = rebuilt(blind)
    assert not after.refused
    assert {k: (i.service_id, i.planned.volumes) for k, i in after.view.instances.items()} == {
        k: (i.service_id, i.planned.volumes) for k, i in ran.instances.items()
    }
    assert "heap, settings: as the spec has it" in told(after, Weight.ASSUMED)
    assert {i.planned.digest for i in after.view.alive()} == {i.planned.digest for i in ran.alive()}


def test_without_documents_and_without_kafka_nobody_knows_the_ids() -> None:
    ran = what_ran()
    blind = found(ran, vms=tuple(a_vm(ran, i, document=False) for i in ran.alive()), kafka=None)
    after = rebuilt(blind)
    assert after.refused
    assert after.facts == ()
    assert "which id" in told(after, Weight.REFUSES)


def test_kafka_out_of_reach_is_told_and_the_documents_are_believed() -> None:
    after = rebuilt(found(kafka=None, kafka_missing="no route to host"))
    assert not after.refused
    assert "no route to host" in told(after, Weight.ASSUMED)
    assert {i.phase for i in after.view.alive()} == {Phase.JOINED}
    assert after.view.roll.converged == 0, "whether the levels are final is looked at once it is resumed"


def test_a_cluster_that_was_being_born_is_left_to_the_cloud() -> None:
    ran = changed_view(what_ran(), founding=None)
    after = rebuilt(found(ran, kafka=None))
    assert "it was being born" in told(after, Weight.REFUSES)


# --- nothing is used twice --------------------------------------------------------------------------------------


def test_a_controller_that_is_in_two_places_is_left_to_a_person() -> None:
    """Its node has an address in each, and nothing that is left tells which one counts."""
    successor = as_declared("controllers-a-0", 2, Phase.LAUNCHED, new_disk=True, relieves="controllers-a-0.g1")
    view = ran_with(as_declared("controllers-a-0"), successor)
    evidence = found(view)
    there = Place("local", "local-2")
    vms = tuple(replace(v, place=there if v.key == successor.key else Place("local", "local-1")) for v in evidence.vms)
    after = rebuilt(replace(evidence, vms=vms))
    assert after.refused
    assert "which of two addresses controllers-a-0 has" in told(after, Weight.REFUSES)


def test_ids_of_the_departed_are_counted_as_spent() -> None:
    spent = {**dict.fromkeys(NODES, 1), "brokers-a-1": 2, "brokers-b-1": 1}
    assert rebuilt(found(spent=spent)).view.vms.next_broker_id == 1006


def test_the_next_id_is_above_all_that_kafka_names() -> None:
    kafka = a_kafka(what_ran())
    some = next(iter(kafka.brokers.values()))
    brokers = {**kafka.brokers, 1040: replace(some, id=1040, fenced=True)}
    after = rebuilt(found(kafka=replace(kafka, brokers=brokers)))
    assert after.view.vms.next_broker_id == 1041
    assert "broker 1040: Kafka knows it, no VM runs it" in told(after, Weight.DIFFERS)


def test_generations_and_volumes_begin_above_those_that_were_used() -> None:
    left = CloudVolume("brokers-a-0.data.v3", UID, "a", 100, None)
    cluster = found(spent={**dict.fromkeys(NODES, 1), "brokers-a-0": 3})
    after = rebuilt(replace(cluster, volumes={**cluster.volumes, left.key: left}))
    spent = after.view.vms.spent["brokers-a-0"]
    assert (spent.generation, spent.volume_version) == (3, 3)
    assert "brokers-a-0.data.v3: a volume no VM of this cluster needs" in told(after, Weight.NOTED)


def test_where_the_cloud_forgets_everything_leaps() -> None:
    after = rebuilt(found(spent=None))
    assert after.view.vms.next_broker_id == 2003
    assert {s.generation for s in after.view.vms.spent.values()} == {101}


# --- where an instance stands -----------------------------------------------------------------------------------


def stands(ran: ClusterView, key: str, *, kafka: KafkaSnapshot | None = None) -> tuple[Phase, bool, bool]:
    after = rebuilt(found(ran, kafka=kafka or a_kafka(ran)))
    assert not after.refused, after.findings
    instance = after.view.instances[key]
    return (instance.phase, instance.bound, instance.departure.drained)


def test_a_new_broker_that_serves_beside_the_old_one_has_joined() -> None:
    ran = ran_with(as_declared("brokers-a-0"), as_declared("brokers-a-0", 2))
    assert stands(ran, "brokers-a-0.g2")[0] is Phase.JOINED
    assert stands(ran, "brokers-a-0.g1")[0] is Phase.JOINED


def test_a_new_broker_that_kafka_does_not_know_yet_is_on_its_way() -> None:
    ran = ran_with(as_declared("brokers-a-0"), as_declared("brokers-a-0", 2, Phase.LAUNCHED))
    kafka = a_kafka(ran)
    without = replace(kafka, brokers={b: s for b, s in kafka.brokers.items() if b != 1010})
    assert stands(ran, "brokers-a-0.g2", kafka=without)[0] is Phase.LAUNCHED


def test_an_old_broker_that_was_told_to_stop_is_fenced_and_then_proved_stopped() -> None:
    ran = ran_with(as_declared("brokers-a-0", 1, Phase.FENCING), as_declared("brokers-a-0", 2))
    assert stands(ran, "brokers-a-0.g1") == (Phase.FENCING, True, True)


def test_a_new_broker_that_was_given_up_has_failed() -> None:
    ran = ran_with(as_declared("brokers-a-0"), as_declared("brokers-a-0", 2, Phase.FAILED))
    assert stands(ran, "brokers-a-0.g2")[0] is Phase.FAILED


@pytest.mark.parametrize(("bound", "phase"), [(True, Phase.FENCING), (False, Phase.RELEASED)])
def test_an_old_controller_stands_where_its_disk_and_address_are(bound: bool, phase: Phase) -> None:
    old = as_declared("controllers-a-0", 1, Phase.FENCED if bound else Phase.RELEASED, bound=bound)
    new = as_declared("controllers-a-0", 2, Phase.LAUNCHED, handover=True, bound=False, service_id=100)
    ran = ran_with(replace(old, bound=bound), new)
    assert stands(ran, "controllers-a-0.g1") == (phase, bound, False)
    successor = rebuilt(found(ran)).view.instances["controllers-a-0.g2"]
    assert (successor.phase, successor.bound, successor.service_id, successor.planned.handover) == (
        Phase.LAUNCHED,
        False,
        100,
        True,
    )
    assert successor.planned.volumes == old.planned.volumes


def test_a_dead_vm_stays_known_so_that_the_loss_can_be_seen_to() -> None:
    ran = what_ran()
    vms = tuple(
        a_vm(ran, i, state=InstanceState.GONE if i.key == "brokers-b-0.g1" else InstanceState.RUNNING)
        for i in ran.alive()
    )
    after = rebuilt(found(ran, vms=vms))
    assert after.view.instances["brokers-b-0.g1"].phase is Phase.JOINED
    assert after.view.roll.converged == 0


def test_starts_are_counted_on_so_that_a_spent_one_is_never_asked_for_again() -> None:
    ran = ran_with(replace(as_declared("brokers-a-0"), start=StartView(count=3)))
    assert rebuilt(found(ran)).view.instances["brokers-a-0.g1"].start.count == 3


# --- what differs is told, what contradicts itself is refused ----------------------------------------------------


def test_a_newer_spec_is_told_vm_by_vm_and_means_work_once_resumed() -> None:
    after = rebuilt(found(), version="4.2.0", machine="medium")
    assert not after.refused
    assert "brokers-a-0.g1: Kafka 4.1.1, the spec says 4.2.0; machine small, the spec says medium" in told(
        after, Weight.DIFFERS
    )
    assert "replaced once it is resumed" in told(after, Weight.DIFFERS)
    assert after.view.roll.converged == 0


def test_a_changed_property_is_a_difference_and_what_follows_from_the_size_is_none() -> None:
    config = ", config: {num.io.threads: 4}"
    after = rebuilt(found(), config=config)
    assert "num.io.threads=unset, the spec says 4" in told(after, Weight.DIFFERS)
    assert "replaced" not in told(after, Weight.DIFFERS), "Kafka takes it live"
    assert after.view.roll.converged == 0
    fixed = rebuilt(found(), config=", config: {num.partitions: 4}")
    assert "Kafka reads num.partitions when it starts: restarted once it is resumed" in told(fixed, Weight.DIFFERS)
    ran = what_ran()
    sized = tuple(
        replace(i, planned=replace(i.planned, settings={**i.planned.settings, "default.replication.factor": "2"}))
        for i in ran.alive()
    )
    after = rebuilt(found(what_ran(*sized)))
    assert told(after, Weight.DIFFERS) == ""


def test_a_heap_an_agent_was_told_is_a_restart_and_no_other_vm() -> None:
    ran = what_ran()
    larger = tuple(replace(i, start=replace(i.start, jvm=JvmChange(2048))) if i.is_broker else i for i in ran.alive())
    after = rebuilt(found(what_ran(*larger)))
    assert "brokers-a-0.g1: heap 2048 MiB, the spec says 256" in told(after, Weight.DIFFERS)
    assert "heap 2048 -> 256 MiB: restarted once it is resumed" in told(after, Weight.DIFFERS)
    assert "replaced" not in told(after, Weight.DIFFERS)
    assert "told something new" not in told(after, Weight.DIFFERS)
    assert after.view.roll.converged == 0


def test_a_node_without_a_vm_and_a_vm_without_a_node_are_told() -> None:
    ran = ran_with(as_declared("brokers-a-1"))
    fewer = replace(ran, instances={k: i for k, i in ran.instances.items() if k != "brokers-c-0.g1"})
    after = rebuilt(found(fewer, kafka=a_kafka(fewer)))
    assert "brokers-c-0 does not exist yet: made once it is resumed" in told(after, Weight.DIFFERS)
    assert "brokers-a-1.g1: the spec has no such node" in told(after, Weight.DIFFERS)
    assert "drained and removed once it is resumed" in told(after, Weight.DIFFERS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"places": (Place("local", "local-2"),)}, "its VMs are in local/default/local-2"),
        ({"kafka": replace(a_kafka(what_ran()), cluster_id="other")}, "different Kafka clusters"),
        (
            {"kafka": replace(a_kafka(what_ran()), features={"metadata.version": FeatureSeen(29, 7, 29)})},
            "metadata level 29 is finalised",
        ),
        ({"vms": (*found().vms, found().vms[0])}, "two VMs say they are this one"),
    ],
    ids=["elsewhere", "somebody-elses-kafka", "an-old-spec", "twins"],
)
def test_what_contradicts_itself_is_refused(change: dict[str, Any], words: str) -> None:
    after = rebuilt(replace(found(), **change))
    assert after.refused
    assert after.facts == ()
    assert words in told(after, Weight.REFUSES)


def test_two_nodes_with_one_id_are_refused() -> None:
    ran = ran_with(as_declared("brokers-b-0", service_id=1000))
    assert "id 1000 is used by brokers-a-0 and brokers-b-0" in told(rebuilt(found(ran)), Weight.REFUSES)


def test_a_half_made_vm_is_given_a_disk_of_its_own_name_and_a_new_id() -> None:
    ran = ran_with(as_declared("brokers-a-0"), as_declared("brokers-a-0", 2, Phase.LAUNCHED))
    cluster = found(ran)
    half = a_vm(ran, ran.instances["brokers-a-0.g2"], document=False, volumes=())
    vms = tuple(half if v.key == half.key else v for v in cluster.vms)
    volumes = {k: v for k, v in cluster.volumes.items() if k != "brokers-a-0.data.v2"}
    after = rebuilt(replace(cluster, vms=vms, volumes=volumes, kafka=a_kafka(what_ran())))
    made = after.view.instances["brokers-a-0.g2"]
    assert (made.phase, made.planned.volumes[0].key) == (Phase.LAUNCHED, "brokers-a-0.data.v2")
    assert made.service_id >= 1003
    assert after.view.vms.next_broker_id > made.service_id


def test_the_kafka_cluster_id_is_the_one_its_uid_gives() -> None:
    ran = what_ran()
    assert ran.quorum.founding is not None
    assert rebuilt(found(ran)).view.quorum.founding == ran.quorum.founding
    assert ran.quorum.founding.kafka_cluster_id == kafka_uuid("kafka", UID)


def test_brokers_that_were_to_move_are_found_where_they_still_are() -> None:
    cluster = found()
    here = Place("local", "local-1")
    moving = replace(cluster, vms=tuple(replace(vm, place=here) for vm in cluster.vms))
    after = rebuilt(moving, brokers_in="local-2").view
    assert {str(place_of(after, i)) for i in after.brokers()} == {str(here)}
    reasons = {c.reason for c in pending_changes(after) if c.service == "broker"}
    assert "brokers-a-0: place local/default/local-1 -> local/default/local-2" in reasons

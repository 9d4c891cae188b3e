"""The plan a person says yes to: the converger's own order, honest figures, and a digest that moves when it should."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controlplane.cluster.data_size import bytes_per_pool
from controlplane.cluster.fold import fold
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.instances import InstanceView, StartView
from controlplane.commands.previews.plan import (
    NO_ADDRESS_SURVIVES,
    PlanPreview,
    combined_digest,
    moved_parts,
    pending_rollout,
    preview,
)
from events.envelope import Recorded
from events.spec.conversion import to_data
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from planner.observed import (
    BrokerSeen,
    KafkaSnapshot,
    LogDirsSeen,
    PartitionSeen,
    QuorumSeen,
    ThrottlesSeen,
    TopicPartition,
)
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import Change
from tests.changed_view import changed_view
from tests.unit.controlplane.api.portal_house import broker
from tests.unit.events.spec_texts import ORDERS, document, edited

AT = datetime(2026, 1, 1, tzinfo=UTC)
GIB = 1024**3


def running(text: KafkaClusterDocument | None = None) -> ClusterView:
    """Three brokers and three controllers, all as declared."""
    text = text or document()
    data = {"uid": "u", "name": "orders", "generation": 1, "document": to_data(text), "source": "t"}
    declared = Recorded(1, "cluster-u", 1, "e", "cluster.declared", 1, data, "p", None, None, 0, AT)
    view = fold(empty_view("u"), [declared])
    instances = {}
    for number, wanted in enumerate(desired_nodes(text)):
        planned = broker(
            wanted.node,
            (1000 if wanted.service == "broker" else 100) + "abc".index(wanted.rack),
            pool=wanted.pool,
            service=wanted.service,
            digest=wanted.digest,
            kafka_version=wanted.kafka_version,
            shape=wanted.shape,
        )
        config = text.spec.kafka.config
        instances[planned.key] = InstanceView(
            planned,
            Phase.JOINED,
            AT,
            "i",
            AT,
            address=f"127.64.0.{number}",
            start=StartView(born_with=config, config=config),
        )
    return changed_view(view, instances=instances, converged=1)


def snapshot(*, size: int = GIB, leader: int = 100) -> KafkaSnapshot:
    partitions = tuple(
        PartitionSeen(TopicPartition("t", n), 1000, (1000, 1001, 1002), (1000, 1001, 1002), 2, size_bytes=size)
        for n in range(4)
    )
    return KafkaSnapshot(
        at=AT,
        cluster_id="k",
        brokers={b: BrokerSeen(b, "a", False, "h", 9092) for b in (1000, 1001, 1002)},
        partitions=partitions,
        quorum=QuorumSeen(leader, 1, ()),
        features={},
        log_dirs={b: LogDirsSeen(4, 4 * size, 100 * GIB, 90 * GIB) for b in (1000, 1001, 1002)},
        throttles=ThrottlesSeen(),
    )


def titles(plan: PlanPreview) -> list[str]:
    return [phase.name for phase in plan.rollout.phases]


def test_a_new_cluster_is_created_at_once() -> None:
    plan = preview(empty_view(""), document(), snapshot=None)
    assert (plan.exists, plan.generation, plan.changes) == (False, 1, ())
    assert titles(plan) == ["create 3 brokers and 3 controllers in a, b, c"]
    assert plan.rollout.phases[0].parallel


def test_what_is_in_force_already_plans_nothing() -> None:
    plan = preview(running(), document(), snapshot=snapshot())
    assert (plan.generation, plan.changes, plan.rollout.phases, plan.warnings) == (1, (), (), ())


def test_a_new_version_replaces_brokers_by_rack_then_controllers_and_finalises() -> None:
    plan = preview(running(), document({7: "    version: 4.2.0"}), snapshot=snapshot(leader=101))
    assert plan.generation == 2
    assert [c.path for c in plan.changes] == ["spec.kafka.version"]
    assert titles(plan) == [
        "replace 1 broker in a",
        "replace 1 broker in b",
        "replace 1 broker in c",
        "replace 1 controller in a",
        "replace 1 controller in c",
        "replace 1 controller in b",
        "finalise 4.2.0 (no way back after this step)",
    ]


def test_the_bytes_of_a_step_are_what_its_broker_holds() -> None:
    plan = preview(running(), document({7: "    version: 4.2.0"}), snapshot=snapshot(size=GIB))
    by_node = {s.node: s.bytes for p in plan.rollout.phases for s in p.steps}
    assert (by_node["brokers-a-0"], by_node["controllers-a-0"]) == (4 * GIB, 0)
    assert plan.rollout.bytes == 12 * GIB


def test_another_patch_release_rolls_and_finalises_nothing() -> None:
    plan = preview(running(), document({7: "    version: 4.1.2"}), snapshot=snapshot())
    assert len(plan.rollout.phases) == 6
    assert not any("finalise" in title for title in titles(plan))


def test_an_upgrade_with_a_pinned_level_finalises_nothing() -> None:
    pinned = document({7: '    version: 4.2.0\n    metadataVersion: "4.1"'})
    assert not any("finalise" in t for t in titles(preview(running(), pinned, snapshot=snapshot())))


def test_lifting_the_pin_finalises_and_rolls_nothing() -> None:
    pinned = document({7: '    version: 4.2.0\n    metadataVersion: "4.1"'})
    plan = preview(running(pinned), document({7: "    version: 4.2.0"}), snapshot=snapshot())
    assert titles(plan) == ["finalise 4.2.0 (no way back after this step)"]


def test_a_roll_back_finalises_nothing() -> None:
    newer = document({7: "    version: 4.2.0"})
    plan = preview(running(newer), document(), snapshot=snapshot())
    assert len(plan.rollout.phases) == 6


def test_clients_are_warned_when_no_published_address_survives() -> None:
    newer = {7: "    version: 4.2.0"}
    assert preview(running(), document(newer), snapshot=None).warnings == (NO_ADDRESS_SURVIVES,)
    with_name = edited(newer, ORDERS + "  bootstrap: {dns: k.example.org}\n")
    named = load_text(with_name)
    assert preview(running(), named, snapshot=None).warnings == ()


def test_clients_are_not_warned_when_a_broker_stays() -> None:
    assert preview(running(), document({19: "      size: 6"}), snapshot=None).warnings == ()


def test_clients_are_not_warned_before_a_broker_was_ever_there() -> None:
    assert preview(empty_view(""), document(), snapshot=None).warnings == ()


def test_the_digest_stands_still_while_records_are_produced_and_leaders_change() -> None:
    newer = document({7: "    version: 4.2.0"})
    before = preview(running(), newer, snapshot=snapshot(size=1, leader=100))
    after = preview(running(), newer, snapshot=snapshot(size=GIB, leader=102))
    assert before.digest == after.digest
    assert before.rollout.bytes != after.rollout.bytes


@pytest.mark.parametrize(
    ("view", "text", "warnings", "moved"),
    [
        (running(), document({7: "    version: 4.2.0"}), (), ["the document", "the steps"]),
        (replace(running(), generation=2), document(), (), ["what is in force on the cluster"]),
        (running(), document(), ("mind this",), ["the steps"]),
        (empty_view(""), document(), (), ["what is in force on the cluster", "the steps"]),
    ],
)
def test_the_digest_says_which_part_moved(
    view: ClusterView, text: KafkaClusterDocument, warnings: tuple[str, ...], moved: list[str]
) -> None:
    old = preview(running(), document(), snapshot=None).digest
    assert moved_parts(old, preview(view, text, snapshot=None, warnings=warnings).digest) == moved


def test_one_plan_alone_is_pinned_by_its_own_digest() -> None:
    assert combined_digest(["a-b-c"]) == "a-b-c"
    assert moved_parts("a-b-c", "a-b-c") == []
    assert moved_parts("nonsense", "a-b-c") == ["`nonsense` is not the digest of such a plan"]


def test_what_is_left_to_do_is_the_plan_of_what_is_in_force() -> None:
    view = running()
    lost = replace(view.instances["brokers-b-0.g1"], lost_at=AT)
    damaged = replace(view, instances={**view.instances, lost.key: lost})
    assert [s.node for p in pending_rollout(damaged, None).phases for s in p.steps] == ["brokers-b-0"]
    assert pending_rollout(view, None).phases == ()
    assert pending_rollout(empty_view("u"), None).phases == ()


def test_an_unknown_machine_type_is_planned_with_a_usual_rate() -> None:
    odd = document({20: "      machine: m7i.large"})
    assert preview(running(odd), odd, snapshot=snapshot()).rollout.phases == ()


def test_the_data_of_a_pool_is_known_only_when_every_broker_told() -> None:
    whole = snapshot(size=GIB)
    assert bytes_per_pool(running(), whole) == {"brokers": 12 * GIB}
    silent = replace(whole, log_dirs={k: v for k, v in whole.log_dirs.items() if k != 1001})
    assert bytes_per_pool(running(), silent) is None
    assert bytes_per_pool(running(), None) is None


def load_text(text: str) -> KafkaClusterDocument:
    result = load_documents(text, file="t.yaml")
    assert result.ok, "\n".join(map(str, result.problems))
    return result.documents[0]


def test_a_setting_kafka_takes_live_touches_no_vm_and_starts_nothing_anew() -> None:
    plan = preview(running(), document({9: "      log.retention.hours: 48"}), snapshot=snapshot())
    assert [p.name for p in plan.rollout.phases] == [
        "set log.retention.ms=172800000 live on broker 1000 first and watch it for 600 s",
        "set log.retention.ms=172800000 live on the other 2",
    ]
    assert {s.change for p in plan.rollout.phases for s in p.steps} == {Change.KEEP}
    assert (plan.rollout.bytes, plan.rollout.seconds) == (0, 615), "5 s a rack, and the soak"
    assert plan.rollout.phases[-1].steps[0].reason.startswith("rack by rack")
    assert plan.effects == {"spec.kafka.config[log.retention.hours]": "set live as log.retention.ms=172800000"}


def test_a_setting_read_at_the_start_restarts_one_service_after_the_other_the_leader_last() -> None:
    edit = document({9: "      log.retention.hours: 72\n      num.partitions: 6"})
    leads = replace(snapshot(), quorum=QuorumSeen(100, 1, ()))
    plan = preview(running(), edit, snapshot=leads, brake="2 of 10 clusters roll")
    assert [p.name for p in plan.rollout.phases] == [
        "restart the first broker in place and watch it for 600 s",
        "restart 2 more brokers, one at a time, in b, c",
        "restart the first controller in place and watch it for 600 s",
        "restart 2 more controllers, one at a time, in c, a",
    ]
    assert [s.node for p in plan.rollout.phases for s in p.steps][3:] == [
        "controllers-b-0",
        "controllers-c-0",
        "controllers-a-0",
    ]
    assert (plan.rollout.bytes, plan.rollout.seconds, plan.warnings) == (0, 1260, ())
    assert plan.brake == "2 of 10 clusters roll"
    assert plan.effects == {
        "spec.kafka.config[num.partitions]": "the service is restarted in place: Kafka reads it only when it starts"
    }


def test_a_changed_setting_says_what_replaced_vms_bring_and_what_is_set_before_them() -> None:
    edit = "      log.retention.hours: 48\n      num.partitions: 6"
    plan = preview(running(), document({9: edit, 14: "      machine: medium"}), snapshot=snapshot())
    assert [(c.path, c.field_class.value) for c in plan.changes] == [
        ("spec.kafka.config[log.retention.hours]", "dynamic"),
        ("spec.kafka.config[num.partitions]", "restart"),
        ("spec.pools[controllers].machine", "static"),
    ]
    assert plan.effects == {
        "spec.kafka.config[log.retention.hours]": (
            "set live as log.retention.ms=172800000; before the VMs are replaced"
        ),
        "spec.kafka.config[num.partitions]": (
            "the service is restarted in place: Kafka reads it only when it starts; "
            "the replaced VMs are started with it"
        ),
    }


def test_what_no_broker_takes_alone_is_set_on_all_after_everything_else() -> None:
    edit = document({9: "      log.retention.hours: 72\n      min.insync.replicas: 1\n      num.partitions: 6"})
    phases = [p.name for p in preview(running(), edit, snapshot=snapshot()).rollout.phases]
    assert phases[-1] == "set min.insync.replicas=1 live"
    assert phases[0] == "restart the first broker in place and watch it for 600 s"


def test_what_is_in_force_is_no_phase_of_a_plan() -> None:
    whole = document()
    assert preview(running(whole), whole, snapshot=snapshot()).rollout.phases == ()


BROKER_HEAP = "      machine: medium\n      heapMib: 512"


def test_another_heap_restarts_the_services_of_its_pool_one_by_one() -> None:
    plan = preview(running(), document({20: BROKER_HEAP}), snapshot=snapshot())
    assert plan.effects == {
        "spec.pools[brokers].heapMib": ("the services are restarted in place: a heap is fixed when Java starts")
    }
    steps = [s for p in plan.rollout.phases for s in p.steps]
    assert [(s.change, s.node, s.reason) for s in steps] == [
        (Change.RESTART, f"brokers-{rack}-0", f"brokers-{rack}-0: heap 256 -> 512 MiB") for rack in "abc"
    ]
    assert plan.rollout.bytes == 0


def test_other_options_of_the_jvm_restart_the_services_of_their_pool() -> None:
    changed = document({20: "      machine: medium\n      jvmOptions: ['-XX:+UseZGC']"})
    plan = preview(running(), changed, snapshot=snapshot())
    assert plan.effects == {
        "spec.pools[brokers].jvmOptions": "the services are restarted in place: Java reads its options when it starts"
    }
    assert {s.reason for p in plan.rollout.phases for s in p.steps} == {
        f"brokers-{rack}-0: JVM option -XX:+UseZGC added" for rack in "abc"
    }


def test_settings_of_a_pool_are_told_by_their_class_and_set_on_its_brokers_alone() -> None:
    own = "      machine: medium\n      config: {num.io.threads: 16, queued.max.requests: 700}"
    plan = preview(running(), document({20: own}), snapshot=snapshot())
    assert plan.effects == {
        "spec.pools[brokers].config[num.io.threads]": (
            "set live on each broker of the pool, at most doubled or halved at a time"
        ),
        "spec.pools[brokers].config[queued.max.requests]": (
            "the service is restarted in place: Kafka reads it only when it starts"
        ),
    }
    assert [p.name for p in plan.rollout.phases][:2] == [
        "set num.io.threads=16 live on broker 1000 first and watch it for 600 s",
        "set num.io.threads=16 live on the other 2 of pool brokers",
    ]
    assert {s.node for p in plan.rollout.phases for s in p.steps} == {
        "settings",
        "brokers-a-0",
        "brokers-b-0",
        "brokers-c-0",
    }


def test_another_heap_comes_with_vms_that_are_replaced_anyway() -> None:
    plan = preview(running(), document({20: BROKER_HEAP.replace("medium", "large")}), snapshot=snapshot())
    assert plan.effects == {"spec.pools[brokers].heapMib": "comes with the replaced VMs"}
    assert {s.change for p in plan.rollout.phases for s in p.steps} == {Change.REPLACE}


def test_a_heap_that_is_there_already_changes_nothing() -> None:
    plan = preview(running(), document({20: BROKER_HEAP.replace("512", "256")}), snapshot=snapshot())
    assert plan.effects == {"spec.pools[brokers].heapMib": "changes nothing: the services have it"}
    assert plan.rollout.phases == ()


def test_other_listeners_say_that_the_vms_are_replaced_and_why() -> None:
    plan = preview(running(), document({23: "", 24: "  listeners: [{port: 9192}]"}), snapshot=snapshot())
    assert set(plan.effects.values()) == {"the VMs are replaced: clients know the addresses of the listeners"}
    assert {s.change for p in plan.rollout.phases for s in p.steps} == {Change.REPLACE}


def test_a_setting_that_leaves_the_spec_falls_back_to_kedges_own_value() -> None:
    plan = preview(running(document({9: "      min.insync.replicas: 1"})), document({8: "", 9: ""}), snapshot=None)
    (effect,) = plan.effects.values()
    assert "set live to 2, which holds without it; only while no roll runs" in effect


def test_a_new_cluster_has_no_effects() -> None:
    assert preview(empty_view(""), document(), snapshot=None).effects == {}

"""Another type or figure of brokers' disks: new VMs with new disks, whatever the strategy, and what is rendered."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.rolls.node_volumes import disks_are_as_wanted
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from events import facts
from events.instance_facts import PlannedDisk
from events.spec.model import KafkaClusterDocument
from planner.rollout.desired import desired_nodes
from planner.rollout.diff import Change
from providers.base import VolumeResource
from providers.variables import module_variables
from tests.builders import BEFORE, a_document, a_situation, a_view, a_volume, an_instance
from tests.changed_view import changed_view

FAST = PlannedDisk("gp3", 6000, 500)


def with_fast_disks(**spec: Any) -> KafkaClusterDocument:
    before = a_document(**spec)
    told = {"type": "gp3", "iops": 6000, "throughput_mib_per_s": 500}
    pools = tuple(
        p.model_copy(update={"disk": p.disk.model_copy(update=told)}) if p.is_broker else p for p in before.spec.pools
    )
    return before.model_copy(update={"spec": before.spec.model_copy(update={"pools": pools})})


def asking_for_fast_ones(**spec: Any) -> ClusterView:
    return changed_view(a_view(document=with_fast_disks(**spec)), generation=2, recycling=2)


def test_brokers_get_new_vms_and_who_votes_is_left_alone() -> None:
    changes = {c.node: c for c in pending_changes(asking_for_fast_ones())}
    assert {n for n, c in changes.items() if c.change is Change.REPLACE} == {f"brokers-{z}-0" for z in "abc"}
    assert "disk as the cloud has it -> gp3, 6000 IOPS, 500 MiB/s" in changes["brokers-a-0"].reason


@pytest.mark.parametrize("strategy", ["migrate", "reattach"])
def test_the_next_vm_has_a_new_disk_of_that_type(strategy: str) -> None:
    (asked,) = decide(a_situation(asking_for_fast_ones(strategy=strategy, max_unavailable=1))).events
    assert isinstance(asked, facts.SurgeRequested)
    (planned,) = asked.instances
    assert not planned.handover, "its data is copied, not carried over"
    assert [(v.version, v.options) for v in planned.volumes] == [(2, FAST)]


def test_a_disk_that_is_as_told_is_taken_along() -> None:
    view = asking_for_fast_ones()
    want = next(n for n in desired_nodes(with_fast_disks()) if n.node == "brokers-a-0")
    plain = an_instance("brokers-a-0")
    fast = an_instance("brokers-a-0", volumes=(replace(a_volume("brokers-a-0"), options=FAST),))
    assert not disks_are_as_wanted(view, plain, want)
    assert disks_are_as_wanted(view, fast, want)


def test_what_is_told_is_rendered_and_of_a_disk_of_before_not_a_word_more() -> None:
    new = an_instance("brokers-a-0", 2, Phase.REQUESTED, volumes=(replace(a_volume("brokers-a-0", 2), options=FAST),))
    run = terraform_run(
        a_view(new),
        IntentView("i", "surge", (new.key,), BEFORE),
        installation_id="test",
        boot_data=lambda i: "boot",
        gone=frozenset(),
    )
    volumes: Any = module_variables(run.resources, cloud={})["volumes"]
    as_ever = {"node", "dir", "version", "zone", "kind", "size_gib"}
    assert volumes["brokers-a-0.data.v1"].keys() == as_ever
    told = {"type": "gp3", "iops": 6000, "throughput_mib_per_s": 500}
    assert {k: v for k, v in volumes["brokers-a-0.data.v2"].items() if k not in as_ever} == told
    assert VolumeResource("b", "data", 1, "a", "persistent", 1).type == ""

"""A cluster of ours as a state file: the metadata, the machine catalogue, the drain in hand."""

import json
from dataclasses import replace
from datetime import timedelta

from controlplane.cluster.hardware import hardware_sources
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.planner_state import catalogue_capacity, cluster_document
from controlplane.cluster.views.drains import DrainView
from planner.drain.model.capacity import FigureOrigin
from planner.drain.model.document import read_state
from providers.given_machines import GivenMachine
from tests.builders import NOW, a_document, a_partition, a_snapshot, a_view

MIB = 2**20
DRAIN = DrainView("d", ("brokers-a-0.g1",), (1000,), {1000: 1003}, (1001, 1002, 1003), 1, NOW)


def test_bandwidth_is_the_catalogues_less_the_clients_share_and_an_assumption() -> None:
    read = read_state(json.dumps(cluster_document(a_view(), a_snapshot(a_partition()))))
    assert set(read.state.brokers.ingress_bytes_per_s.tolist()) == {75.0 * MIB}
    assert read.state.brokers.disk_bytes.tolist() == [10**9 + 1000] * 3, "as brokers tell, not as the spec asks"
    (line,) = [line for line in read.assumptions if "machine catalogue" in line]
    assert line.startswith("ingress_bytes_per_s and egress_bytes_per_s of all 3 brokers: ")
    assert "25% of the NIC left to clients" in line


def test_the_network_is_the_machines_own_and_says_who_told_it() -> None:
    read = read_state(json.dumps(cluster_document(a_view(), a_snapshot(a_partition()))))
    assert read.state.hardware is not None
    assert set(read.state.hardware.nic_in_bytes_per_s.tolist()) == {100.0 * MIB}
    told = "nic_in_bytes_per_s and nic_out_bytes_per_s of all 3 brokers: as the catalogue says of the machine"
    assert told in read.assumptions


def test_a_throttle_changes_what_moves_may_use_and_no_network() -> None:
    document = a_document()
    rollout = document.spec.rollout.model_copy(update={"throttle_mib_per_s": 10})
    slow = document.model_copy(update={"spec": document.spec.model_copy(update={"rollout": rollout})})
    plain, throttled = a_view(document=document), a_view(document=slow)
    assert hardware_sources(throttled) == hardware_sources(plain)
    assert {c.nic_in_bytes_per_s for c in hardware_sources(plain)[1].by_broker.values()} == {100.0 * MIB}


def test_figures_the_spec_gave_of_a_machine_are_told_as_the_specs() -> None:
    view = a_view(machines=(GivenMachine("local", "x9.metal", "x86_64", 8, 65536, 8000),))
    strange = {k: replace(i, planned=replace(i.planned, shape="x9.metal")) for k, i in view.instances.items()}
    spec, catalogue = hardware_sources(replace(view, instances=strange))
    assert (spec.origin, catalogue.origin) == (FigureOrigin.SPEC, FigureOrigin.CATALOGUE)
    assert {c.nic_out_bytes_per_s for c in spec.by_broker.values()} == {1e9}
    assert catalogue.by_broker == {}


def test_write_rates_are_what_this_server_has_seen_logs_grow_by() -> None:
    seen = a_snapshot(a_partition())
    traffic = Traffic({seen.partitions[0].name: 5e5}, at=NOW, over_s=30)
    read = read_state(json.dumps(cluster_document(a_view(), seen, traffic=traffic, now=NOW + timedelta(seconds=7))))
    assert read.state.partitions.write_bytes_per_s.tolist() == [5e5]
    assert "write rates of 1 of 1 partitions: growth of the leaders' logs over 30 s, 7 s old" in read.assumptions


def test_the_throttle_of_the_spec_bounds_it() -> None:
    document = a_document()
    spec = document.spec.model_copy(
        update={"rollout": document.spec.rollout.model_copy(update={"throttle_mib_per_s": 10})}
    )
    source = catalogue_capacity(a_view(document=document.model_copy(update={"spec": spec})))
    assert {c.ingress_bytes_per_s for c in source.by_broker.values()} == {10.0 * MIB}
    assert "at most rollout.throttleMibPerS = 10 MiB/s" in source.by_broker_words


def test_a_machine_the_catalogue_does_not_know_has_no_bandwidth_and_keeps_its_disk() -> None:
    view = a_view()
    strange = {k: replace(i, planned=replace(i.planned, shape="x9.metal")) for k, i in view.instances.items()}
    source = catalogue_capacity(replace(view, instances=strange))
    assert {c.ingress_bytes_per_s for c in source.by_broker.values()} == {None}
    assert all(c.disk_bytes for c in source.by_broker.values())


def test_brokers_of_the_drain_in_hand_are_outgoing_with_their_successors_as_destinations() -> None:
    seen = a_snapshot(a_partition(), brokers=(1000, 1001, 1002, 1003))
    document = cluster_document(a_view(drain=DRAIN), seen)
    assert [b["state"] for b in document["brokers"]] == ["outgoing", "active", "active", "active"]
    assert document["destinations"] == {"1000": [1003]}

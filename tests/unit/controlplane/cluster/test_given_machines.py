"""Figures of a machine type that no catalogue knows, given in the spec: from the file to the VM that is rendered."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from controlplane.cluster.bandwidth import nic_bytes_per_s
from controlplane.cluster.fold import evolve
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.planner_state import catalogue_capacity
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.intents import IntentView
from controlplane.commands.admission.spec import admission_problems
from controlplane.converger.questions.clouds.rendering import terraform_run
from controlplane.converger.questions.moves.pacing import bandwidths
from controlplane.server.clouds import unbootable_in
from controlplane.storage.streams import cluster_stream
from events import facts
from events.codec import encode
from events.envelope import Origin
from events.ids import ClusterUid, derived_id
from events.spec.conversion import from_data, to_data
from events.spec.digest import instance_digest
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.problems import Problem
from providers.catalog_file import machine_of, sold_by
from providers.catalogs import catalog
from providers.errors import PlaceUnknown, QuotaExceeded
from providers.given_machines import GivenMachine, given_by
from providers.quota import AccountQuota, Unit, refuse_what_does_not_fit
from providers.registry import load
from tests.builders import BEFORE, a_planned, a_view, an_instance
from tests.changed_view import changed_view
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.resources import instance, resources

EXAMPLE = (Path(__file__).parents[4] / "examples" / "aws-orders.yaml").read_text()
NAMED = EXAMPLE.replace("machine: r7g.xlarge", "machine: r6i.2xlarge")
R6I = "{type: r6i.2xlarge, architecture: x86_64, cpus: 8, memoryMib: 65536, networkMbps: 12500}"
GIVEN = NAMED.replace("machine: r6i.2xlarge", f"machine: r6i.2xlarge\n      machineFigures: [{R6I}]")
TYPE = GivenMachine("aws", "r6i.2xlarge", "x86_64", 8, 65536, 12500)


def document(text: str) -> KafkaClusterDocument:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    return loaded.documents[0]


def admitted(text: str, **asked: object) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    view = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
    return admission_problems(
        view,
        loaded.documents[0],
        positions=loaded.positions[0],
        snapshot=None,
        **asked,  # type: ignore[arg-type]  # by name
    )


def folded(*texts: str) -> ClusterView:
    """What a cluster's history says after these specs, one after the other."""
    store, stream = MemoryEventStore(), cluster_stream(ClusterUid("c0ffee"))
    for number, text in enumerate(texts):
        fact = facts.ClusterDeclared("c0ffee", "orders", number + 1, to_data(document(text)), "person:anna")
        event = encode(fact, derived_id("test", str(number)))
        store.append(stream, [event], expected_version=number, origin=Origin("person:anna"))
    view = ClusterView(ClusterUid("c0ffee"))
    for recorded in store.read_stream(stream):
        view = evolve(view, recorded)
    return view


def test_a_type_no_catalogue_has_is_refused_and_all_three_ways_are_named() -> None:
    (found,) = [one for one in admitted(NAMED) if one.code == "KEDGE-SPEC-039"]
    assert "has no machine 'r6i.2xlarge'" in found.message
    for way in ("machineFigures: [{type: r6i.2xlarge", "catalog.yaml", "kedge machines refresh aws"):
        assert way in found.fix


def test_with_its_figures_it_is_taken_and_a_plain_type_means_what_it_did() -> None:
    assert admitted(GIVEN) == []
    assert admitted(EXAMPLE) == []


def test_figures_roll_nobody_and_documents_from_before_there_were_any_are_read() -> None:
    given, plain = document(GIVEN), document(NAMED)
    assert instance_digest(given, "brokers") == instance_digest(plain, "brokers")
    assert from_data(to_data(given)) == given
    old = to_data(plain)
    for pool in old["spec"]["pools"]:
        pool.pop("machineFigures", None)
    assert from_data(old) == plain


def test_figures_of_an_alternative_are_taken_too() -> None:
    text = EXAMPLE.replace(
        "machine: r7g.xlarge", f"machine: r7g.xlarge\n      alternatives: [r6i.2xlarge]\n      machineFigures: [{R6I}]"
    )
    assert admitted(text) == []


def test_figures_that_contradict_the_catalogue_are_told_with_both_and_the_catalogues_count() -> None:
    wrong = "{type: r7g.xlarge, architecture: x86_64, cpus: 4, memoryMib: 1024}"
    text = EXAMPLE.replace("machine: r7g.xlarge", f"machine: r7g.xlarge\n      machineFigures: [{wrong}]")
    (found,) = admitted(text)
    assert (found.code, found.severity) == ("KEDGE-SPEC-069", "warning")
    assert "processor: the catalogue arm64, the spec x86_64; memory in MiB: the catalogue 32768, the spec 1024" in (
        found.message
    )
    assert "CPUs" not in found.message
    given = given_by(document(text))
    assert sold_by("aws", given).machine("r7g.xlarge") == sold_by("aws").machine("r7g.xlarge")


def test_what_was_not_given_contradicts_nobody_and_is_unknown_not_0() -> None:
    known = "{type: r7g.xlarge, architecture: arm64, cpus: 4, memoryMib: 32768}"
    text = EXAMPLE.replace("machine: r7g.xlarge", f"machine: r7g.xlarge\n      machineFigures: [{known}]")
    assert admitted(text) == []
    assert nic_bytes_per_s("aws", "r6i.2xlarge", (replace(TYPE, network_mbps=None),)) is None


def test_a_given_processor_is_held_to_images_and_agents_like_a_known_one(tmp_path: Path) -> None:
    settings = """
accounts:
  production:
    id: "123456789012"
    regions:
      eu-west-1:
        subnets: {eu-west-1a: subnet-0000000a, eu-west-1b: subnet-0000000b, eu-west-1c: subnet-0000000c}
        security_groups: [sg-0000000a]
        images: {any: {arm64: ami-0000000a}}
"""
    (tmp_path / "aws.yaml").write_text(settings)
    cloud = load("aws", installation_id="test", settings_file=tmp_path / "aws.yaml")
    found = admitted(GIVEN, unbootable=partial(unbootable_in, {"aws": cloud}.__getitem__))
    assert ["machine 'r6i.2xlarge' is x86_64" in one.message for one in found] == [True]


def test_plans_and_throttles_divide_by_the_network_that_was_given() -> None:
    assert nic_bytes_per_s("aws", "r6i.2xlarge") is None
    assert nic_bytes_per_s("aws", "r6i.2xlarge", (TYPE,)) == 1_562_500_000
    view = folded(GIVEN)
    broker = an_instance("brokers-a-0", 1, planned=a_planned("brokers-a-0", shape="r6i.2xlarge"))
    view = replace(view, instances={broker.key: broker})
    assert bandwidths(view) == {broker.service_id: 1_562_500_000}
    assert catalogue_capacity(view).by_broker[broker.service_id].ingress_bytes_per_s == 0.75 * 1_562_500_000


def test_on_the_local_cloud_a_given_machine_is_one_beside_its_sizes() -> None:
    given = (GivenMachine("local", "tiny", "x86_64", 1, 512, 800),)
    assert catalog("local", given).shape("tiny").nic_bytes_per_s == 100_000_000
    assert "tiny" not in catalog("local").shapes


def surge(view: ClusterView) -> Mapping[str, GivenMachine | None]:
    new = an_instance("brokers-a-0", 2, Phase.REQUESTED, planned=a_planned("brokers-a-0", 2, shape="r6i.2xlarge"))
    status = changed_view(a_view(new), machines=view.declaration.machines)
    run = terraform_run(
        status,
        IntentView("i", "surge", (new.key,), BEFORE),
        installation_id="test",
        boot_data=lambda i: f"boot {i.key}",
        gone=frozenset(),
    )
    return {one.shape: one.given for one in run.resources.instances}


def test_a_vm_is_rendered_by_the_figures_of_its_cluster_also_once_its_spec_names_another_machine() -> None:
    """The old VMs stand until they are rolled, and every run renders them: it would have stopped at their type."""
    local = replace(TYPE, cloud="local")
    for view in (folded(GIVEN), folded(GIVEN, EXAMPLE)):
        assert [one.type for one in view.declaration.machines] == ["r6i.2xlarge"]
        given = tuple(replace(one, cloud="local") for one in view.declaration.machines)
        assert surge(changed_view(view, machines=given))["r6i.2xlarge"] == local
    vm = replace(instance("b-0"), shape="r6i.2xlarge", given=TYPE)
    assert machine_of("aws", vm).architecture == "x86_64"
    with pytest.raises(PlaceUnknown):
        machine_of("aws", replace(vm, given=None))


def test_of_a_type_that_was_given_twice_the_last_figures_count() -> None:
    view = folded(GIVEN, GIVEN.replace("cpus: 8", "cpus: 16"))
    assert [one.vcpus for one in view.declaration.machines] == [16]


def test_a_quota_counts_the_cpus_that_were_given() -> None:
    wanted = resources(replace(instance("b-0"), shape="r6i.2xlarge", given=TYPE))
    quota = AccountQuota("vCPUs", limit=10, used=4, unit=Unit.VCPUS)
    with pytest.raises(QuotaExceeded):
        refuse_what_does_not_fit([quota], wanted, {"instance/b-0.g1"}, sold_by("aws", (TYPE,)))

"""`disk.count`: who may have several disks, and what another number of them comes to."""

import pytest

from events.spec.digest import instance_digest, static_inputs
from events.spec.document import load_documents
from events.spec.rules import check_change
from tests.builders import a_spec
from tests.unit.events.spec_texts import document, load, told

BROKER_DISK, CONTROLLER_DISK, BROKER_PLACE = 21, 15, 22
GIB = 1024**3


def _brokers_disk(words: str) -> dict[int, str]:
    return {BROKER_DISK: f"      disk: {{{words}}}"}


def test_brokers_may_have_several_disks() -> None:
    pool = document(_brokers_disk("kind: persistent, sizeGib: 100, count: 4")).spec.pool("brokers")
    assert (pool.disk.count, pool.disk.total_gib) == (4, 400)


def test_one_disk_is_what_a_spec_without_a_number_says_and_nothing_made_before_changes() -> None:
    before = document()
    one = document(_brokers_disk("kind: persistent, sizeGib: 100, count: 1"))
    assert before.spec == one.spec
    assert "pool.disk.count" not in static_inputs(one, "brokers")
    assert instance_digest(before, "brokers") == instance_digest(one, "brokers")


def test_another_number_of_disks_is_another_vm() -> None:
    two = document(_brokers_disk("kind: persistent, sizeGib: 100, count: 2"))
    assert instance_digest(two, "brokers") != instance_digest(document(), "brokers")
    assert instance_digest(two, "controllers") == instance_digest(document(), "controllers")


def test_controllers_have_one() -> None:
    result = load({CONTROLLER_DISK: "      disk: {kind: persistent, sizeGib: 10, count: 2}"})
    assert told(result) == [
        (
            "15:52",
            "KEDGE-SPEC-075",
            "pool `controllers` has 2 disks for each node; who votes keeps all it has in one directory",
            "Leave `count` away, or write 1.",
        ),
    ]
    assert not result.ok


def test_brokers_of_a_zookeeper_cluster_may_too_and_its_servers_may_not() -> None:
    config, two = ", mode: zookeeper", ", count: 2"
    text = a_spec(version="3.8.1", quorum="zookeeper", config=config, disks=two)
    assert load_documents(text, file="orders.yaml").ok
    servers = text.replace("sizeGib: 1}", f"sizeGib: 1{two}}}")
    assert [(p.code, p.message) for p in load_documents(servers, file="orders.yaml").problems if p.is_error] == [
        (
            "KEDGE-SPEC-075",
            "pool `zookeepers` has 2 disks for each node; who votes keeps all it has in one directory",
        )
    ]


def test_brokers_with_a_server_on_their_vms_have_one() -> None:
    text = a_spec(version="3.8.1", quorum="members", config=", mode: zookeeper", disks=", count: 2")
    (problem,) = [p for p in load_documents(text, file="orders.yaml").problems if p.is_error]
    assert (problem.code, problem.message) == (
        "KEDGE-SPEC-075",
        "pool `brokers` has 2 disks for each node; who votes keeps all it has in one directory",
    )


@pytest.mark.parametrize(("count", "ok"), [(0, False), (1, True), (8, True), (9, False)])
def test_one_to_eight_are_offered(count: int, ok: bool) -> None:
    assert load(_brokers_disk(f"kind: persistent, sizeGib: 100, count: {count}")).ok is ok


@pytest.mark.parametrize(
    ("cloud", "region", "zones", "ok"),
    [
        ("local", "local-1", "a, b, c", True),
        ("google", "europe-west1", "europe-west1-b, europe-west1-c, europe-west1-d", True),
        ("digitalocean", "fra1", "a, b, c", False),
        ("upcloud", "fi-hel1", "fi-hel1-a, fi-hel1-b, fi-hel1-c", False),
    ],
)
def test_own_disks_are_several_where_a_vm_has_any_beside_the_one_it_boots_from(
    cloud: str, region: str, zones: str, ok: bool
) -> None:
    edits = _brokers_disk("kind: ephemeral, sizeGib: 100, count: 2")
    edits[BROKER_PLACE] = f"      place: {{cloud: {cloud}, region: {region}, zones: [{zones}]}}"
    codes = [code for _, code, _, _ in told(load(edits))]
    assert ("KEDGE-SPEC-075" not in codes) is ok


def test_what_is_stored_must_fit_on_all_disks_together() -> None:
    three = document(_brokers_disk("kind: persistent, sizeGib: 100, count: 3"))
    two = document(_brokers_disk("kind: persistent, sizeGib: 100, count: 2"))
    (problem,) = check_change(three, two, data_bytes_per_pool={"brokers": 700 * GIB})
    assert "shrinks from 3 nodes of 3 x 100 GiB to 3 nodes of 2 x 100 GiB" in problem.message
    assert "the remaining 600 GiB" in problem.message
    assert check_change(three, two, data_bytes_per_pool={"brokers": 300 * GIB}) == []

"""`disk.grow` and `disk.protect`: where they are refused, warned of and meant."""

import pytest

from events.spec.change import differences
from events.spec.digest import instance_digest
from events.spec.document import load_documents
from events.spec.storage_rules import with_grown_disks
from tests.builders import a_document, a_spec

GROW = ", grow: {above: 80, to: 500}"


def _codes(**spec: object) -> set[str]:
    return {p.code for p in load_documents(a_spec(**spec), file="orders.yaml").problems}


def test_disks_grow_by_themselves_on_a_cloud_that_can() -> None:
    assert not _codes(disks=GROW)
    assert not _codes(disks=", grow: {to: 500}")


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"disks": GROW, "disk": "ephemeral"}, "KEDGE-SPEC-079"),
        ({"disks": GROW, "broker_gib": 500}, "KEDGE-SPEC-081"),
        ({"disks": ", grow: {above: 99, to: 500}"}, "KEDGE-SPEC-024"),
        ({"disks": ", grow: {above: 80}"}, "KEDGE-SPEC-021"),
    ],
)
def test_what_cannot_grow_by_itself_is_told(spec: dict[str, object], code: str) -> None:
    assert code in _codes(**spec)


@pytest.mark.parametrize("cloud", ["azure", "upcloud"])
def test_a_cloud_that_grows_no_disk_under_a_running_vm_is_refused(cloud: str) -> None:
    assert "KEDGE-SPEC-079" in _codes(disks=GROW, cloud=cloud)


def test_the_disk_of_a_voter_grows_by_the_spec_alone() -> None:
    text = a_spec().replace("sizeGib: 1}", "sizeGib: 1, grow: {to: 10}}", 1)
    found = load_documents(text, file="orders.yaml").problems
    assert [p.code for p in found] == ["KEDGE-SPEC-079"]
    assert "has no brokers" in found[0].message


def test_it_makes_no_other_vm() -> None:
    assert instance_digest(a_document(disks=GROW), "brokers") == instance_digest(a_document(), "brokers")
    (change,) = differences(a_document(), a_document(disks=GROW))
    assert (change.path, change.field_class) == ("spec.pools[brokers].disk.grow", "behavioural")


def test_a_spec_is_meant_with_the_size_its_disks_grew_to() -> None:
    spec = a_document(disks=GROW)
    assert with_grown_disks(spec, {}) is spec
    assert with_grown_disks(spec, {"brokers": 80, "gone": 900}) is spec
    meant = with_grown_disks(spec, {"brokers": 140})
    assert {p.name: p.disk.size_gib for p in meant.spec.pools} == {"controllers": 1, "brokers": 140}
    assert meant == a_document(disks=GROW, broker_gib=140)
    ephemeral = a_document(disk="ephemeral")
    assert with_grown_disks(ephemeral, {"brokers": 140}) is ephemeral


@pytest.mark.parametrize(
    ("spec", "warned"),
    [
        ({"healing": "lostDisk: reattach"}, False),
        ({"healing": "lostDisk: reattach", "disk": "ephemeral"}, True),
        ({"healing": "lostDisk: copy", "disk": "ephemeral"}, False),
    ],
)
def test_a_spec_is_warned_where_a_lost_disk_never_passes_on(spec: dict[str, object], warned: bool) -> None:
    loaded = load_documents(a_spec(**spec), file="orders.yaml")
    assert loaded.ok
    assert ("KEDGE-SPEC-084" in {p.code for p in loaded.warnings}) is warned

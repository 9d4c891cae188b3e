"""The report as a whole: which spec is which cluster, and everything that belongs to nobody."""

from dataclasses import replace

from controlplane.server.rebuild.conclude import Rebuild, conclude
from controlplane.server.rebuild.evidence import RebuildEvidence, Weight
from events.ids import ClusterUid
from tests.builders import NOW, a_document
from tests.unit.controlplane.server.rebuild.rebuild_evidence import UID, a_spec_file, a_vm, evidence, found, what_ran

OTHER = ClusterUid("beef" * 8)


def report(given: RebuildEvidence, *leave_out: str) -> Rebuild:
    return conclude(given, leave_out=leave_out, now=NOW)


def refusals(rebuild: Rebuild) -> list[str]:
    return [f.message for f in rebuild.findings if f.weight is Weight.REFUSES]


def test_a_spec_is_matched_with_the_vms_that_carry_its_name() -> None:
    rebuild = report(evidence())
    assert [(c.name, c.uid, c.file) for c in rebuild.clusters] == [("orders", UID, "orders.yaml")]
    assert (rebuild.refused, rebuild.findings, rebuild.highest_epoch) == (False, (), 7)


def test_vms_without_a_spec_refuse_until_they_are_left_out() -> None:
    given = evidence(found(), replace(found(), uid=OTHER, name="payments"))
    (message,) = refusals(report(given))
    assert "no spec declares it" in message
    left = report(given, OTHER)
    assert not left.refused
    assert [(f.weight, f.subject) for f in left.findings] == [(Weight.NOTED, OTHER)]


def test_a_spec_without_vms_makes_nothing() -> None:
    rebuild = report(evidence(specs=(a_spec_file(), a_spec_file(a_document(name="payments"), "payments.yaml"))))
    assert [c.name for c in rebuild.clusters] == ["orders"]
    assert not rebuild.refused
    assert "payments has no VM" in rebuild.findings[0].message


def test_two_uids_of_one_name_refuse_until_one_is_left_out() -> None:
    given = evidence(found(), replace(found(), uid=OTHER))
    assert len(refusals(report(given))) == 2
    assert [c.uid for c in report(given, OTHER).clusters] == [UID]


def test_one_name_in_two_files_is_refused() -> None:
    given = evidence(specs=(a_spec_file(), a_spec_file(file="copy.yaml")))
    assert any("declared 2 times" in message for message in refusals(report(given)))


def test_other_installations_are_told_and_let_alone() -> None:
    rebuild = report(evidence(foreign_vms={"theirs": 3}))
    assert [(f.weight, f.subject) for f in rebuild.findings] == [(Weight.NOTED, "theirs")]


def test_a_server_key_that_is_not_theirs_is_told() -> None:
    assert [f.subject for f in report(evidence(key_fits=False)).findings] == ["server-key"]
    assert [f.weight for f in report(evidence(key_fits=None)).findings] == [Weight.ASSUMED]


def test_an_agent_that_could_not_be_read_makes_the_highest_epoch_unknown() -> None:
    ran = what_ran()
    vms = tuple(a_vm(ran, i, document=i.key != "brokers-a-0.g1") for i in ran.alive())
    assert report(evidence(found(ran, vms=vms))).highest_epoch is None

"""What all clouds share: proofs that last a while, ids seen alive, what Terraform's processes get."""

from pathlib import Path

import pytest

from providers import tags
from providers.proofs import LASTS_S, Proofs
from providers.sightings import Sightings
from providers.tf.surroundings import surroundings
from tests.fakes.clock import Clock


def test_a_proof_counts_for_a_while_and_for_its_own_key_alone() -> None:
    clock = Clock()
    proofs = Proofs(clock)
    assert not proofs.hold("a")
    proofs.note("a")
    clock.now += LASTS_S - 1
    assert proofs.hold("a")
    assert not proofs.hold("b")
    clock.now += 1
    assert not proofs.hold("a")


def test_what_was_proved_is_not_shown() -> None:
    proofs = Proofs()
    proofs.note(("production", "the-token"))
    assert "the-token" not in repr(proofs)


def test_an_id_that_was_seen_is_settled_at_once_and_any_other_after_a_while() -> None:
    clock = Clock()
    sightings = Sightings(300.0, clock)
    sightings.saw(["i-1"])
    assert sightings.is_settled("i-1")
    assert not sightings.is_settled("i-2")
    clock.now += 299
    assert not sightings.is_settled("i-2")
    assert not sightings.is_settled("i-3"), "it counts from the first time it was missed"
    clock.now += 1
    assert sightings.is_settled("i-2")


def test_terraform_gets_the_way_out_its_plugins_how_much_memory_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("AWS_CA_BUNDLE", "/ca")
    monkeypatch.setenv("SECRET", "s")
    for name in ("NO_PROXY", "SSL_CERT_FILE", "GOGC", "GOMEMLIMIT"):
        monkeypatch.delenv(name, raising=False)
    assert surroundings(None) == {"HTTPS_PROXY": "http://proxy"}
    assert surroundings(Path("/plugins"), "AWS_CA_BUNDLE") == {
        "HTTPS_PROXY": "http://proxy",
        "AWS_CA_BUNDLE": "/ca",
        "XDG_DATA_DIRS": "/plugins",
    }
    monkeypatch.setenv("GOMEMLIMIT", "1GiB")
    assert surroundings(None) == {"HTTPS_PROXY": "http://proxy", "GOMEMLIMIT": "1GiB"}


def test_a_vm_that_lacks_a_tag_was_not_made_by_us() -> None:
    whole = {tags.CLUSTER_UID: "c", tags.NODE: "n", tags.INTENT: "i", tags.GENERATION: "2"}
    assert tags.is_whole(whole)
    assert not tags.is_whole(whole, "kedge-zone")
    assert not tags.is_whole({**whole, tags.GENERATION: "two"})
    assert not tags.is_whole({**whole, tags.INTENT: ""})


def test_foreign_vms_are_counted_by_installation_without_our_own() -> None:
    assert tags.count_foreign(["b", "ours", "a", "b"], "ours") == {"a": 1, "b": 2}

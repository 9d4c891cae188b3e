"""Publishing, withdrawing, and what is told of each VM: the real reconciler and service over agents that are
simulated."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import SecretBytes

from agent.upgrades.archive import ArchiveRefused, check_signature
from controlplane.background.agent_upgrades.fold import AgentReleases, folded
from controlplane.background.agent_upgrades.signing import AgentSigner, SigningKeyRefused
from controlplane.background.agent_upgrades.status import ANSWERS_WITHIN
from controlplane.background.rounds import RoundIncomplete
from controlplane.cluster.commands import CommandRefused
from controlplane.converger.questions.documents import document_for
from controlplane.storage.streams import AGENTS
from events import facts
from tests.sim.agent_fleet import AgentFleet, SimAgent, paused

KEY = "brokers-a-0.g1"


def test_a_version_is_published_once_and_never_changes() -> None:
    fleet = AgentFleet(shop="production")
    assert "one VM is upgraded first" in fleet.publish("0.2.0")
    assert "is published already" in fleet.publish("0.2.0")
    with pytest.raises(CommandRefused, match="was published before"):
        fleet.publish("0.2.0", "cp311-aarch64")
    fleet.withdraw("0.2.0", "it forgets disks")
    with pytest.raises(CommandRefused, match="and withdrawn"):
        fleet.publish("0.2.0")
    with pytest.raises(CommandRefused, match="there is no agent"):
        fleet.withdraw("9.9.9", "")
    assert fleet.service.status().wanted is None


def test_the_same_command_again_is_done_once() -> None:
    fleet = AgentFleet(shop="production")
    for _ in range(2):
        fleet.service.resume(reason="twice sent", actor="person:anna", command_id="same")
    assert len(fleet.store.read_stream(AGENTS)) == 1


def test_what_a_vm_is_told_is_signed_for_exactly_that(tmp_path) -> None:  # type: ignore[no-untyped-def]
    fleet = AgentFleet(shop="production")
    fleet.agents[("shop", KEY)].is_silent = False
    fleet.publish("0.2.0")
    fleet.step()
    document = document_for(fleet.by_uid["shop"], KEY, epoch=1)
    assert document is not None
    assert document.agent is not None
    check_signature(document.agent, document.agent.builds[0], tmp_path)
    other = document.agent.model_copy(update={"version": "0.3.0"})
    with pytest.raises(ArchiveRefused):
        check_signature(other, document.agent.builds[0], tmp_path)


def test_an_order_that_failed_is_told_no_more() -> None:
    fleet = AgentFleet(shop="production")
    fleet.agents[("shop", KEY)].fails["0.2.0"] = "no"
    fleet.publish("0.2.0")
    fleet.step(2)
    fleet.step()
    document = document_for(fleet.by_uid["shop"], KEY, epoch=1)
    assert document is not None
    assert document.agent is None


def test_agents_that_cannot_upgrade_are_told_and_keep_nobody_waiting() -> None:
    fleet = AgentFleet(soak_s=0, shop="production")
    fleet.agents[("shop", KEY)] = SimAgent(version="0.0.9", is_able=False)
    fleet.agents[("shop", "brokers-b-0.g1")] = SimAgent(platform="cp311-aarch64")
    fleet.publish("0.2.0")
    fleet.step(30)
    told = {vm.key: (vm.state, vm.why) for vm in fleet.service.status().clusters[0].vms}
    assert told[KEY] == ("unable", "agent 0.0.9 cannot upgrade itself; a new VM has a newer one")
    assert told["brokers-b-0.g1"] == ("unable", "0.2.0 was published for no cp311-aarch64")
    assert [state for state, _ in told.values()].count("current") == 4


def test_whoever_publishes_is_told_which_vms_it_has_no_build_for() -> None:
    """What is published never changes, so it is said at once and not only by VMs that are `unable` afterwards."""
    fleet = AgentFleet(soak_s=0, shop="production")
    fleet.agents[("shop", "brokers-b-0.g1")] = SimAgent(platform="cp311-aarch64")
    fleet.step()
    assert fleet.publish("0.2.0").endswith("; it has no build for cp311-aarch64, so 1 VM of shop keeps its agent")
    assert "no build" not in fleet.publish("0.3.0", "cp311-x86_64", "cp311-aarch64")


def test_a_silent_agent_is_waited_for() -> None:
    fleet = AgentFleet(soak_s=0, shop="production", stage="staging")
    fleet.agents[("stage", KEY)].is_silent = True
    fleet.publish("0.2.0")
    fleet.step(40)
    assert set(fleet.versions("shop")) == {"0.1.0"}
    assert "its agent was never heard" in fleet.reconciler.asked.waits
    fleet.agents[("stage", KEY)].is_silent = False
    fleet.until("0.2.0")


def test_who_says_nothing_after_an_order_fails_it_in_the_end_and_not_before() -> None:
    fleet = AgentFleet(soak_s=0, shop="production")
    fleet.publish("0.2.0")
    fleet.step()
    fleet.agents[("shop", KEY)].is_silent = True
    fleet.now += ANSWERS_WITHIN - timedelta(seconds=10)
    fleet.step()
    assert fleet.by_uid["shop"].vms.agent_orders[KEY].is_open
    fleet.step(2)
    assert fleet.by_uid["shop"].vms.agent_orders[KEY].problem == "it had no result within 30 min"


def test_a_paused_cluster_is_asked_for_nothing() -> None:
    fleet = AgentFleet(soak_s=0, shop="production")
    paused(fleet, "shop", "lunch")
    fleet.publish("0.2.0")
    fleet.step(5)
    assert fleet.by_uid["shop"].vms.agent_orders == {}
    assert fleet.reconciler.asked.waits == "shop (production) waits: it is paused: lunch"


def test_a_server_that_does_not_lead_records_nothing() -> None:
    fleet = AgentFleet(soak_s=0, shop="production")
    fleet.publish("0.2.0")
    fleet.leads = False
    fleet.step(3)
    fleet.reconciler.poll()
    assert fleet.by_uid["shop"].vms.agent_orders == {}


def test_without_a_release_nothing_is_read() -> None:
    fleet = AgentFleet(shop="production")
    fleet.reconciler.latest = None  # type: ignore[assignment]  # to read it would fail
    fleet.step(3)
    assert fleet.story == []


def test_clusters_that_are_through_are_not_read_again_until_something_changes() -> None:
    fleet = AgentFleet(soak_s=0, shop="production")
    fleet.publish("0.2.0")
    fleet.until("0.2.0")
    fleet.step(3)
    latest, fleet.reconciler.latest = fleet.latest, None  # type: ignore[assignment]
    fleet.reconciler.poll()
    fleet.reconciler.latest = latest
    fleet.append("shop", facts.WindowWaived(1, "anna"))
    fleet.reconciler.latest = None  # type: ignore[assignment]
    fleet.catch_up()
    with pytest.raises(RoundIncomplete, match="shop: AttributeError"):
        fleet.reconciler.poll()


def test_a_fold_that_cannot_be_read_asks_nobody_for_anything() -> None:
    fleet = AgentFleet(shop="production")
    fleet.publish("0.2.0")
    recorded = fleet.store.read_stream(AGENTS)
    fold = folded(AgentReleases(), [*recorded, *recorded])
    assert "was published before" in fold.unreadable
    assert fold.wanted is None


def test_the_key_follows_from_the_servers_or_is_the_one_of_the_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert (
        AgentSigner(SecretBytes(b"k")).public_key()
        == AgentSigner(SecretBytes(b"k")).public_key()
        != AgentSigner(SecretBytes(b"other")).public_key()
    )
    path = tmp_path / "key.pem"
    own = Ed25519PrivateKey.generate()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(own.private_bytes(*form))
    assert AgentSigner(SecretBytes(b"k"), path).public_key() == AgentSigner(SecretBytes(b"other"), path).public_key()
    path.write_bytes(ec.generate_private_key(ec.SECP256R1()).private_bytes(*form))
    with pytest.raises(SigningKeyRefused, match="is not an Ed25519 key"):
        AgentSigner(SecretBytes(b"k"), path).public_key()
    with pytest.raises(SigningKeyRefused, match="cannot be read"):
        AgentSigner(SecretBytes(b"k"), tmp_path / "none").public_key()

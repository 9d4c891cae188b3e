"""A whole cluster whose agents speak TLS: born with the CA's hash, certified, rotating credentials, rolled like any."""

import json
from pathlib import Path

import pytest
from cryptography import x509

from agent.client import CertificateLost, ServerClient
from agent.identity import identity_of
from agent.trust import PinnedCa
from agent.wire import BootData
from controlplane.storage.home import Home
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SERVER_SETTINGS = {"KEDGE_AGENT_HOST": "127.0.43.20", "KEDGE_AGENT_PORT": "0", "KEDGE_CREDENTIAL_LIFE_S": "10"}
ROTATED_WITHIN_S = 60.0


def test_agents_are_born_with_the_hash_rotate_and_outlive_a_killed_server(living_cluster: LivingCluster) -> None:
    cluster, home = living_cluster, Home(living_cluster.home)
    keys = [i.key for i in cluster.detail().instances]
    for key in keys:
        born = json.loads((cluster.vm(key) / "boot.json").read_text())
        assert (born["server_url"], born["ca_sha256"]) == (home.agent_url(), home.agent_ca())
        assert born["server_url"].startswith("https://127.0.43.20:")
        assert (cluster.vm(key) / "agent" / "ca.pem").stat().st_mode & 0o777 == 0o600
        _is_certified(cluster.vm(key), key)
        _stolen_credential_is_worth_nothing(cluster.vm(key))
    brokers = {key: _kafka(cluster, key) for key in keys}
    assert all(len(pids) == 1 for pids in brokers.values()), brokers
    _all_rotate(cluster, keys)
    cluster.restart_server()
    _all_rotate(cluster, keys)
    assert {key: _kafka(cluster, key) for key in keys} == brokers, "no Kafka noticed"
    assert all(i.outdated_credential_at is None for i in cluster.detail().instances)
    log = "\n".join((cluster.vm(key) / "logs" / "agent.log").read_text() for key in keys)
    assert "HTTP 401" not in log


def test_a_broker_is_rolled_though_the_server_has_another_port_by_now(living_cluster: LivingCluster) -> None:
    """Terraform sees boot data of all VMs again at each run: one other byte would be refused."""
    cluster = living_cluster
    cluster.restart_server()
    with traffic(cluster.bootstrap):
        new = cluster.next_instance(_node(cluster, "one"))
        cluster.roll("one")
        cluster.converged()
    _is_certified(cluster.vm(new), new)
    assert not [e for e in cluster.events() if e.type == "run.failed"]


def _is_certified(vm: Path, key: str) -> None:
    """It has a key of its own, which the server knows as that instance's."""
    file = vm / "agent" / "certificate.pem"
    assert file.stat().st_mode & 0o777 == 0o600
    names = x509.load_pem_x509_certificate(file.read_bytes()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    (uri,) = names.value.get_values_for_type(x509.UniformResourceIdentifier)
    assert uri.endswith(f"/{key}")


def _stolen_credential_is_worth_nothing(vm: Path) -> None:
    boot = BootData.model_validate_json((vm / "boot.json").read_bytes())
    trust = PinnedCa(boot.server_url, boot.ca_sha256, kept=vm / "agent" / "ca.pem")
    thief = ServerClient(boot.server_url, identity_of(boot, _secret(vm)), trust=trust)
    try:
        with pytest.raises(CertificateLost, match="certificate-needed"):
            thief.document(etag="", wait_s=0)
    finally:
        thief.close()


def _node(cluster: LivingCluster, pool: str) -> str:
    return next(i.node for i in cluster.detail().instances if i.pool == pool)


def _all_rotate(cluster: LivingCluster, keys: list[str]) -> None:
    """Waits until each agent has another secret than now, and the server has heard it."""
    before = {key: _secret(cluster.vm(key)) for key in keys}
    since = {i.key: i.credential_since for i in cluster.detail().instances}

    def look() -> bool | None:
        secrets = {key: _secret(cluster.vm(key)) for key in keys}
        now = {i.key: i.credential_since for i in cluster.detail().instances}
        return all(secrets[key] != before[key] and now[key] != since[key] for key in keys) or None

    cluster.until(look, "every agent to rotate its credential", timeout_s=ROTATED_WITHIN_S)


def _secret(vm: Path) -> str:
    return (vm / "agent" / "credential").read_text()


def _kafka(cluster: LivingCluster, key: str) -> list[int]:
    """Pids of the VM's Java."""
    return [pid for pid in cluster.pids(key) if b"java" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]]

"""A VM's Kafka gets a certificate by its agent: for its own node, at addresses Kedge knows, and each is an event."""

from ipaddress import ip_address

import httpx
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent.certification import signing_request
from controlplane.api.node_certificates import NotYet
from controlplane.cluster.believed_authorities import root_of
from controlplane.storage.agent_credentials import Vm
from controlplane.storage.certificates.principals import principals_of
from events import facts
from events.certificate_facts import AuthorityPhaseName
from events.spec.conversion import to_data
from tests.builders import a_tls_document, with_own
from tests.own_ca import Pki
from tests.unit.controlplane.api.agent_house import CREDENTIAL, enrol
from tests.unit.controlplane.api.portal_house import START, House, broker, vm_of


@pytest.fixture
def house() -> House:
    return House()


def tls_vm(house: House) -> Vm:
    """A broker's VM that has enrolled, of a cluster whose nodes speak TLS."""
    house.apply(yaml.safe_dump(to_data(a_tls_document())))
    vm = vm_of(house.launch(broker()), broker())
    assert enrol(house, vm).status_code == 200
    return vm


def ask(house: House, vm: Vm, *, csr: str = "", credential: str = CREDENTIAL, **changes: object) -> httpx.Response:
    body = {
        "cluster_uid": vm.cluster_uid,
        "node": vm.node,
        "generation": vm.generation,
        "csr": csr or signing_request().csr_pem,
    }
    return house.agent(vm, credential).post("/agent/v1/node-certificate", json={**body, **changes})


def test_it_is_for_its_own_addresses_under_the_name_of_all_nodes(house: House) -> None:
    vm = tls_vm(house)
    answer = ask(house, vm)
    assert answer.status_code == 200, answer.text
    leaf = x509.load_pem_x509_certificate(answer.json()["certificate"].encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(answer.json()["cluster_ca"].encode()))
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(vm.cluster_uid).node}"
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.64.0.10")]
    assert answer.json()["clients_ca"] != answer.json()["cluster_ca"]
    assert "PRIVATE" not in answer.text


def test_each_is_an_event_without_a_secret(house: House) -> None:
    vm = tls_vm(house)
    leaf = x509.load_pem_x509_certificate(ask(house, vm).json()["certificate"].encode())
    made, last = house.store.read_stream(f"cluster-{vm.cluster_uid}")[-2:]
    assert made.type == "authorities.made"
    assert all(made.data[kind].startswith("-----BEGIN CERTIFICATE-----") for kind in ("cluster", "clients"))
    assert "PRIVATE" not in str(made.data)
    assert last.type == "certificate.issued"
    assert last.data == {
        "key": broker().key,
        "serial": f"{leaf.serial_number:x}",
        "since": START.isoformat(),
        "until": leaf.not_valid_after_utc.isoformat(),
    }
    assert house.view().vms.certificates[broker().key].until == leaf.not_valid_after_utc


def test_what_others_record_meanwhile_is_no_obstacle(house: House) -> None:
    tls_vm(house)
    signs = house.services.access.node_certificates
    assert signs is not None
    behind = house.view()
    house.record(facts.ClusterPaused("lunch", None))
    signs.certify(behind, behind.instances[broker().key], signing_request().csr_pem, epoch=house.lead.epoch)  # type: ignore[arg-type]
    assert house.view().vms.certificates


def test_names_in_the_request_count_for_nothing(house: House) -> None:
    vm = tls_vm(house)
    wishes = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kedge-server")]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("other.example.com")]), critical=False)
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    answer = ask(house, vm, csr=wishes.public_bytes(serialization.Encoding.PEM).decode())
    leaf = x509.load_pem_x509_certificate(answer.json()["certificate"].encode())
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(vm.cluster_uid).node}"
    assert "example.com" not in str(leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)


@pytest.mark.parametrize("changes", [{"node": "brokers-b-0"}, {"generation": 2}, {"cluster_uid": "other"}])
def test_nobody_gets_one_for_another_node(house: House, changes: dict[str, object]) -> None:
    vm = tls_vm(house)
    assert ask(house, vm, **changes).status_code == 403
    assert not house.view().vms.certificates


def test_who_proves_nothing_and_who_is_retired_get_none(house: House) -> None:
    vm = tls_vm(house)
    assert ask(house, vm, credential="x" * 64).status_code == 401
    assert ask(house, vm, csr="no request").json()["code"] == "csr-refused"
    house.record(
        facts.JoinFailed(broker().key, "gone"),
        facts.RetireRequested("intent-2", (broker().key,), (), "test"),
        facts.RetireCompleted("intent-2"),
    )
    assert ask(house, vm).status_code == 410


def test_a_cluster_in_plaintext_has_no_ca(house: House) -> None:
    house.apply()
    vm = vm_of(house.launch(broker()), broker())
    assert enrol(house, vm).status_code == 200
    assert ask(house, vm).status_code == 404


def test_who_asks_again_at_once_waits(house: House) -> None:
    """Each is an event for ever."""
    vm = tls_vm(house)
    assert ask(house, vm).status_code == 200
    again = ask(house, vm)
    assert (again.status_code, again.json()["code"], again.headers["Retry-After"]) == (503, "not-yet", "5")
    house.pass_time(seconds=5)
    assert ask(house, vm).status_code == 200


def test_another_ca_is_never_made_for_a_cluster_that_has_certificates(house: House) -> None:
    vm = tls_vm(house)
    assert ask(house, vm).status_code == 200
    house.authorities.made.clear()
    house.pass_time(seconds=5)
    lost = ask(house, vm)
    assert (lost.status_code, lost.json()["code"]) == (503, "authority-lost")
    assert "restore it from a backup" in lost.json()["detail"]
    house.authorities.found(vm.cluster_uid)
    assert ask(house, vm).json()["code"] == "authority-lost", "nor are others believed that somebody made"
    house.authorities.made.clear()
    assert not house.authorities.made


def test_a_server_that_does_not_lead_signs_nothing(house: House) -> None:
    vm = tls_vm(house)
    house.lead.epoch = None
    assert ask(house, vm).json()["code"] == "not-leading"


def test_the_document_of_such_a_vm_is_one_that_agents_of_before_refuse(house: House) -> None:
    vm = tls_vm(house)
    house.record(facts.QuorumFounded("kafka", "4.1", ()))
    where: dict[str, str | int] = {"cluster": vm.cluster_uid, "node": vm.node, "generation": vm.generation}
    told = house.agent(vm, CREDENTIAL).get("/agent/v1/document", params=where).json()
    assert told["wire"] == 2
    assert told["services"][0]["port"] == 9091
    assert [one["name"] for one in told["services"][0]["tls"]["listeners"]] == ["TLS", "PLAINTEXT"]


def test_clients_are_told_by_whom_they_recognise_brokers_and_where(house: House) -> None:
    vm = tls_vm(house)
    ca = ask(house, vm).json()["cluster_ca"]
    house.record(facts.QuorumFounded("kafka", "4.1", ()), facts.InstanceJoined(broker().key, 1000))
    told = house.client.get("/v1/clusters/orders/endpoints").json()
    assert told["ca"] == ca
    assert told["bootstrap"] == ["127.64.0.10:9094"], "of the first listener, and not where nodes speak to one another"
    assert [(one["name"], one["port"], one["security"]) for one in told["listeners"]] == [
        ("TLS", 9094, "tls"),
        ("PLAINTEXT", 9092, "plaintext"),
    ]


# --- a CA that is replaced ----------------------------------------------------------------------------------------


def _asked(house: House, vm: Vm) -> dict[str, str]:
    house.pass_time(seconds=5)
    answer = ask(house, vm)
    assert answer.status_code == 200, answer.text
    found: dict[str, str] = answer.json()
    return found


def _phases(house: House, *phases: AuthorityPhaseName) -> None:
    house.record(*(facts.AuthorityPhaseRequested("ca-1", phase, "asked by anna") for phase in phases))


def test_the_new_ca_comes_with_the_first_certificate_after_it_was_asked_for(house: House) -> None:
    vm = tls_vm(house)
    old = _asked(house, vm)["cluster_ca"]
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    both = _asked(house, vm)
    made, issued = house.store.read_stream(f"cluster-{vm.cluster_uid}")[-2:]
    assert (made.type, issued.type) == ("ca.made", "certificate.issued")
    assert both["cluster_ca"] == old + made.data["certificate"]
    assert both["issuer"] == old, "nodes do not believe the new one yet"
    again = _asked(house, vm)
    assert again["cluster_ca"] == both["cluster_ca"]
    _phases(house, "reissue")
    new = _asked(house, vm)
    assert new["issuer"] == made.data["certificate"]
    leaf = x509.load_pem_x509_certificate(new["certificate"].encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(new["issuer"].encode()))
    assert old not in house.authorities.removed
    _phases(house, "new-alone")
    alone = _asked(house, vm)
    assert (alone["cluster_ca"], alone["issuer"]) == (made.data["certificate"], "")
    assert house.authorities.removed == {old}
    assert house.client.get("/v1/clusters/orders/endpoints").json()["ca"] == made.data["certificate"]


def test_on_the_way_back_the_new_key_goes(house: House) -> None:
    vm = tls_vm(house)
    old = _asked(house, vm)["cluster_ca"]
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    new = _asked(house, vm)["cluster_ca"].removeprefix(old)
    _phases(house, "old-alone")
    assert _asked(house, vm)["cluster_ca"] == old
    assert house.authorities.removed == {new}


def test_one_that_is_given_up_before_it_was_made_is_never_made(house: House) -> None:
    vm = tls_vm(house)
    old = _asked(house, vm)["cluster_ca"]
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    _phases(house, "old-alone")
    assert _asked(house, vm)["cluster_ca"] == old
    assert not house.authorities.successors


def test_of_two_that_ask_at_once_one_makes_it_and_the_other_asks_again(house: House) -> None:
    vm = tls_vm(house)
    _asked(house, vm)
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    behind, signs = house.view(), house.services.access.node_certificates
    assert signs is not None
    _asked(house, vm)
    house.pass_time(seconds=5)
    with pytest.raises(NotYet, match="had its CA recorded at the same time"):
        signs.certify(behind, behind.instances[broker().key], signing_request().csr_pem, epoch=house.lead.epoch)  # type: ignore[arg-type]
    assert [r.type for r in house.store.read_stream(f"cluster-{vm.cluster_uid}")].count("ca.made") == 1


def test_what_is_shown_and_what_is_replaced_is_told(house: House) -> None:
    vm = tls_vm(house)
    _asked(house, vm)
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    told = house.client.get("/v1/clusters/orders/certificates").json()
    assert [(a["kind"], a["signs"], a["believed"]) for a in told["authorities"]] == [
        ("cluster", True, True),
        ("clients", True, True),
    ]
    (node,) = told["nodes"]
    assert (node["key"], node["started_with"], node["served"]) == (broker().key, "", []), "nobody has looked yet"
    assert told["replacement"]["phase"] == "trust-both"
    assert told["replacement"]["unknown"] == [broker().key]


def test_the_plan_of_a_replacement_records_nothing_and_the_order_does(house: House) -> None:
    vm = tls_vm(house)
    _asked(house, vm)
    before = house.view().version
    refused = house.client.post("/v1/clusters/orders/replace-ca", json={"step": "continue", "dry_run": True})
    assert refused.json()["code"] == "no-ca-replace"
    busy = house.client.post("/v1/clusters/orders/replace-ca", json={"dry_run": True})
    assert busy.json()["code"] == "not-at-rest"
    assert house.view().version == before
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    done = house.client.post("/v1/clusters/orders/replace-ca", json={"step": "back", "reason": "x"}).json()
    assert done["changed"]
    assert house.view().vms.authority_change is not None
    assert house.view().vms.authority_change.phase == "old-alone"  # type: ignore[union-attr]


# --- a CA of the user's own ---------------------------------------------------------------------------------------


def own_vm(house: House, name: str = "corporate") -> Vm:
    """As `tls_vm`, of a cluster whose nodes are to be signed by a CA of the user's."""
    house.apply(yaml.safe_dump(to_data(with_own(a_tls_document(), cluster=name))))
    vm = vm_of(house.launch(broker()), broker())
    assert enrol(house, vm).status_code == 200
    return vm


def test_a_cluster_is_born_with_a_ca_of_the_users_own(house: House) -> None:
    pki = house.authorities.own["corporate"] = Pki.root().below().authority
    vm = own_vm(house)
    told = _asked(house, vm)
    root = root_of(pki.pem)
    assert told["cluster_ca"] == root, "nodes believe the root, and nothing between"
    leaf, between = x509.load_pem_x509_certificates(told["certificate"].encode())
    leaf.verify_directly_issued_by(between)
    between.verify_directly_issued_by(x509.load_pem_x509_certificate(root.encode()))
    made = house.store.read_stream(f"cluster-{vm.cluster_uid}")[-2]
    assert made.data["cluster"] == pki.pem
    assert (made.data["own_cluster"], made.data["own_clients"]) == ("corporate", "")
    assert "PRIVATE" not in str(made.data)
    house.record(facts.QuorumFounded("kafka", "4.1", ()), facts.InstanceJoined(broker().key, 1000))
    assert house.client.get("/v1/clusters/orders/endpoints").json()["ca"] == root


def test_while_its_files_are_away_nothing_is_signed_and_no_other_ca_takes_its_place(house: House) -> None:
    house.authorities.own["corporate"] = Pki.root().below().authority
    vm = own_vm(house)
    _asked(house, vm)
    before = house.view().version
    house.authorities.is_away.add("corporate")
    house.pass_time(seconds=5)
    lost = ask(house, vm)
    assert (lost.status_code, lost.json()["code"]) == (503, "authority-lost")
    assert house.view().version == before
    house.authorities.is_away.clear()
    assert ask(house, vm).status_code == 200


def test_a_living_cluster_goes_to_the_users_ca_by_all_phases_and_back(house: House) -> None:
    own = house.authorities.own["corporate"] = Pki.root().below().authority
    vm = tls_vm(house)
    old = _asked(house, vm)["cluster_ca"]
    house.apply(yaml.safe_dump(to_data(with_own(a_tls_document(), cluster="corporate"))))
    assert _asked(house, vm)["cluster_ca"] == old, "a spec alone takes nobody there"
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    both = _asked(house, vm)
    assert (both["cluster_ca"], both["issuer"]) == (old + root_of(own.pem), old)
    _phases(house, "reissue")
    new = _asked(house, vm)
    assert (new["cluster_ca"], new["issuer"]) == (root_of(own.pem) + old, root_of(own.pem))
    assert len(x509.load_pem_x509_certificates(new["certificate"].encode())) == 2
    _phases(house, "new-alone")
    assert _asked(house, vm)["cluster_ca"] == root_of(own.pem)
    house.record(facts.AuthorityPhaseReached("ca-1", "new-alone"))
    assert house.view().vms.authorities == facts.AuthoritiesMade(
        own.pem, house.authorities.made[vm.cluster_uid].clients.pem, "corporate"
    )
    house.apply(yaml.safe_dump(to_data(a_tls_document())))
    house.record(facts.AuthorityReplaceRequested("ca-2", "cluster", "asked by anna"))
    back = _asked(house, vm)
    assert back["issuer"] == root_of(own.pem)
    made = next(e for e in reversed(house.store.read_stream(f"cluster-{vm.cluster_uid}")) if e.type == "ca.made")
    assert made.data["own"] == ""
    assert back["cluster_ca"] == root_of(own.pem) + made.data["certificate"]


def test_an_intermediate_of_the_same_root_is_believed_already(house: House) -> None:
    root = Pki.root()
    first = house.authorities.own["corporate"] = root.below().authority
    vm = own_vm(house)
    _asked(house, vm)
    second = house.authorities.own["corporate"] = root.below("kafka intermediate 2").authority
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    told = _asked(house, vm)
    assert (told["cluster_ca"], told["issuer"]) == (root_of(first.pem), "")
    assert x509.load_pem_x509_certificates(told["certificate"].encode())[1].subject.rfc4514_string() == (
        "CN=kafka intermediate"
    )
    _phases(house, "reissue")
    told = _asked(house, vm)
    assert told["certificate"].endswith(second.pem.removesuffix(root_of(second.pem)))
    _phases(house, "new-alone")
    assert _asked(house, vm)["cluster_ca"] == root_of(second.pem)


def test_one_that_was_certified_anew_with_its_key_is_taken_over_by_the_phases(house: House) -> None:
    root = Pki.root()
    before = house.authorities.own["corporate"] = (middle := root.below(days=400)).authority
    vm = own_vm(house)
    _asked(house, vm)
    renewed = house.authorities.own["corporate"] = root.below(key=middle.key, days=3000).authority
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    assert _asked(house, vm)["certificate"].endswith(before.pem.removesuffix(root_of(before.pem)))
    _phases(house, "reissue")
    assert _asked(house, vm)["certificate"].endswith(renewed.pem.removesuffix(root_of(renewed.pem)))
    _phases(house, "new-alone")
    assert _asked(house, vm)["cluster_ca"] == root_of(renewed.pem)


def test_a_replacement_by_the_very_ca_that_is_there_waits_for_another_file(house: House) -> None:
    house.authorities.own["corporate"] = Pki.root().authority
    vm = own_vm(house)
    _asked(house, vm)
    house.record(facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna"))
    house.pass_time(seconds=5)
    refused = ask(house, vm)
    assert refused.json()["code"] == "authority-lost"
    assert "put the new one beside it" in refused.json()["detail"]

"""Example configurations of clients: whole for every kind of listener, without a password, and honest about what is
missing."""

import pytest

from controlplane.api.presenters.client_examples import KINDS, client_examples
from controlplane.api.presenters.clusters import endpoints_out
from events.spec.client_security import ClientSecurity
from events.spec.security import Authentication, AuthenticationType, Listener
from tests.builders import a_document, a_tls_document, a_view, an_instance

ADDRESSES = ("kafka.example:9095", "10.0.0.9:9095")


def _listener(asked: AuthenticationType = "none") -> Listener:
    return Listener(name="ASKS", port=9095, security="tls", authentication=Authentication(type=asked))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ["none", "tls", "scram-sha-512", "oauth"])
def test_each_has_its_addresses_the_ca_and_what_is_to_be_filled_in(kind: str, asked: AuthenticationType) -> None:
    text = client_examples("orders", _listener(asked), ADDRESSES)[kind]
    assert "kedge endpoints orders --ca > orders-ca.pem" in text
    assert ("to fill in: " in text) is (asked != "none")
    refers_to_a_file = kind == "kcat" and asked in ("scram-sha-512", "oauth")
    assert ",".join(ADDRESSES) in text or refers_to_a_file
    assert ("-F orders-kcat.conf" in text) is refers_to_a_file, "an argument is read by everybody"


def test_java_reads_the_password_from_a_file_of_its_own() -> None:
    lines = client_examples("orders", _listener("scram-sha-512"), ADDRESSES)["java"].splitlines()
    assert "security.protocol=SASL_SSL" in lines
    assert '  username="USER" password="${file:/PATH/USER.properties:password}";' in lines
    assert "ssl.keystore.location=USER.pem" in client_examples("orders", _listener("tls"), ADDRESSES)["java"]


def test_tokens_are_fetched_by_the_client_and_its_secret_is_in_a_file() -> None:
    found = client_examples("orders", _listener("oauth"), ADDRESSES)
    assert "sasl.mechanism=OAUTHBEARER" in found["java"].splitlines()
    assert 'clientSecret="${file:/PATH/CLIENT_ID.properties:secret}"' in found["java"]
    assert "sasl.oauthbearer.client.secret=SECRET" in found["librdkafka"].splitlines()
    assert 'Path("/PATH/CLIENT_ID.secret").read_text()' in found["python"]
    assert all(text.count("TOKEN_ENDPOINT") >= 1 for text in found.values())


def test_plaintext_needs_nothing() -> None:
    found = client_examples("orders", Listener(), ADDRESSES)
    assert found["kcat"].splitlines()[-1] == f"kcat -b {','.join(ADDRESSES)} -X security.protocol=plaintext -L"
    assert not [text for text in found.values() if "pem" in text or "USER" in text]


def test_python_is_python() -> None:
    for asked in ("none", "tls", "scram-sha-512", "oauth"):
        compile(client_examples("orders", _listener(asked), ADDRESSES)["python"], "example", "exec")  # type: ignore[arg-type]  # a literal


def test_a_listener_is_told_with_the_brokers_that_have_it() -> None:
    document = a_tls_document()
    tls, plaintext = document.spec.listeners
    scram = _listener("scram-sha-512")
    spec = document.spec.model_copy(update={"listeners": (tls, scram)})
    both, old = ClientSecurity(listeners=(tls, scram)), ClientSecurity(listeners=(tls, plaintext))
    there = [
        an_instance(f"brokers-{zone}-0", security=security) for zone, security in (("a", both), ("b", old), ("c", old))
    ]
    found = endpoints_out(a_view(*there, document=document.model_copy(update={"spec": spec})))
    told = {one.name: one for one in found.listeners}
    assert [(one.protocol, len(one.bootstrap), one.missing) for one in told.values()] == [
        ("SSL", 3, 0),
        ("SASL_SSL", 1, 2),
    ]
    assert found.bootstrap == told["TLS"].bootstrap
    assert all(address.endswith(":9095") for address in told["ASKS"].bootstrap)


def test_a_plaintext_cluster_has_one_listener_and_no_examples_before_its_first_broker() -> None:
    (one,) = endpoints_out(a_view()).listeners
    assert (one.protocol, len(one.bootstrap)) == ("PLAINTEXT", 3)
    nobody = a_view(without=("brokers-a-0.g1", "brokers-b-0.g1", "brokers-c-0.g1"), document=a_document())
    assert endpoints_out(nobody).listeners[0].examples == {}

"""Listeners that ask for tokens: what has to be said, where a provider may be, which names no token may have."""

import pytest
from cryptography import x509

from events.spec import user_rules
from events.spec.change_rules import change_problems
from events.spec.client_security import client_security
from events.spec.document import LoadResult, load_documents
from events.spec.oauth_rules import pem_lines
from events.spec.positions import NOWHERE
from events.spec.user_model import KafkaUserDocument
from tests.token_provider import TokenProvider
from tests.unit.events.spec_texts import ORDERS

PROVIDER = TokenProvider({})
HTTPS = "https://login.example/realms/kafka"
ASKED = f"type: oauth, issuer: {HTTPS}, jwks: {HTTPS}/certs, audience: orders"


def loaded(asked: str = ASKED, *, more: str = "", text: str = ORDERS, security: str = "tls") -> LoadResult:
    listener = f"{{name: TOKENS, port: 9098, security: {security}, authentication: {{{asked}}}}}"
    spec = f"  security: {{internal: tls}}\n  listeners:\n    - {listener}\n{more}"
    return load_documents(f"{text}{spec}", file="orders.yaml")


def told(result: LoadResult) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in result.problems if one.is_error]


def asked(**other: str) -> str:
    said = {"type": "oauth", "issuer": HTTPS, "jwks": f"{HTTPS}/certs", "audience": "orders", **other}
    return ", ".join(f"{key}: {value}" for key, value in said.items() if value)


def test_what_a_provider_needs_is_taken() -> None:
    result = loaded(asked(principalClaim="azp", reauthenticate="10m", clockSkew="5s"))
    assert told(result) == []
    authentication = result.documents[0].spec.listeners[0].authentication
    assert (authentication.principal_claim, authentication.clock_skew, authentication.reauthenticate) == ("azp", 5, 600)


def test_a_cluster_that_has_migrated_takes_tokens_on_kafka_4_alone() -> None:
    (found,) = told(loaded(text=ORDERS.replace("version: 4.1.1", "version: 3.9.1")))
    assert found[1] == "listener `TOKENS` is to ask for tokens, which is not offered with Kafka 3.9.1"


@pytest.mark.parametrize("key", ["issuer", "jwks", "audience"])
def test_what_is_not_said_of_a_token_any_token_would_have(key: str) -> None:
    (found,) = loaded(asked(**{key: ""})).problems
    assert (found.code, found.line) == ("KEDGE-SPEC-118", 27)
    assert found.message == f"listener `TOKENS` asks for tokens, and does not say `{key}`"
    assert found.fix.startswith(f"Write `{key}`, as in ")


@pytest.mark.parametrize(
    "key", ["issuer: https://a", "jwks: https://a", "audience: a", "principalClaim: azp", "clockSkew: 5s"]
)
def test_what_is_about_tokens_is_said_for_nothing_elsewhere(key: str) -> None:
    name = key.partition(":")[0]
    message = f"`{name}` is about tokens, and this listener asks for none: its type is `scram-sha-512`"
    assert ("KEDGE-SPEC-118", message) in told(loaded(f"type: scram-sha-512, {key}"))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://login.example/certs", "is plain HTTP: whoever is on the way could answer with keys of their own"),
        ("http://169.254.169.254/latest", "is at an address where clouds tell a VM its secrets, or nobody is"),
        ("https://[fe80::1]/certs", "is at an address where clouds tell a VM its secrets, or nobody is"),
        ("https://0.0.0.0/certs", "is at an address where clouds tell a VM its secrets, or nobody is"),
        ("https://login.example:99999/certs", "is no address: its port is none"),
    ],
)
def test_nobody_else_may_answer_as_the_provider(address: str, why: str) -> None:
    assert told(loaded(asked(jwks=f'"{address}"'))) == [("KEDGE-SPEC-119", f"`{address}` {why}")]


@pytest.mark.parametrize(
    "address", ["https://user:pw@login.example/", "https://login.example/?a=b", "https://login.example/#a", "ftp://a/"]
)
def test_addresses_have_no_user_query_or_fragment(address: str) -> None:
    assert loaded(asked(jwks=f'"{address}"')).problems


def test_loopback_is_each_brokers_own_machine_but_on_the_local_cloud() -> None:
    local = asked(issuer='"http://127.0.0.1:8080"', jwks='"http://127.0.0.1:8080/jwks"')
    assert told(loaded(local)) == []
    elsewhere = ORDERS.replace("cloud: local, region: local-1", "cloud: aws, region: eu-central-1")
    elsewhere = elsewhere.replace("zones: [a, b, c]", "zones: [eu-central-1a, eu-central-1b, eu-central-1c]")
    said = [message for code, message in told(loaded(local, text=elsewhere)) if code == "KEDGE-SPEC-119"]
    assert said == [
        "`http://127.0.0.1:8080` is each broker's own machine: no provider is there",
        "`http://127.0.0.1:8080/jwks` is each broker's own machine: no provider is there",
    ]


def _with_ca(pem: str) -> LoadResult:
    lines = "".join(f"          {line}\n" for line in pem.splitlines())
    fields = f"        type: oauth\n        issuer: {HTTPS}\n        jwks: {HTTPS}/certs\n        audience: orders\n"
    text = (
        f"{ORDERS}  security: {{internal: tls}}\n  listeners:\n    - name: TOKENS\n      port: 9098\n"
        f"      security: tls\n      authentication:\n{fields}        ca: |\n{lines}"
    )
    return load_documents(text, file="orders.yaml")


def test_a_ca_is_pasted_as_it_is() -> None:
    result = _with_ca(PROVIDER.ca)
    assert told(result) == []
    ca = result.documents[0].spec.listeners[0].authentication.ca
    assert ca is not None
    assert "\n" not in ca
    assert pem_lines(ca) == PROVIDER.ca
    assert len(x509.load_pem_x509_certificates(pem_lines(f"{ca} {ca}").encode())) == 2


def test_what_is_no_ca_is_refused() -> None:
    _, _, leaf = PROVIDER._tls
    assert told(_with_ca(leaf)) == [("KEDGE-SPEC-120", "1 of the 1 certificates of `ca` are no CA's")]
    broken = PROVIDER.ca.replace("MII", "AAA", 1)
    assert told(_with_ca(broken)) == [("KEDGE-SPEC-120", "`ca` cannot be read as certificates")]


def test_a_key_is_no_certificate_and_stays_out() -> None:
    _, key, _ = PROVIDER._tls
    assert not _with_ca(key).ok
    assert not _with_ca(PROVIDER.ca + key).ok


def test_super_users_are_nobody_a_token_could_be() -> None:
    found = told(loaded(more="  authorization: {superUsers: [root]}\n"))
    assert found == [
        (
            "KEDGE-SPEC-121",
            "`root` is a super user, and a token at listener `TOKENS` that says so would be one, too",
        )
    ]


def test_one_provider_names_users() -> None:
    second = (
        f"    - {{name: OTHER, port: 9099, security: tls, authentication: {{{asked(issuer='https://b.example')}}}}}\n"
    )
    (found,) = told(loaded(more=second))
    assert found[0] == "KEDGE-SPEC-121"
    assert "believe two providers" in found[1]
    same = f"    - {{name: OTHER, port: 9099, security: tls, authentication: {{{asked(audience='b')}}}}}\n"
    assert told(loaded(more=same)) == []


def test_tokens_go_nowhere_in_plaintext() -> None:
    assert "anybody could listen" in told(loaded(security="plaintext"))[0][1]


def _user(kind: str, *, administrator: bool = False) -> KafkaUserDocument:
    spec = {
        "cluster": "orders",
        "authentication": {"type": kind},
        "authorization": {"administrator": administrator},
    }
    data = {"apiVersion": "kedge/v1alpha1", "kind": "KafkaUser", "metadata": {"name": "robot"}, "spec": spec}
    return KafkaUserDocument.model_validate(data)


def test_who_proves_itself_another_way_is_told_that_a_token_may_be_called_so() -> None:
    (cluster,) = loaded().documents
    found = {kind: user_rules.check_user_in(_user(kind), cluster) for kind in ("oauth", "none", "scram-sha-512")}
    assert [one.code for one in (*found["oauth"], *found["none"])] == []
    same = [one for one in found["scram-sha-512"] if one.code == "KEDGE-SPEC-122"]
    assert [(one.is_error, one.message) for one in same] == [
        (False, f"a token of {HTTPS} that says it is `robot` is `robot`, too")
    ]


def test_who_may_give_itself_every_right_comes_by_a_token_where_tokens_are_taken() -> None:
    (cluster,) = loaded().documents
    assert user_rules.check_user_in(_user("oauth", administrator=True), cluster) == []
    found = user_rules.check_user_in(_user("tls", administrator=True), cluster)
    assert "KEDGE-SPEC-121" in [one.code for one in found if one.is_error]


def test_a_user_of_tokens_needs_a_listener_that_asks_for_them() -> None:
    (plain,) = load_documents(ORDERS, file="orders.yaml").documents
    assert "KEDGE-SPEC-107" in [one.code for one in user_rules.check_user_in(_user("oauth"), plain)]


def test_a_living_plaintext_cluster_goes_to_tls_first() -> None:
    (old,), (new,) = load_documents(ORDERS, file="orders.yaml").documents, loaded().documents
    found = [one.message for one in change_problems(old, new, None, NOWHERE) if one.code == "KEDGE-SPEC-110"]
    assert "listener `TOKENS` is to ask for tokens, and nodes have no names yet that no token can have" in found


def test_values_of_a_provider_change_in_place_under_the_same_name() -> None:
    (old,), (new,) = loaded().documents, loaded(asked(audience="b", issuer="https://b.example")).documents
    assert list(change_problems(old, new, None, NOWHERE)) == []
    before, after = client_security(old, "broker"), client_security(new, "broker")
    assert before is not None
    assert after is not None
    assert after.words(before) == "listener TOKENS changed"


@pytest.mark.parametrize(
    ("open_to", "tokens_from", "anonymous", "beyond"),
    [
        ("clients: [10.8.0.0/16]", "clients: [10.8.7.0/24]", "full", ""),
        ("clients: [10.8.0.0/16]", "clients: [10.8.0.0/16, 203.0.113.0/24]", "full", "203.0.113.0/24"),
        ("clients: []", "clients: [203.0.113.0/24]", "full", "203.0.113.0/24"),
        ("clients: []", "clients: [203.0.113.0/24]", "refuse", ""),
        ("clients: [10.8.0.0/16]", "port: 9098", "full", "192.0.2.0/24"),
        ("port: 9092", "port: 9098", "full", ""),
    ],
)
def test_a_token_that_says_anonymous_opens_no_wider_door(
    open_to: str, tokens_from: str, anonymous: str, beyond: str
) -> None:
    listeners = (
        f"    - {{name: OPEN, {_at(9092, open_to)}}}\n"
        f"    - {{name: TOKENS, {_at(9098, tokens_from)}, security: tls, authentication: {{{asked()}}}}}\n"
    )
    text = (
        f"{ORDERS}  security: {{internal: tls}}\n  access: {{clients: [192.0.2.0/24]}}\n"
        f"  authorization: {{anonymous: {anonymous}}}\n  listeners:\n{listeners}"
    )
    message = (
        f"`OPEN` asks nobody who they are and lets them do everything, and does not let in {beyond}: a token at "
        "listener `TOKENS` that says `ANONYMOUS` may do the same from there"
    )
    assert told(load_documents(text, file="orders.yaml")) == ([("KEDGE-SPEC-121", message)] if beyond else [])


def _at(port: int, more: str) -> str:
    return more if more.startswith("port") else f"port: {port}, {more}"

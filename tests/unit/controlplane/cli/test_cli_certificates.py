"""certificates, replace-ca: what is shown of nodes and CAs, what is asked first, and what is sent."""

from datetime import UTC, datetime

import pytest

from controlplane.api.presenters.certificate_text import served_text
from controlplane.api.schemas import certificates as api, commands as command_api
from controlplane.cli import exits
from tests.unit.controlplane.cli.cli_world import World, detail

SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
RENEWED = datetime(2026, 9, 1, tzinfo=UTC)


def served(serial: str, listener: str = "REPLICATION") -> api.ServedOut:
    return api.ServedOut(
        listener=listener, port=9091, serial=serial, until=UNTIL if serial else None, seen_at=SINCE, problem=""
    )


def node(*listeners: api.ServedOut, started_with: str = "1f") -> api.NodeCertificateOut:
    return api.NodeCertificateOut(
        key="brokers-a-0.g1",
        service="broker",
        service_id=1000,
        revoked_at=None,
        serial="1f",
        since=SINCE,
        until=UNTIL,
        renewed_from=RENEWED,
        started_with=started_with,
        issuer="aa",
        believes=["aa"],
        served=list(listeners),
    )


def found(replacement: api.AuthorityReplacementOut | None = None) -> api.CertificatesOut:
    ca = api.AuthorityOut(kind="cluster", fingerprint="aa", since=SINCE, until=UNTIL, signs=True, believed=True)
    return api.CertificatesOut(
        cluster="orders", authorities=[ca], replacement=replacement, nodes=[node(served("1f"), served("1f", "TLS"))]
    )


@pytest.fixture
def world(world: World) -> World:
    world.server.cluster(detail())
    world.server.on("GET", "/clusters/orders/certificates", found())
    done = command_api.CommandOut(cluster="orders", changed=True, sentence="the cluster CA of orders gets a successor")
    world.server.on("POST", "/clusters/orders/replace-ca", done)
    return world


def test_nodes_and_cas_are_shown_with_their_ends(world: World) -> None:
    ran = world.run("certificates", "orders")
    assert ran.exit_code == exits.OK
    for words in ("signs, believed", "brokers-a-0.g1", "2027-01-01", "2026-09-01", "this one"):
        assert words in ran.stdout, words


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (node(started_with=""), "unknown"),
        (node(), "not looked at yet"),
        (node(served("")), "unknown at REPLICATION"),
        (node(served("1f"), served("2e", "TLS")), "another one at TLS until 2027-01-01"),
    ],
)
def test_what_nobody_has_seen_is_said_to_be_unknown(one: api.NodeCertificateOut, words: str) -> None:
    assert served_text(one) == words


def test_how_far_a_replacement_is_is_said(world: World) -> None:
    on_its_way = api.AuthorityReplacementOut(
        kind="cluster",
        phase="trust-both",
        since=SINCE,
        reached=False,
        reason="asked by anna",
        there=["a", "b"],
        behind=["c"],
        unknown=[],
    )
    world.server.on("GET", "/clusters/orders/certificates", found(on_its_way))
    assert "trust-both, 2 there, 1 to be started anew" in world.run("certificates", "orders").stdout
    there = on_its_way.model_copy(update={"reached": True})
    world.server.on("GET", "/clusters/orders/certificates", found(there))
    assert "it waits for a person" in world.run("certificates", "orders").stdout


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {"clients": False, "step": "begin"}),
        (["--clients", "--continue"], {"clients": True, "step": "continue"}),
        (["--back"], {"clients": False, "step": "back"}),
    ],
)
def test_the_plan_is_asked_for_first_and_then_the_order_is_given(
    world: World, options: list[str], body: dict[str, object]
) -> None:
    ran = world.terminal("replace-ca", "orders", *options, "--reason", "it leaked", typed="y\n")
    assert ran.exit_code == exits.OK, ran.stderr
    sent = world.server.bodies("POST", "/clusters/orders/replace-ca")
    assert sent == [{**body, "reason": "it leaked", "dry_run": dry} for dry in (True, False)]


def test_without_a_yes_nothing_is_recorded(world: World) -> None:
    world.terminal("replace-ca", "orders", typed="n\n")
    assert [one["dry_run"] for one in world.server.bodies("POST", "/clusters/orders/replace-ca")] == [True]
    assert world.run("replace-ca", "orders", "--back", "--continue").exit_code == exits.USAGE


def test_a_revoked_vm_says_since_when_instead_of_what_it_shows() -> None:
    assert served_text(node(served("1f")).model_copy(update={"revoked_at": SINCE})) == "revoked 2026-01-01"


def test_a_revocation_shows_its_plan_and_is_sent_with_the_name_typed_out(world: World) -> None:
    done = command_api.CommandOut(cluster="orders", changed=True, sentence="its agent is not recognised")
    world.server.on("POST", "/clusters/orders/revoke-certificates", done)
    words = ("revoke-certificates", "orders", "brokers-a-0", "--reason", "stolen")
    wrong = world.run(*words, "--confirm", "payments")
    assert wrong.exit_code == exits.FAILED
    assert "its agent is not recognised" in wrong.stderr
    assert "`payments` is not `orders`" in wrong.stderr
    assert world.run(*words, "--confirm", "orders", "--replace-ca").exit_code == exits.OK
    sent = world.server.bodies("POST", "/clusters/orders/revoke-certificates")
    assert [(one["dry_run"], one["confirm"]) for one in sent] == [(True, ""), (True, ""), (False, "orders")]
    assert sent[-1]["replace_ca"] is True


def test_a_revocation_needs_a_reason(world: World) -> None:
    assert world.run("revoke-certificates", "orders", "brokers-a-0", "--confirm", "orders").exit_code == exits.USAGE

"""A portal gets certificates for brokers that speak TLS from the loop, and its key never leaves it."""

from datetime import datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from controlplane.cluster.server_identities import RENEWED_AFTER, ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.server.portal_rights import ASKED
from controlplane.server.split.message import LOOP, NO_CLUSTER
from controlplane.server.split.portal_certificates import (
    CERTIFIED,
    GONE_AFTER,
    PortalCertifier,
    ReceivedCertificates,
    portal_name,
)
from controlplane.server.split.subscriber import LoopSubscriber
from controlplane.storage.certificates.principals import principals_of
from controlplane.storage.latest_values import LatestValue, Subject
from events import facts
from tests.builders import NOW, a_tls_document, a_view, changed_view
from tests.fakes.cluster_authorities import MemoryClusterAuthorities
from tests.fakes.latest_values import MemoryLatestStore

SEALED = a_view(document=a_tls_document())


class Fleet:
    def __init__(self, *views: ClusterView) -> None:
        self._views = views

    def views(self) -> list[ClusterView]:
        return list(self._views)


class Apart:
    """A loop and portals of one database."""

    def __init__(self) -> None:
        self.now = NOW
        self.latest, self.made = MemoryLatestStore(), MemoryClusterAuthorities(lambda: self.now)
        self.loop = self.another_loop()

    def clock(self) -> datetime:
        return self.now

    def another_loop(self) -> PortalCertifier:
        return PortalCertifier(Fleet(SEALED), self.latest, self.made, self.clock)  # type: ignore[arg-type]

    def portal(self, key: bytes = b"one") -> ServerIdentities:
        subscriber = LoopSubscriber(self.latest, self.clock)
        identities = ServerIdentities(ReceivedCertificates(key, self.latest, subscriber, self.clock), self.clock)
        identities.know(SEALED)
        return identities

    def rows(self) -> dict[str, LatestValue]:
        return {row.subject.name: row for row in self.latest.of_kind(CERTIFIED)}


@pytest.fixture
def apart() -> Apart:
    made = Apart()
    made.made.found(SEALED.uid)
    return made


def refused(portal: ServerIdentities) -> str:
    with pytest.raises(KafkaUnavailable) as error:
        portal.properties(SEALED.uid)
    return str(error.value)


def begun(apart: Apart, key: bytes = b"one") -> ServerIdentities:
    portal = apart.portal(key)
    refused(portal)
    apart.loop.poll()
    return portal


def test_brokers_take_a_portal_for_kedges_server_by_a_key_that_the_loop_never_saw(apart: Apart) -> None:
    portal = begun(apart)
    shown = portal.properties(SEALED.uid)
    leaf = x509.load_pem_x509_certificate(shown["ssl.certificate.pem"].encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(shown["ssl.ca.pem"].encode()))
    assert leaf.subject.rfc4514_string() == f"CN={principals_of(SEALED.uid).server}"
    assert load_pem_private_key(shown["ssl.key.pem"].encode(), None).public_key() == leaf.public_key()
    assert portal.context(SEALED.uid) is not None
    rows = str([dict(r.value) for r in (*apart.latest.of_kind(ASKED), *apart.latest.of_kind(CERTIFIED))])
    assert "CERTIFICATE REQUEST" in rows
    assert "PRIVATE" not in rows


def test_a_portal_says_what_it_waits_for(apart: Apart) -> None:
    portal = apart.portal()
    assert "no loop has been heard on this database yet" in refused(portal)
    apart.latest.put(LatestValue(Subject(LOOP, NO_CLUSTER, "loop"), {}, "loop", apart.now))
    apart.made.made.clear()
    apart.loop.poll()
    refused(portal)
    apart.made.found(SEALED.uid)
    apart.loop.poll()
    assert portal.properties(SEALED.uid), "once the cluster has its CAs"


def test_each_portal_has_its_own_and_one_that_starts_anew_takes_the_place_of_what_it_was(apart: Apart) -> None:
    one, two = begun(apart, b"one"), begun(apart, b"two")
    assert one.properties(SEALED.uid)["ssl.key.pem"] != two.properties(SEALED.uid)["ssl.key.pem"]
    again = apart.portal(b"one")
    refused(again)
    apart.loop.poll()
    assert again.properties(SEALED.uid)["ssl.key.pem"] != one.properties(SEALED.uid)["ssl.key.pem"]
    assert set(apart.rows()) == {portal_name(b"one"), portal_name(b"two")}
    assert len(apart.latest.of_kind(ASKED)) == 2


def test_it_is_signed_anew_every_day_while_the_portal_is_there_and_taken_after_two(apart: Apart) -> None:
    portal = begun(apart)
    first = portal.properties(SEALED.uid)["ssl.certificate.pem"]
    for day in range(1, 15):
        apart.now += timedelta(days=1)
        apart.loop.poll()
        ends = x509.load_pem_x509_certificate(portal.properties(SEALED.uid)["ssl.certificate.pem"].encode())
        assert ends.not_valid_after_utc - apart.now >= timedelta(days=2), day
    assert portal.properties(SEALED.uid)["ssl.certificate.pem"] != first
    signed = apart.rows()
    apart.now += GONE_AFTER
    apart.loop.poll()
    assert apart.rows() == signed, "nobody asks for it any more"


def test_nothing_is_signed_twice_for_nothing_and_another_leader_signs_by_itself(apart: Apart) -> None:
    portal = begun(apart)
    first = apart.rows()
    apart.loop.poll()
    assert apart.rows() == first
    apart.now += timedelta(seconds=1)
    apart.another_loop().poll()
    assert apart.rows() != first
    assert portal.properties(SEALED.uid), "what it has goes on"


def test_where_the_loop_is_away_for_a_week_the_portal_says_that_it_is_over(apart: Apart) -> None:
    portal = begun(apart)
    assert portal.properties(SEALED.uid)
    apart.now += RENEWED_AFTER
    assert portal.properties(SEALED.uid), "the one it has counts still"
    apart.now += timedelta(days=6)
    assert "was over at" in refused(portal)


def test_what_is_no_request_is_signed_for_nobody(apart: Apart) -> None:
    name = f"certificate {portal_name(b'one')}"
    for value in ({}, {"request": "nonsense"}):
        apart.latest.put(LatestValue(Subject(ASKED, NO_CLUSTER, name), value, "portal", apart.now))
        apart.loop.poll()
        apart.now += timedelta(seconds=1)
    assert not apart.rows()


def test_while_a_ca_is_replaced_the_loop_signs_anew_by_the_one_that_signs_now(apart: Apart) -> None:
    portal, old = begun(apart), apart.made.found(SEALED.uid)
    portal.properties(SEALED.uid)
    new = apart.made.succeed(SEALED.uid, "cluster", "ca-1")
    cas = facts.AuthoritiesMade(old.cluster.pem, old.clients.pem)
    change = AuthorityReplacementView("ca-1", "cluster", AuthorityPhase.REISSUE, apart.now, "", new.pem)
    reissued = changed_view(SEALED, authorities=cas, authority_change=change)
    portal.know(reissued)
    assert "is being replaced" in refused(portal), "by the old one it would be let in no more after the last phase"
    apart.loop.fleet = Fleet(reissued)  # type: ignore[assignment]
    apart.loop.poll()
    shown = portal.properties(SEALED.uid)
    leaf = x509.load_pem_x509_certificate(shown["ssl.certificate.pem"].encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(new.pem.encode()))
    assert shown["ssl.ca.pem"].count("BEGIN CERTIFICATE") == 2


def test_where_kedge_has_rights_of_its_own_a_portal_is_itself_and_acts_as_no_node(apart: Apart) -> None:
    least = a_view(document=a_tls_document(), least_rights=True)
    portal = begun(apart)
    assert _subject(portal) == f"CN={principals_of(SEALED.uid).server}", "of a release before this one"
    apart.loop = PortalCertifier(Fleet(least), apart.latest, apart.made, apart.clock)  # type: ignore[arg-type]
    apart.loop.poll()
    portal = apart.portal()
    portal.know(least)
    refused(portal)
    apart.loop.poll()
    assert _subject(portal) == f"CN={principals_of(SEALED.uid).portal}"
    node = portal.as_node()
    node.know(least)
    with pytest.raises(KafkaRefused, match="a portal apart looks at brokers, and changes nothing there"):
        node.context(SEALED.uid)


def _subject(portal: ServerIdentities) -> str:
    pem = portal.properties(SEALED.uid)["ssl.certificate.pem"]
    return x509.load_pem_x509_certificate(pem.encode()).subject.rfc4514_string()

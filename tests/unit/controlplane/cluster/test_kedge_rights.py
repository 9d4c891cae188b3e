"""How Kedge's own ACLs are looked at and made, whoever dies or takes them away."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controlplane.cluster.kedge_rights import AclReconciler, has_kedge_rights
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import at_rest
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.storage.certificates.principals import principals_of
from planner.rights.acls import Acl
from planner.rights.kedge import kedge_acls
from tests.builders import a_document, a_tls_document, a_view
from tests.fakes.kafka import FakeKafka

VIEW = a_view(document=a_tls_document())
OWN = principals_of(VIEW.uid)
WANTED = kedge_acls(OWN.kedge)
ALICE = Acl("User:alice", "topic", "pay", "literal", "Read")


class Server:
    """A fake cluster, and who is told what in it: Kedge's server needs `Describe` of the cluster to read ACLs."""

    def __init__(self) -> None:
        self.kafka = FakeKafka()
        self.kafka.add_controller(100)
        self.kafka.add_broker(1000, "az-1")
        self.kafka.users.acls = {ALICE}
        self.signed = True
        self.keeper = AclReconciler(lambda _: self, self.as_node)  # type: ignore[arg-type,return-value]

    def acls_of(self, principals: tuple[str, ...]) -> tuple[Acl, ...] | None:
        acls = self.kafka.users.acls
        may = any(a.principal == OWN.principal("server") and a.operation in ("Describe", "Alter") for a in acls or ())
        denied = any(a.principal == "User:*" and a.is_deny for a in acls or ())
        if acls is not None and (denied or not may):
            raise KafkaRefused(what="reading ACLs", where="x", words="no", error="ClusterAuthorizationFailedError")
        return self.kafka.acls_of(principals)

    @contextmanager
    def as_node(self, view: ClusterView) -> Iterator[FakeKafka]:
        if not self.signed:
            raise KafkaUnavailable(what="signing", where=view.name, why="the key of the cluster CA does not open")
        yield self.kafka

    @property
    def acls(self) -> set[Acl]:
        return set(self.kafka.users.acls or ())


def test_whoever_has_none_is_told_nothing_and_makes_all_of_them() -> None:
    server = Server()
    look = server.keeper.look(VIEW)
    assert set(look.seen.lacking) == WANTED
    assert look.seen.is_blind
    assert server.keeper.put_right(VIEW) == ""
    assert server.acls == WANTED | {ALICE}
    assert not server.keeper.look(VIEW).seen
    assert server.keeper.put_right(VIEW) == ""


def test_what_others_took_or_added_is_put_right_and_theirs_is_left() -> None:
    server = Server()
    server.keeper.put_right(VIEW)
    more, theirs = ALICE._replace(principal=OWN.principal("portal")), ALICE._replace(principal="User:*")
    server.kafka.users.acls = {*sorted(WANTED)[3:], more, theirs, ALICE}
    assert server.keeper.look(VIEW).seen.surplus == (more,)
    server.keeper.put_right(VIEW)
    assert server.acls == WANTED | {theirs, ALICE}


@pytest.mark.parametrize("requests", range(2))
def test_a_server_that_dies_between_requests_goes_on_by_the_next_look(requests: int) -> None:
    server = Server()
    server.kafka.users.acls = {ALICE, ALICE._replace(principal=OWN.principal("server"))}
    server.kafka.users.requests_until_dead = requests
    assert "no broker answers" in server.keeper.put_right(VIEW)
    server.kafka.users.requests_until_dead = None
    again = AclReconciler(server.keeper.kafka, server.as_node)
    again.put_right(VIEW)
    assert server.acls == WANTED | {ALICE}


def test_where_nobody_signs_the_reason_is_told_until_they_are_there() -> None:
    server = Server()
    server.signed = False
    assert "the key of the cluster CA does not open" in server.keeper.put_right(VIEW)
    assert "the key of the cluster CA does not open" in server.keeper.look(VIEW).problem
    server.signed = True
    server.keeper.put_right(VIEW)
    assert server.keeper.look(VIEW).problem == ""


def test_whoever_denies_kedge_even_a_look_at_acls_is_named_all_the_same() -> None:
    server = Server()
    server.keeper.put_right(VIEW)
    denying = Acl("User:*", "cluster", "kafka-cluster", "literal", "Describe", permission="deny")
    server.kafka.users.acls = {*WANTED, denying}
    assert server.keeper.look(VIEW).seen.is_blind
    assert str(denying) in server.keeper.put_right(VIEW)
    assert str(denying) in server.keeper.look(VIEW).problem
    server.kafka.users.acls = {*WANTED}
    assert not server.keeper.look(VIEW).seen
    assert server.keeper.put_right(VIEW) == server.keeper.look(VIEW).problem == ""


def test_brokers_without_an_authorizer_take_none_and_say_so() -> None:
    server = Server()
    server.kafka.users.acls = None
    assert "no authorizer" in server.keeper.look(VIEW).problem
    assert "no authorizer" in server.keeper.put_right(VIEW)


def test_it_is_for_clusters_whose_nodes_speak_tls_and_whose_controllers_take_acls() -> None:
    assert has_kedge_rights(VIEW)
    assert not has_kedge_rights(a_view(document=a_document()))
    known = [has_kedge_rights(a_view(document=a_tls_document(), security=at_rest(n))) for n in range(7)]
    assert known == [False, False, False, True, True, True, True]

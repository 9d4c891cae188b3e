"""One sample of every event about users, and a state of a cluster in which it may happen: part of `samples`."""

from types import MappingProxyType

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import DeclaredUser, PasswordView, UserChangeView, UsersView
from events import user_facts as facts
from tests.builders import BEFORE, NOW, a_view

READ = facts.AclBinding("topic", "pay-", "prefix", "Read")
ALICE = facts.UserDeclaration(
    "alice", "scram-sha-512", (READ,), {"producer_byte_rate": 1048576}, "payments", {"tier": "one"}
)

USER_SAMPLES: tuple[object, ...] = (
    facts.UsersDeclared((ALICE,), "git:teams", "kafka/users.yaml", "ab" * 20),
    facts.UsersUndeclared(("alice",), "git:teams", "ab" * 20),
    facts.UsersChangeRequested(
        "users-1",
        {"alice": 1},
        {"alice": (READ,)},
        {"alice": (facts.AclBinding("group", "old", "literal", "Read", "10.0.0.7"),)},
        {"alice": {"producer_byte_rate": 1048576, "consumer_byte_rate": None}},
        (),
        "making alice",
    ),
    facts.UsersChanged("users-1", {"alice": 1}, (), ("alice",), (), ()),
    facts.UsersTroubled((facts.UserTrouble("alice", "Refused", "Kafka refused its rights"),)),
    facts.UserPasswordRequested("alice", 2, "asked by anna: it leaked"),
    facts.UserPasswordCollected("alice", 1),
    facts.UserPasswordDelivered("alice", 1, "apps"),
    facts.UsersUndelivered((facts.UserTrouble("alice", "SinkUnusable", "sink `apps`: /var/lib/x is not there"),)),
    facts.UserCertificateIssued("alice", "1f", BEFORE, NOW),
    facts.UserDeletionRequested("alice", "asked by anna: gone"),
    facts.UserReleased("alice", "asked by anna: theirs"),
)


def user_states() -> dict[type, ClusterView]:
    """For each of them a view it may happen in."""
    known = DeclaredUser(ALICE, "git:teams", "kafka/users.yaml", "ab" * 20, BEFORE, PasswordView(wanted=1))
    users = UsersView(MappingProxyType({"alice": known}), passwords=1)
    change = UserChangeView("users-1", {"alice": 1}, {}, {}, {}, (), BEFORE)
    there = a_view(users=users)
    return {type(sample): there for sample in USER_SAMPLES} | {
        facts.UsersDeclared: a_view(),
        facts.UsersChanged: a_view(users=UsersView(users.by_name, frozenset({"alice"}), change, passwords=1)),
    }

"""The stories of users, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from controlplane.cluster.work_in_hand import has_work
from events.user_facts import AclBinding
from planner.rights.acls import Acl
from planner.rights.passwords import iterations_of
from planner.rights.wanted import user_entity
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.users import (
    GROUP_READ,
    PAY_READ,
    PAY_WRITE,
    acls_in_kafka,
    another_password,
    declare_user,
    delete_user,
    lets_in,
    user_troubles,
)
from tests.sim.world import World

BOB = Acl("User:bob", "topic", "pay-", "prefix", "Read")


def _born(world: World) -> None:
    world.declare(a_document())
    world.converge()


def user_lives(world: World) -> None:
    """Declared, changed, given another password and deleted; of others nothing is touched."""
    _born(world)
    world.kafka.users.acls = {BOB}
    world.kafka.users.quotas = {user_entity("bob"): {"request_percentage": 50.0}}
    declare_user(world, "alice", {PAY_READ, GROUP_READ}, {"producer_byte_rate": 1048576})
    world.converge(ticks=20)
    assert lets_in(world, "alice", 1)
    assert acls_in_kafka(world, "alice") == {
        "allow User:alice Read on topics that begin with pay-",
        "allow User:alice Read on groups that begin with alice-",
    }
    assert world.kafka.users.quotas[user_entity("alice")] == {"producer_byte_rate": 1048576.0}
    declare_user(world, "alice", {PAY_WRITE}, {"consumer_byte_rate": 5})
    world.converge(ticks=20)
    assert acls_in_kafka(world, "alice") == {"allow User:alice Write on topics that begin with pay-"}
    assert world.kafka.users.quotas[user_entity("alice")] == {"consumer_byte_rate": 5.0}
    another_password(world, "alice")
    world.converge(ticks=20)
    assert lets_in(world, "alice", 2)
    assert world.view().users.by_name["alice"].password.applied == 2
    assert world.passwords.kept == {1, 2}, "the first until the second is there"
    delete_user(world, "alice")
    world.converge(ticks=20)
    assert "alice" not in world.view().users.by_name
    assert world.kafka.users.acls == {BOB}
    assert world.kafka.users.quotas == {user_entity("bob"): {"request_percentage": 50.0}}
    assert world.kafka.users.credentials == {}


def user_taken_over(world: World) -> None:
    """What is there and equal is taken over without a request, a password that somebody else made too."""
    _born(world)
    world.kafka.users.acls = {Acl("User:alice", "topic", "pay-", "prefix", "Read")}
    world.kafka.users.credentials = {"alice": {"SCRAM-SHA-512": 4096}}
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    assert world.kafka.users.given == {}
    assert world.view().users.changes == 0
    assert world.view().users.by_name["alice"].password.is_foreign


def user_rotated_after_a_restored_backup(world: World) -> None:
    """Kafka has a password that the history lost, by the number of the next one: it is none of that, and goes."""
    _born(world)
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    assert lets_in(world, "alice", 1)
    world.kafka.users.credentials["alice"]["SCRAM-SHA-512"] = iterations_of(2, 1)
    world.kafka.users.by_others = True
    another_password(world, "alice")
    world.converge(ticks=20)
    assert lets_in(world, "alice", 3)
    assert world.view().users.by_name["alice"].password.applied == 3


def user_changed_by_hand(world: World) -> None:
    """Rights and quotas are put right; a password that somebody else set, or took away, is told: a person decides."""
    _born(world)
    declare_user(world, "alice", {PAY_READ}, {"producer_byte_rate": 5})
    declare_user(world, "carol", authentication="tls")
    world.converge(ticks=20)
    world.kafka.users.acls = {
        Acl("User:alice", "topic", "*", "literal", "All"),
        Acl("User:alice", "topic", "x", "prefix", "Read", "deny"),
    }
    world.kafka.users.by_others = True
    world.kafka.users.quotas[(("client-id", "fast"), ("user", "alice"))] = {"producer_byte_rate": 1e9}
    world.kafka.users.credentials["carol"] = {"SCRAM-SHA-512": 4096}
    for _ in range(70):
        world.tick()
    assert acls_in_kafka(world, "alice") == {"allow User:alice Read on topics that begin with pay-"}
    assert world.kafka.users.quotas == {user_entity("alice"): {"producer_byte_rate": 5.0}}
    assert "carol" not in world.kafka.users.credentials, "she signs in with a certificate"
    world.kafka.users.credentials["alice"]["SCRAM-SHA-512"] = 4096
    world.kafka.users.by_others = True
    for _ in range(70):
        world.tick()
    assert user_troubles(world) == {"alice": "PasswordChanged"}
    assert world.view().conditions["UsersDegraded"].status
    del world.kafka.users.credentials["alice"]
    for _ in range(70):
        world.tick()
    assert user_troubles(world) == {"alice": "PasswordGone"}
    another_password(world, "alice")
    world.converge(ticks=20)
    assert lets_in(world, "alice", 2)
    assert not user_troubles(world)
    assert not world.view().conditions["UsersDegraded"].status


def user_refused_by_kafka(world: World) -> None:
    """Kafka's words are told of this user; others are served, and it is not asked again and again."""
    _born(world)
    world.kafka.users.refusing["alice"] = 'Kafka said "no" (PolicyViolationError)'
    declare_user(world, "alice", {PAY_READ})
    declare_user(world, "bob", {PAY_READ})
    world.converge(ticks=20)
    assert user_troubles(world) == {"alice": "Refused"}
    assert lets_in(world, "bob", 2)
    changes = world.view().users.changes
    for _ in range(140):
        world.tick()
    assert world.view().users.changes == changes
    world.kafka.users.refusing.clear()
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    assert not user_troubles(world)
    assert lets_in(world, "alice", 1)


def user_half_applied(world: World) -> None:
    """Brokers die between the requests of a change: what is left of it is found by looking."""
    _born(world)
    declare_user(world, "alice", {PAY_READ, GROUP_READ}, {"producer_byte_rate": 5})
    world.kafka.users.requests_until_dead = 1
    for _ in range(8):
        world.tick()
    assert world.kafka.users.credentials == {}, "no password before the rights"
    world.kafka.users.requests_until_dead = None
    world.converge(ticks=20)
    assert lets_in(world, "alice", 1)
    assert len(acls_in_kafka(world, "alice")) == 2


def user_without_an_authorizer(world: World) -> None:
    """Quotas and a password are given; that rights mean nothing is told, and put right once brokers ask."""
    _born(world)
    world.kafka.users.acls = None
    declare_user(world, "alice", {PAY_READ}, {"producer_byte_rate": 5})
    world.converge(ticks=20)
    assert user_troubles(world) == {"alice": "NoAuthorizer"}
    assert lets_in(world, "alice", 1)
    world.kafka.users.acls, world.kafka.users.by_others = set(), True
    for _ in range(70):
        world.tick()
    assert not user_troubles(world)
    assert acls_in_kafka(world, "alice") == {"allow User:alice Read on topics that begin with pay-"}


def user_password_not_at_hand(world: World) -> None:
    """The rest is given, and others get theirs; that the password is not there is told."""
    _born(world)
    declare_user(world, "bob")
    world.passwords.lost.add("alice")
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    assert user_troubles(world) == {"alice": "Refused"}
    assert acls_in_kafka(world, "alice") == {"allow User:alice Read on topics that begin with pay-"}
    assert lets_in(world, "bob", 1)
    assert "alice" not in world.kafka.users.credentials


SCENARIOS = (
    user_lives,
    user_rotated_after_a_restored_backup,
    user_taken_over,
    user_changed_by_hand,
    user_refused_by_kafka,
    user_half_applied,
    user_without_an_authorizer,
    user_password_not_at_hand,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_a_user_is_told_as_recorded(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def test_a_server_killed_at_any_request_leaves_a_user_as_declared_in_the_end() -> None:
    points = _lived(World()).points
    about_users = [n for n, name in enumerate(points.names, 1) if "user" in name]
    assert len(about_users) > 20
    for crash_at in about_users:
        world = _lived(World(crash_at=crash_at))
        assert len(world.crashes) == 1, points.names[crash_at - 1]


def _lived(world: World) -> World:
    """Declared, changed, given another password, deleted, with points between all requests."""
    world.kafka.users.before_request = lambda stage: world.points.reach(f"user: {stage.value}")
    _born(world)
    others = AclBinding("topic", "other", "literal", "Read")
    for acls in ({PAY_READ, GROUP_READ}, {PAY_WRITE, others}):
        declare_user(world, "alice", acls, {"producer_byte_rate": len(acls)})
        world.converge(ticks=30)
        assert len(acls_in_kafka(world, "alice")) == 2
    another_password(world, "alice")
    world.converge(ticks=30)
    assert lets_in(world, "alice", 2)
    assert not user_troubles(world)
    delete_user(world, "alice")
    world.converge(ticks=30)
    assert "alice" not in world.kafka.users.seen().users
    assert not world.view().users.by_name
    return world


def test_a_cluster_at_rest_is_looked_at_once_a_minute_and_one_without_users_never() -> None:
    world = World()
    _born(world)
    for _ in range(130):
        world.tick()
    assert world.kafka.users.reads == 0
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    assert not has_work(world.view())
    reads = world.kafka.users.reads
    for _ in range(180):
        world.tick()
    assert 2 <= world.kafka.users.reads - reads <= 4
    assert world.last_tick.events == 0


def test_one_whose_rights_no_broker_can_tell_is_not_gone_before_they_are_taken_away() -> None:
    """On the way back to plaintext: brokers have no authorizer, the metadata log has the ACLs all the same."""
    world = World()
    _born(world)
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    there, world.kafka.users.acls = world.kafka.users.acls, None
    delete_user(world, "alice")
    for _ in range(70):
        world.tick()
    assert world.view().users.by_name["alice"].tombstone
    assert user_troubles(world) == {"alice": "NoAuthorizer"}
    assert world.kafka.users.credentials == {}, "what can be taken away is"
    world.kafka.users.acls, world.kafka.users.by_others = there, True
    for _ in range(70):
        world.tick()
    assert world.kafka.users.acls == set()
    assert not world.view().users.by_name


def test_what_cannot_be_read_waits_and_nothing_is_changed() -> None:
    world = World()
    _born(world)
    declare_user(world, "alice", {PAY_READ})
    world.converge(ticks=20)
    given = dict(world.kafka.users.given)
    world.kafka.outage = True
    delete_user(world, "alice")
    for _ in range(20):
        world.tick()
    assert world.view().users.by_name["alice"].tombstone
    assert world.kafka.users.given == given
    assert acls_in_kafka(world, "alice")
    world.kafka.outage = False
    for _ in range(90):
        world.tick()
    assert not world.view().users.by_name

"""Users of a converged cluster: two looks that show the same cost one comparison, and one that shows something else is
compared anew."""

from controlplane.converger.questions.users.work import all_users_work
from controlplane.converger.tick.sources.users import UsersReader
from planner.rights.acls import Acl
from tests.builders import a_document
from tests.sim.users import PAY_READ, acls_in_kafka, declare_user
from tests.sim.world import World

LOOKS = 130
"""Ticks of a second: two looks at users."""


def _at_rest() -> World:
    world = World()
    world.declare(a_document())
    world.converge()
    declare_user(world, "alice", {PAY_READ})
    declare_user(world, "bob", {PAY_READ})
    world.converge(ticks=20)
    return world


def _reader(world: World) -> UsersReader:
    return world.converger._observer._users


def test_looks_that_show_the_same_are_one_and_are_compared_once() -> None:
    world = _at_rest()
    for _ in range(LOOKS):
        world.tick()
    reads, first = world.kafka.users.reads, _reader(world)._rights[world.uid]
    work = all_users_work(world.view(), first)
    for _ in range(LOOKS):
        world.tick()
    assert world.kafka.users.reads >= reads + 2
    assert _reader(world)._rights[world.uid] is first
    assert all_users_work(world.view(), first) is work


def test_a_user_that_is_declared_is_compared_with_a_look_of_before() -> None:
    world = _at_rest()
    rights = _reader(world)._rights[world.uid]
    before = all_users_work(world.view(), rights)
    declare_user(world, "carol", {PAY_READ})
    after = all_users_work(world.view(), rights)
    assert (sorted(before.asked), sorted(after.asked)) == (["alice", "bob"], ["alice", "bob", "carol"])


def test_what_somebody_changed_is_seen_by_the_next_look_and_put_right() -> None:
    world = _at_rest()
    for _ in range(LOOKS):
        world.tick()
    assert world.kafka.users.acls is not None
    world.kafka.users.acls |= {Acl("User:alice", "topic", "ledger", "literal", "Write")}
    world.kafka.users.by_others = True
    for _ in range(LOOKS):
        world.tick()
    assert acls_in_kafka(world, "alice") == {"allow User:alice Read on topics that begin with pay-"}

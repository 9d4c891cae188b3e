"""Which change of an ensemble comes next, and when none does."""

from datetime import UTC, datetime

import pytest

from controlplane.kafka.zookeeper.changes import LAG, Blocked, Join, Leave, Settled, Wait, may_stop_server, next_change
from controlplane.kafka.zookeeper.locks import HeldBy, Taken, may_begin
from controlplane.kafka.zookeeper.members import EnsembleConfig, EnsembleSeen, Member, MemberHealth, parse_config
from controlplane.kafka.zookeeper.superuser import super_digest, super_password
from tests.fakes.zookeeper import FakeLocks, FakeNodes

AT = datetime(2026, 1, 1, tzinfo=UTC)
ZXID = 0x10000001E
SILENT = "10.0.1.9:2181 does not answer: timed out"
NOT_SERVING = '10.0.1.3:2181 says "This ZooKeeper instance is not currently serving requests"'


def members(*ids: int) -> tuple[Member, ...]:
    return tuple(Member(i, f"10.0.1.{i}") for i in ids)


def seen(
    listed: tuple[Member, ...] | None, serving: tuple[int, ...], *, leader: int | None = 1, behind: int = 0
) -> EnsembleSeen:
    """`serving` are at the leader's transaction, the last of them `behind` it; all others are silent."""
    health = {i: MemberHealth(i, mode="leader" if i == leader else "follower", zxid=ZXID) for i in serving}
    if behind:
        health[serving[-1]] = MemberHealth(serving[-1], mode="follower", zxid=ZXID - behind)
    config = None if listed is None else EnsembleConfig(0x100000000, listed)
    ids = {m.id for m in listed or ()} | {1, 2, 3, 4}
    return EnsembleSeen(AT, config, {i: health.get(i, MemberHealth(i, problem=SILENT)) for i in ids})


def test_an_ensemble_that_is_as_wanted_is_left_alone() -> None:
    assert isinstance(next_change(seen(members(1, 2, 3), (1, 2, 3)), members(1, 2, 3)), Settled)


def test_a_newcomer_joins_once_it_has_caught_up_on_the_version_that_was_seen() -> None:
    change = next_change(seen(members(1, 2, 3), (1, 2, 3, 4)), members(1, 2, 3, 4))
    assert isinstance(change, Join)
    assert (change.member.id, change.from_version) == (4, 0x100000000)


def test_a_newcomer_that_does_not_serve_yet_is_waited_for_and_nobody_leaves_before_it() -> None:
    change = next_change(seen(members(1, 2, 3), (1, 2, 3)), members(2, 3, 4))
    assert isinstance(change, Wait)
    assert "server 4: 10.0.1.9:2181 does not answer" in change.reason
    assert "1 leaves after that" in change.reason


def test_a_newcomer_far_behind_is_waited_for() -> None:
    change = next_change(seen(members(1, 2, 3), (1, 2, 3, 4), behind=LAG + 1), members(1, 2, 3, 4))
    assert isinstance(change, Wait)
    assert "the leader at 10000001e" in change.reason
    assert isinstance(next_change(seen(members(1, 2, 3), (1, 2, 3, 4), behind=30), members(1, 2, 3, 4)), Join)


def test_a_newcomer_of_another_epoch_has_not_caught_up() -> None:
    change = next_change(seen(members(1, 2, 3), (1, 2, 3, 4), behind=0x1F), members(1, 2, 3, 4))
    assert isinstance(change, Wait)


def test_an_observer_that_should_vote_joins() -> None:
    listed = (*members(1, 2, 3), Member(4, "10.0.1.4", role="observer"))
    change = next_change(seen(listed, (1, 2, 3, 4)), members(1, 2, 3, 4))
    assert isinstance(change, Join)


def test_of_several_that_are_not_wanted_the_dead_leave_first_and_the_leader_last() -> None:
    order = []
    listed = members(1, 2, 3, 4, 5)
    while not isinstance(change := next_change(seen(listed, (1, 2, 4, 5)), members(4, 5)), Settled):
        assert isinstance(change, Leave)
        order.append(change.server)
        listed = tuple(m for m in listed if m.id != change.server)
        if 1 not in {m.id for m in listed}:
            break
    assert order == [3, 2, 1]


def test_a_disappeared_server_is_replaced_by_joining_the_new_one_before_it_leaves() -> None:
    assert isinstance(next_change(seen(members(1, 2, 3), (1, 2, 4)), members(1, 2, 4)), Join)
    change = next_change(seen(members(1, 2, 3, 4), (1, 2, 4)), members(1, 2, 4))
    assert isinstance(change, Leave)
    assert change.server == 3


def test_a_server_without_its_disk_leaves_before_it_may_vote_again() -> None:
    change = next_change(seen(members(1, 2, 3), (1, 2)), members(1, 2, 3), reborn={3})
    assert isinstance(change, Leave)
    assert (change.server, "its disk was lost" in change.reason) == (3, True)
    joined = next_change(seen(members(1, 2), (1, 2, 3)), members(1, 2, 3), reborn={3})
    assert isinstance(joined, Join)


def test_a_server_that_moves_to_another_address_leaves_and_joins_anew() -> None:
    moved = (*members(1, 2), Member(3, "10.0.9.3"))
    change = next_change(seen(members(1, 2, 3), (1, 2, 3)), moved)
    assert isinstance(change, Leave)
    assert "from 10.0.1.3:2181 to 10.0.9.3:2181" in change.reason


def test_with_two_of_three_lost_nothing_is_changed_and_what_is_needed_is_told() -> None:
    one_left = seen(members(1, 2, 3), (1,), leader=None)
    change = next_change(one_left, members(1, 2, 4))
    assert isinstance(change, Blocked)
    assert "1 of 3 servers serve, 2 are needed" in change.reason
    assert "1 of 2 and 3 must serve again, with the disk it had" in change.needs
    assert "nothing is removed" in change.needs


def test_an_ensemble_that_tells_nothing_is_blocked_by_those_that_do_not_answer() -> None:
    nobody = seen(None, ())
    nobody = EnsembleSeen(AT, None, {**nobody.health, 3: MemberHealth(3, problem=NOT_SERVING)})
    change = next_change(nobody, members(1, 2, 3))
    assert isinstance(change, Blocked)
    assert "1 of 1 and 2 must serve again" in change.needs


def test_nobody_leaves_when_those_that_stay_would_be_no_majority() -> None:
    change = next_change(seen(members(1, 2, 3), (1, 2)), members(1, 3))
    assert isinstance(change, Blocked)
    assert "of the 2 that stay only 1 serve, and 2 are needed" in change.reason


def test_an_ensemble_is_never_emptied() -> None:
    assert isinstance(next_change(seen(members(1), (1,)), ()), Blocked)


def test_during_an_election_nothing_is_changed() -> None:
    assert isinstance(next_change(seen(members(1, 2, 3), (1, 2, 3), leader=None), members(1, 2)), Wait)


@pytest.mark.parametrize(
    ("serving", "open_"), [((1, 2, 3), True), ((1, 2), False), ((1, 3), True), ((1, 2, 3, 4), True)]
)
def test_a_server_may_stop_while_the_others_are_a_majority(serving: tuple[int, ...], open_: bool) -> None:
    assert may_stop_server(seen(members(1, 2, 3), serving), 2).open is open_


def test_a_server_may_not_stop_while_those_that_stay_are_behind() -> None:
    assert not may_stop_server(seen(members(1, 2, 3), (1, 2, 3), behind=LAG + 1), 2).open


def test_an_ensemble_of_one_has_nobody_to_go_on() -> None:
    gate = may_stop_server(seen(members(1), (1,)), 1)
    assert (gate.open, gate.reason) == (False, "without server 1 0 of 1 needed would go on (none)")


def test_a_configuration_is_read_and_written_as_zookeeper_does() -> None:
    text = (
        "server.1=127.0.59.101:2888:3888:participant;127.0.59.101:2181\n"
        "server.4=127.0.59.104:2889:3889:observer;0.0.0.0:2182\nversion=10000001e"
    )
    config = parse_config(text)
    assert config.version == 0x10000001E
    assert config.participants == (Member(1, "127.0.59.101"),)
    assert config.participants[0].line == text.splitlines()[0]
    assert config.members[1].role == "observer"


@pytest.mark.parametrize("text", ["server.1=10.0.0.1:2888:3888\nversion=1", "server.1=a:1:2;3", "nonsense\nversion=1"])
def test_a_configuration_that_is_not_understood_is_an_error_and_no_missing_member(text: str) -> None:
    with pytest.raises(ValueError, match=r"not understood|has no version"):
        parse_config(text)


def test_a_lock_that_may_be_lost_lets_no_new_step_begin() -> None:
    assert [may_begin(s).open for s in ("held", "unsure", "lost")] == [True, False, False]


def test_a_lock_is_lost_with_its_session_and_may_then_be_another_ones() -> None:
    nodes = FakeNodes()
    ours, theirs = FakeLocks(nodes, holder="server-a"), FakeLocks(nodes, holder="server-b")
    taken = ours.take("restart", why="broker 1000")
    ours.connected = False
    assert ours.standing("restart") == "unsure"
    ours.connected = True
    assert ours.standing("restart") == "held"
    ours.expire()
    assert ours.standing("restart") == "lost"
    assert isinstance(taken, Taken)
    later = theirs.take("restart", why="broker 1001")
    assert isinstance(later, Taken)
    assert later.token > taken.token
    assert isinstance(ours.take("restart", why="broker 1000"), HeldBy)


def test_the_super_user_is_the_same_on_every_server_and_another_for_every_cluster() -> None:
    password = super_password(b"key", "c1")
    assert password == super_password(b"key", "c1") != super_password(b"key", "c2")
    # ZooKeeper Administrator's Guide: base64(SHA1("super:<password>")), e.g. of DigestAuthenticationProvider.main
    assert super_digest("test") == "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

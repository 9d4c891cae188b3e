"""The ensemble in the shape of a quorum: who votes, on whose disk, how far behind."""

from dataclasses import replace
from datetime import UTC, datetime

from controlplane.cluster.gateways import roll_of
from controlplane.kafka.quorum import SILENT_S
from controlplane.kafka.zookeeper.members import EnsembleConfig, EnsembleSeen, MemberHealth, ZooKeeperMember
from controlplane.kafka.zookeeper.quorum import FAR_BEHIND, EnsembleRecord, quorum_of
from planner.observed import VoterSeen
from tests.builders import a_view, a_zookeeper_document

AT = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = 3 << 32
ROLL = EnsembleRecord(
    tuple(ZooKeeperMember(i, f"10.0.0.{i}") for i in (100, 101, 102)),
    voting={100: "dir-100", 101: "dir-101", 102: "dir-102"},
    given={100: "dir-100", 101: "dir-101", 102: "dir-102"},
)


def _seen(*health: MemberHealth, voters: tuple[int, ...] = (100, 101, 102)) -> EnsembleSeen:
    return EnsembleSeen(
        AT,
        EnsembleConfig(1, tuple(ZooKeeperMember(i, f"10.0.0.{i}") for i in voters)),
        {h.id: h for h in health},
    )


LEADER = MemberHealth(100, "leader", EPOCH + 50)


def test_servers_that_take_part_are_voters_with_the_disks_on_record() -> None:
    seen = _seen(LEADER, MemberHealth(101, "follower", EPOCH + 48), MemberHealth(102, problem="it is silent"))
    quorum = quorum_of(seen, ROLL)
    assert quorum is not None
    assert (quorum.leader, quorum.epoch) == (100, 3)
    assert quorum.members == (
        VoterSeen(100, "dir-100", 0, True),
        VoterSeen(101, "dir-101", 2, True),
        VoterSeen(102, "dir-102", FAR_BEHIND, True, SILENT_S),
    )


def test_a_server_of_an_earlier_epoch_is_far_behind_whatever_its_counter_says() -> None:
    seen = _seen(LEADER, MemberHealth(101, "follower", (2 << 32) + 9999))
    quorum = quorum_of(seen, ROLL)
    assert quorum is not None
    assert quorum.members[1].lag == FAR_BEHIND


def test_a_newcomer_follows_on_its_new_disk_while_the_vote_is_the_old_ones() -> None:
    roll = replace(ROLL, given={**ROLL.given, 102: "dir-102-new"})
    before = quorum_of(_seen(LEADER, MemberHealth(102, problem="it was stopped")), roll)
    assert before is not None
    assert before.members[-1].directory_id == "dir-102", "the vote of a disk that is lost"
    gone = replace(roll, voting={100: "dir-100", 101: "dir-101"})
    after = quorum_of(_seen(LEADER, MemberHealth(102, "observer", EPOCH + 50), voters=(100, 101)), gone)
    assert after is not None
    assert after.members[-1] == VoterSeen(102, "dir-102-new", 0, False)


def test_without_a_majority_or_a_leader_nothing_is_told() -> None:
    assert quorum_of(EnsembleSeen(AT, None, {}), ROLL) is None
    assert quorum_of(_seen(MemberHealth(101, "follower", EPOCH)), ROLL) is None


def test_a_server_is_looked_for_at_the_address_of_its_node() -> None:
    view = replace(a_view(), document=a_zookeeper_document())
    roll = roll_of(view)
    assert [(m.id, m.address, m.port) for m in roll.members] == [
        (i.service_id, view.vms.node_addresses[i.node], 2181)
        for i in sorted(view.controllers(), key=lambda i: i.service_id)
    ]
    assert roll.voting == roll.given

"""The ensemble as a quorum of voters, in the same shape KRaft's controllers have: what keeps a majority, hands a node
over or changes the voters is one code for both. Pure.

ZooKeeper knows no directories, so a server's is the one on record: its vote's, else that of the disk it was given.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.kafka.quorum import SILENT_S
from controlplane.kafka.zookeeper.members import EnsembleSeen, MemberHealth, ZooKeeperMember
from planner.observed import QuorumSeen, VoterSeen

FAR_BEHIND = 1 << 31
"""Transactions a server of an earlier epoch is said to be behind: how many there were since is not told."""


@dataclass(frozen=True, slots=True)
class EnsembleRecord:
    """The servers on record. `members`: where each is; `voting`: directory ids of those that vote, by server id, and
    `given`: of the disks they run on now."""

    members: tuple[ZooKeeperMember, ...]
    voting: Mapping[int, str]
    given: Mapping[int, str]

    def directory_of(self, server: int, *, votes: bool) -> str:
        first, second = (self.voting, self.given) if votes else (self.given, self.voting)
        return first.get(server) or second.get(server) or f"of-server-{server}"


def quorum_of(seen: EnsembleSeen, roll: EnsembleRecord) -> QuorumSeen | None:
    """None where it cannot be told: no majority serves, or no leader was seen."""
    if seen.config is None or seen.leader is None:
        return None
    leader = seen.leader
    voters = {m.id for m in seen.config.participants}
    asked = sorted(voters | {i for i, h in seen.health.items() if h.serves})
    members = tuple(_member(seen.of(i), leader, roll.directory_of(i, votes=i in voters), i in voters) for i in asked)
    return QuorumSeen(leader.id, leader.zxid >> 32, members)


def _member(health: MemberHealth, leader: MemberHealth, directory_id: str, is_voter: bool) -> VoterSeen:
    behind = max(0, leader.zxid - health.zxid)
    if health.zxid >> 32 < leader.zxid >> 32:
        behind = FAR_BEHIND
    silent_s = 0.0 if health.serves else SILENT_S
    return VoterSeen(health.id, directory_id, behind, is_voter, silent_s)

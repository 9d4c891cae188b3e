"""What a tick does about Kedge's own rights: looks first, believes nothing it may not see, restarts nobody."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.kedge_rights import RightsLook
from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.kedge_rights import kedge_rights_missing
from controlplane.converger.situation.decision import act
from controlplane.converger.situation.effects import PutKedgeRights
from controlplane.converger.situation.observation import AccessSeen
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.users.kedge_rights import kedge_rights_decision, with_kedge_rights
from controlplane.converger.tick.sources.kedge_rights import BLIND, KedgeRightsReader
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.storage.certificates.principals import principals_of
from events import facts
from planner.rights.acls import Acl
from planner.rights.kedge import KedgeRightsSeen, kedge_acls, kedge_rights_seen
from tests.builders import NOW, a_situation, a_tls_document, a_view
from tests.changed_view import changed_view

BEFORE_UPGRADE = a_view(document=a_tls_document())
LEAST = a_view(document=a_tls_document(), least_rights=True)
OWN = principals_of(LEAST.uid).kedge
NOTHING, ALL = RightsLook(kedge_rights_seen(OWN, ())), RightsLook()
DENIED = Acl("User:*", "topic", "pay", "literal", "Describe", "deny")


def _situation(view: ClusterView, look: RightsLook | None) -> Situation:
    situation = a_situation(view)
    return replace(situation, seen=replace(situation.seen, access=AccessSeen(look)))


@pytest.mark.parametrize("view", [BEFORE_UPGRADE, LEAST])
def test_what_is_amiss_is_put_right_beside_whatever_else_is_done(view: ClusterView) -> None:
    others = act("moving", PutKedgeRights())
    decision = with_kedge_rights(_situation(view, NOTHING), others)
    assert decision.effects == (*others.effects, PutKedgeRights())
    assert with_kedge_rights(_situation(view, None), others) is others
    held = changed_view(view, held="a person")
    assert with_kedge_rights(_situation(held, NOTHING), others) is others


def test_a_living_cluster_begins_once_all_are_there_and_restarts_nobody() -> None:
    (begun,) = (kedge_rights_decision(_situation(BEFORE_UPGRADE, ALL)) or pytest.fail("nothing decided")).events
    assert isinstance(begun, facts.LeastRightsBegun)
    assert kedge_rights_decision(_situation(LEAST, ALL)) is None, "once"


def test_where_everybody_is_denied_something_a_living_cluster_stays_as_it_is() -> None:
    look = RightsLook(kedge_rights_seen(OWN, (*kedge_acls(OWN), DENIED)))
    assert kedge_rights_decision(_situation(BEFORE_UPGRADE, look)) is None
    condition = kedge_rights_missing(_situation(LEAST, look))
    assert condition is not None
    assert (condition.status, condition.reason) == (True, "Denied")
    assert "deny User:* Describe on topic pay" in condition.message
    assert "nothing is done in the cluster until then" in condition.message


def test_the_condition_says_why_they_cannot_be_made_and_nothing_while_they_are_being_made() -> None:
    told = kedge_rights_missing(_situation(LEAST, replace(NOTHING, problem="the CA is lost")))
    assert told is not None
    assert (told.reason, "the CA is lost" in told.message) == ("CannotBeMade", True)
    for look in (NOTHING, ALL):
        silent = kedge_rights_missing(_situation(LEAST, look))
        assert silent is not None
        assert not silent.status
    assert kedge_rights_missing(_situation(LEAST, None)) is None


class Ports:
    """A clock, and rights that are as they are told to be."""

    def __init__(self) -> None:
        self.now, self.looks = NOW, 0
        self.answer: RightsLook | Exception = ALL
        self.kedge_rights = self

    def clock(self) -> object:
        return self.now

    def look(self, _: ClusterView) -> RightsLook:
        self.looks += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_it_looks_once_a_minute_and_at_each_tick_until_all_is_right() -> None:
    ports = Ports()
    reader = KedgeRightsReader(ports)  # type: ignore[arg-type]
    for _ in range(3):
        assert reader.read(LEAST, {}, dials=True) is ALL
    assert ports.looks == 1
    ports.now += timedelta(seconds=60)
    assert reader.read(LEAST, {}, dials=False) is ALL, "nobody is dialled for this alone"
    assert ports.looks == 1
    ports.answer = NOTHING
    for looks in (2, 3):
        missing: dict[str, str] = {}
        assert reader.read(LEAST, missing, dials=True) is NOTHING
        assert (ports.looks, missing) == (looks, {"kafka": BLIND})
    ports.answer = ALL
    assert reader.read(LEAST, {}, dials=True) is ALL
    reader.look_again(LEAST.uid)
    reader.read(LEAST, {}, dials=True)
    assert ports.looks == 5


def test_metadata_counts_where_the_server_is_a_super_user_yet_and_where_it_sees_all_of_it() -> None:
    ports = Ports()
    reader, missing = KedgeRightsReader(ports), dict[str, str]()  # type: ignore[arg-type]
    ports.answer = NOTHING
    assert reader.read(BEFORE_UPGRADE, missing, dials=True) is NOTHING
    gone = Acl(OWN["server"], "topic", "*", "literal", "Delete")
    ports.answer = RightsLook(KedgeRightsSeen(lacking=(gone,)))
    reader.read(LEAST, missing, dials=True)
    assert missing == {}
    assert reader.read(a_view(), missing, dials=True) is None, "in plaintext there is nothing to look at"
    ports.answer = KafkaUnavailable(what="reading ACLs", where="orders", why="nobody answers")
    assert reader.read(LEAST, missing, dials=True) is None
    assert "nobody answers" in missing["kafka"]

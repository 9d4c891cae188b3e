"""What events about users make of a cluster's view."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from events import facts
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW, a_view
from tests.unit.controlplane.user_samples import ALICE

BOB = replace(ALICE, name="bob", authentication="tls")
CAROL = replace(ALICE, name="carol")


def _after(*events: object, view: ClusterView | None = None) -> ClusterView:
    found = view or a_view()
    for event in events:
        new = encode(event, "e")
        recorded = Recorded(
            1, "cluster-c0ffee", found.version + 1, "e", new.type, new.schema, new.data, "converger", None, None, 1, NOW
        )
        found = evolve(found, recorded)
    return found


def _declared(*users: facts.UserDeclaration) -> facts.UsersDeclared:
    return facts.UsersDeclared(users, "api", "users.yaml", "")


def _applied(passwords: Mapping[str, int], kept: tuple[str, ...] = ()) -> facts.UsersChanged:
    return facts.UsersChanged("", passwords, kept, (), (), ())


def test_scram_users_are_to_have_a_password_each_of_its_own_number_and_others_none() -> None:
    users = _after(_declared(ALICE, BOB, CAROL)).users
    assert {name: user.password.wanted for name, user in users.by_name.items()} == {"alice": 1, "bob": 0, "carol": 2}
    assert users.pending == {"alice", "bob", "carol"}
    assert [user.needs_password for user in users.by_name.values()] == [True, False, True]


def test_a_password_may_be_taken_away_from_when_kafka_has_it_until_somebody_did() -> None:
    view = _after(_declared(ALICE))
    assert not view.users.by_name["alice"].password.is_collectable
    view = _after(_applied({"alice": 1}), view=view)
    assert view.users.by_name["alice"].password.is_collectable
    view = _after(facts.UserPasswordCollected("alice", 1), view=view)
    assert not view.users.by_name["alice"].password.is_collectable
    view = _after(facts.UserPasswordRequested("alice", 2, "leaked"), view=view)
    assert view.users.by_name["alice"].needs_password
    assert not view.users.by_name["alice"].password.is_collectable
    view = _after(_applied({"alice": 2}), view=view)
    assert view.users.by_name["alice"].password.is_collectable


def test_a_password_of_before_is_nobodys_to_give_out_until_it_is_replaced() -> None:
    view = _after(_declared(ALICE), _applied({}, ("alice",)))
    user = view.users.by_name["alice"]
    assert not user.needs_password
    assert not user.password.is_collectable
    view = _after(facts.UserPasswordRequested("alice", 2, "ours"), _applied({"alice": 2}), view=view)
    assert view.users.by_name["alice"].password.is_collectable


def test_who_is_declared_again_after_a_deletion_gets_a_password_of_another_number() -> None:
    view = _after(_declared(ALICE), facts.UserDeletionRequested("alice", "gone"))
    assert not view.users.by_name["alice"].needs_password
    view = _after(facts.UsersChanged("", {}, (), (), ("alice",), ()), _declared(ALICE), view=view)
    assert view.users.by_name["alice"].password.wanted == 2


def test_the_number_of_a_password_is_never_given_twice() -> None:
    view = _after(_declared(ALICE), facts.UserPasswordRequested("alice", 1, "again"))
    assert "no new one" in view.history.unreadable


def test_a_user_that_is_being_deleted_is_not_declared() -> None:
    view = _after(_declared(ALICE), facts.UserDeletionRequested("alice", "gone"), _declared(ALICE))
    assert "is being deleted" in view.history.unreadable


def test_one_change_is_in_hand_at_a_time() -> None:
    asked = facts.UsersChangeRequested("users-1", {"alice": 1}, {}, {}, {}, (), "making alice")
    view = _after(_declared(ALICE), asked)
    assert view.users.change is not None
    assert "is still in hand" in _after(replace(asked, change="users-2"), view=view).history.unreadable
    done = facts.UsersChanged("users-1", {"alice": 1}, (), ("alice",), (), ())
    after = _after(done, view=view)
    assert not after.users.has_work


def test_a_change_of_nothing_that_counts_in_kafka_is_waited_for_by_nobody() -> None:
    view = _after(_declared(ALICE), facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    assert not _after(_declared(replace(ALICE, owner="web")), view=view).users.pending
    assert _after(_declared(replace(ALICE, quotas={})), view=view).users.pending == {"alice"}


def test_trouble_takes_a_user_out_of_what_is_waited_for_until_it_is_over_or_let_be_tried_again() -> None:
    refused = facts.UsersTroubled((facts.UserTrouble("alice", "Refused", "no"),))
    view = _after(_declared(ALICE), refused)
    assert not view.users.pending
    assert _after(facts.ClusterResumed(""), view=view).users.pending == {"alice"}
    over = _after(facts.UsersTroubled((facts.UserTrouble("alice", "", ""),)), view=view)
    assert (over.users.pending, dict(over.users.troubles)) == ({"alice"}, {})


def test_a_user_that_is_let_go_is_forgotten() -> None:
    view = _after(_declared(ALICE), facts.UserReleased("alice", "theirs"))
    assert (dict(view.users.by_name), view.users.pending) == ({}, frozenset())

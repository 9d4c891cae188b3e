"""What may be asked for users, and what is refused of it."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.cluster import commands, user_commands
from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.deciders import users
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.policies.files import parse
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.store import PolicySet
from controlplane.commands.previews.users import user_lines, users_digest
from events import user_facts as facts
from events.codec import encode
from events.envelope import Recorded
from providers.price_list import PriceList
from tests.builders import NOW, a_tls_document, a_view
from tests.user_texts import READ_PAY, declared_users, user_text

WHO: dict[str, Any] = {"name": "orders", "actor": "person:anna", "command_id": "c1"}
WRITE_PAY = READ_PAY.replace("Read", "Write")


def _after(view: ClusterView, *asked: object) -> ClusterView:
    for fact in asked:
        new = encode(fact, f"e{view.version}")
        told = Recorded(1, "s", view.version + 1, "e", new.type, new.schema, new.data, "a", None, None, 1, NOW)
        view = evolve(view, told)
        assert not view.history.unreadable, view.history.unreadable
    return view


def _command(*texts: str, source: str = "api", path: str = "u.yaml", **more: Any) -> commands.DeclareUsers:
    return commands.DeclareUsers(**WHO, users=declared_users(*texts), source=source, path=path, **more)


def _declare(view: ClusterView, *texts: str, source: str = "api", path: str = "u.yaml") -> ClusterView:
    asked = users.user_news(view, _command(*texts, source=source, path=path))
    return view if asked.fact is None else _after(view, asked.fact)


@pytest.fixture
def view() -> ClusterView:
    return a_view(document=a_tls_document())


def _refusal(view: ClusterView, decide: Any, command: commands.Command) -> str:
    with pytest.raises(commands.CommandRefused) as refused:
        decide(view, command)
    assert refused.value.what_next
    return refused.value.code


def test_users_of_a_file_are_one_event_and_the_same_file_again_is_none(view: ClusterView) -> None:
    after = _declare(view, user_text("alice", acls=READ_PAY), user_text("bob", type_="tls"))
    assert sorted(after.users.by_name) == ["alice", "bob"]
    assert after.version == view.version + 1
    assert _declare(after, user_text("alice", acls=READ_PAY), user_text("bob", type_="tls")) is after
    fact = users.user_news(after, _command(user_text("alice", acls=WRITE_PAY), user_text("bob", type_="tls"))).fact
    assert isinstance(fact, facts.UsersDeclared)
    assert [user.name for user in fact.users] == ["alice"]


def test_a_plan_says_each_right_that_comes_and_goes(view: ClusterView) -> None:
    document = view.document
    assert document is not None
    wanted = [one.document for one in declared_users(user_text("alice", acls=READ_PAY))]
    assert user_lines(view, document, wanted) == (
        "+ user orders/alice: scram-sha-512; Describe of topic pay-*; Read of topic pay-*",
    )
    after = _declare(view, user_text("alice", acls=READ_PAY))
    assert user_lines(after, document, wanted) == ()
    other = user_text("alice", acls=WRITE_PAY, quotas="{producerByteRate: 5}")
    changed = [one.document for one in declared_users(other)]
    assert user_lines(after, document, changed) == (
        "~ user orders/alice: + Write of topic pay-*; - Read of topic pay-*; producer_byte_rate none -> 5",
    )


def test_a_plan_that_moved_is_refused(view: ClusterView) -> None:
    document, text = view.document, user_text("alice", acls=READ_PAY)
    assert document is not None
    pinned = users_digest(view, document, [one.document for one in declared_users(text)])
    assert users.users_declared(view, _command(text, plan_digest=pinned), Lookups()).fact is not None
    after = _declare(view, user_text("alice"))
    with pytest.raises(commands.CommandRefused, match="what is in force of these users"):
        users.users_declared(after, _command(text, plan_digest=pinned), Lookups())


def test_a_user_of_another_type_is_refused(view: ClusterView) -> None:
    after = _declare(view, user_text("alice"))
    with pytest.raises(commands.SpecRefused) as refused:
        users.users_declared(after, _command(user_text("alice", type_="tls")), Lookups())
    assert [problem.code for problem in refused.value.problems] == ["KEDGE-SPEC-105"]


def test_rights_are_refused_where_nobody_would_ask_for_them() -> None:
    with pytest.raises(commands.SpecRefused) as refused:
        users.users_declared(a_view(), _command(user_text("alice", acls=READ_PAY)), Lookups())
    assert [problem.code for problem in refused.value.problems if problem.is_error] == ["KEDGE-SPEC-104"]


def delivered_to(name: str, sink: str, type_: str = "scram-sha-512") -> str:
    return user_text(name).replace("{type: scram-sha-512}", f"{{type: {type_}, deliverTo: {sink}}}")


def test_a_plan_says_where_a_password_goes_and_kafka_is_not_asked_again(view: ClusterView) -> None:
    document = view.document
    assert document is not None
    wanted = [one.document for one in declared_users(delivered_to("alice", "apps"))]
    assert user_lines(view, document, wanted) == ("+ user orders/alice: scram-sha-512; password to apps",)
    there = _after(_declare(view, user_text("alice")), facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    assert user_lines(there, document, wanted) == ("~ user orders/alice: password to - -> apps",)
    after = _declare(there, delivered_to("alice", "apps"))
    assert not after.users.pending
    assert after.users.by_name["alice"].waits_for_sink


def test_what_is_in_a_sink_is_collected_by_nobody(view: ClusterView) -> None:
    there = _declare(view, delivered_to("alice", "apps"))
    there = _after(there, facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    note = user_commands.NotePasswordDelivered(**WHO, user="alice", number=1, sink="apps")
    assert _refusal(there, users.password_delivered, replace(note, number=2)) == "password-replaced"
    fact = users.password_delivered(there, note).fact
    assert fact == facts.UserPasswordDelivered("alice", 1, "apps")
    with pytest.raises(commands.CommandRefused, match="in sink `apps` since") as refused:
        users.collectable(_after(there, fact), "alice")
    assert refused.value.code == "password-delivered"


def test_a_user_comes_from_one_source(view: ClusterView) -> None:
    ours = _declare(view, user_text("alice"), source="git:teams", path="a.yaml")
    assert _refusal(ours, users.user_news, _command(user_text("alice", acls=READ_PAY))) == "other-source"
    theirs = _declare(view, user_text("alice"))
    command = _command(user_text("alice", acls=READ_PAY), source="git:teams")
    assert _refusal(theirs, users.user_news, command) == "other-source"


def test_a_deletion_needs_the_name_and_that_no_file_declares_the_user(view: ClusterView) -> None:
    after = _declare(view, user_text("alice"))
    order = user_commands.DeleteUser(**WHO, reason="gone", user="alice", confirm="bob")
    assert _refusal(after, users.user_deleted, order) == "name-mismatch"
    confirmed = user_commands.DeleteUser(**WHO, reason="gone", user="alice", confirm="alice")
    fact = users.user_deleted(after, confirmed).fact
    assert fact == facts.UserDeletionRequested("alice", "asked by anna: gone")
    assert users.user_deleted(_after(after, fact), confirmed).fact is None
    of_git = _declare(view, user_text("alice"), source="git:teams")
    assert _refusal(of_git, users.user_deleted, confirmed) == "still-declared"
    assert _refusal(view, users.user_deleted, confirmed) == "user-not-kept"


def test_one_whose_deletion_cannot_end_is_let_go_of_all_the_same(view: ClusterView) -> None:
    order = {**WHO, "reason": "", "user": "alice", "confirm": "alice"}
    going = _declare(view, user_text("alice"))
    going = _after(going, users.user_deleted(going, user_commands.DeleteUser(**order)).fact)
    assert users.user_deleted(going, user_commands.DeleteUser(**order)).fact is None
    freed = users.user_deleted(going, user_commands.DeleteUser(**order, retain=True)).fact
    assert not _after(going, freed).users.by_name


def test_a_user_that_is_retained_is_let_go_of_unless_it_is_being_changed(view: ClusterView) -> None:
    after = _declare(view, user_text("alice"))
    order = user_commands.DeleteUser(**WHO, reason="", user="alice", confirm="alice", retain=True)
    assert users.user_deleted(after, order).fact == facts.UserReleased("alice", "asked by anna")
    changing = _after(after, facts.UsersChangeRequested("users-1", {"alice": 1}, {}, {}, {}, (), "making alice"))
    assert _refusal(changing, users.user_deleted, order) == "change-in-hand"


def test_users_that_are_in_no_file_any_more_are_told_once(view: ClusterView) -> None:
    after = _declare(view, user_text("alice"), source="git:teams")
    gone = user_commands.ReportUsersGone(**WHO, users=("alice", "bob"), source="git:teams", commit="ab")
    fact = users.users_gone(after, gone).fact
    assert fact == facts.UsersUndeclared(("alice",), "git:teams", "ab")
    assert users.users_gone(_after(after, fact), gone).fact is None


def test_a_password_is_rotated_and_collected_once(view: ClusterView) -> None:
    rotate = user_commands.RotatePassword(**WHO, reason="leaked", user="alice")
    collect = user_commands.NotePasswordCollected(**WHO, user="alice", number=1)
    new = _declare(view, user_text("alice"))
    assert users.password_rotated(new, rotate).fact is None, "the first one is on its way"
    assert _refusal(new, users.password_collected, collect) == "password-not-applied"
    applied = _after(new, facts.UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    fact = users.password_collected(applied, collect).fact
    assert fact == facts.UserPasswordCollected("alice", 1)
    collected = _after(applied, fact)
    assert _refusal(collected, users.password_collected, collect) == "password-collected"
    again = users.password_rotated(collected, rotate).fact
    assert again == facts.UserPasswordRequested("alice", 2, "asked by anna: leaked")
    replaced = _after(collected, again, facts.UsersChanged("", {"alice": 2}, (), ("alice",), (), ()))
    assert _refusal(replaced, users.password_collected, collect) == "password-replaced"


def test_a_password_of_before_kedge_cannot_be_collected(view: ClusterView) -> None:
    kept = _after(_declare(view, user_text("alice")), facts.UsersChanged("", {}, ("alice",), ("alice",), (), ()))
    collect = user_commands.NotePasswordCollected(**WHO, user="alice", number=1)
    assert _refusal(kept, users.password_collected, collect) == "password-unknown"


def test_credentials_are_those_of_the_users_type(view: ClusterView) -> None:
    after = _declare(view, user_text("bob", type_="tls"), user_text("alice"))
    rotate = user_commands.RotatePassword(**WHO, reason="", user="bob")
    assert _refusal(after, users.password_rotated, rotate) == "no-password"
    note = user_commands.NoteUserCertificate(**WHO, user="alice", serial="1f", since=NOW, until=NOW)
    assert _refusal(after, users.certificate_noted, note) == "no-certificate"
    dying = _after(after, facts.UserDeletionRequested("alice", "gone"))
    assert _refusal(dying, users.password_rotated, user_commands.RotatePassword(**WHO, reason="", user="alice")) == (
        "user-being-deleted"
    )


class _Fixed:
    def __init__(self, text: str) -> None:
        self._known = PolicySet(parse({"p.yaml": text}))

    def current(self) -> PolicySet:
        return self._known

    def prices(self) -> PriceList:
        return PriceList()


def _judge(limits: str, reserved: str = "{}") -> Lookups:
    text = (
        "apiVersion: kedge/v1alpha1\nkind: Policy\nmetadata: {name: teams}\n"
        f"selector: {{}}\nlimits: {limits}\nreserved: {reserved}\n"
    )
    return Lookups(judge=SpecJudge(gate=PolicyGate(_Fixed(text))))


def test_a_policy_may_ask_for_a_form_of_names(view: ClusterView) -> None:
    known = _judge('{userNames: "pay-.*"}')
    assert users.users_declared(view, _command(user_text("pay-alice")), known).fact is not None
    with pytest.raises(commands.SpecRefused, match="not of the form"):
        users.users_declared(view, _command(user_text("alice")), known)


def test_a_policy_may_leave_administrators_to_a_second_person(view: ClusterView) -> None:
    acl = "{resource: {type: cluster, name: kafka-cluster}, operations: [Alter]}"
    text = user_text("root", authorization=f"{{acls: [{acl}], administrator: true}}")
    known = _judge("{}", "{administrators: true}")
    with pytest.raises(commands.NeedsApproval):
        users.users_declared(view, _command(text), known)
    assert users.users_declared(view, _command(user_text("alice")), known).fact is not None

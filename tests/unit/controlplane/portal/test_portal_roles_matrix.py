"""Every page, every role, on a cluster of one's own team and on another's. Roles are judged in one place, for all."""

import inspect
import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import ALLOWS, Role, Verb
from controlplane.api.scoped.services import VERB_OF, scoped
from controlplane.cluster import commands, user_commands
from controlplane.cluster.commands import (
    AbortRecycle,
    ClusterNotFound,
    Command,
    DeclareCluster,
    DeleteCluster,
    PauseCluster,
    ReportSync,
    ReportTopicsGone,
    ResumeCluster,
    TakeOverSource,
)
from controlplane.storage.streams import PROPOSALS, anomalies_stream
from events.anomaly_facts import AnomalyFound
from events.codec import encode
from events.envelope import Origin
from events.proposal_facts import ProposalMade
from events.user_facts import AclBinding, UserDeclaration, UsersChanged, UsersDeclared
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House, three_brokers
from tests.unit.controlplane.portal.page_routes import AS_THINGS_ARE, ASKS_KAFKA, FORMS, KNOWN, PAGE_ROUTES, filled
from tests.unit.controlplane.portal.test_portal_auth_matrix import ROUTES, routes_of
from tests.unit.events.spec_texts import ORDERS, document

OURS = ORDERS.replace("name: orders", "name: orders\n  owner: payments\n  labels: {env: prod}")
SCOPES = {"*": True, "team:payments": True, "label:env=prod": True, "team:search": False, "label:env=test": False}
CASES = [(None, "*"), *itertools.product(Role, SCOPES)]
OF_PAGES = [
    pytest.param(role, scope, marks=[] if scope in ("*", "team:payments", "label:env=test") else pytest.mark.soak)
    for role, scope in CASES
]
"""One scope of each kind and truth. By what a scope takes a cluster is judged where commands are, for every scope."""


def house_with_orders(**parts: Any) -> House:
    house = House(**parts)
    house.apply(OURS)
    house.join(*three_brokers())
    house.app.state.tailer.close()
    return house


def house_with_topics() -> House:
    """The same once Kafka was read: a topic of two partitions, all in sync."""
    house = house_with_orders()
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition("payments-0", (1000, 1001)), a_partition("payments-1", (1001, 1002))
    )
    declare_alice(house)
    propose(house, "waiting1")
    propose(house, "waiting2")
    slow = AnomalyFound("orders-1", "orders", "slow-broker", "brokers-a-0", "200 ms", "waiting", "healing is off")
    house.store.append(
        anomalies_stream(house.view().uid), [encode(slow, "slow")], expected_version=0, origin=Origin("anomalies")
    )
    return house


def declare_alice(house: House) -> None:
    """A user of `orders` whose password Kafka has, and nobody has collected."""
    binding = AclBinding("topic", "payments", "literal", "Read")
    alice = UserDeclaration("alice", "scram-sha-512", (binding,), {"producer_byte_rate": 1_048_576}, "payments", {})
    house.record(UsersDeclared((alice,), "api", "users.yaml", ""))
    house.user_passwords.of(house.view().uid, {"alice": 1})
    house.record(UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))


def propose(house: House, number: str) -> None:
    """Somebody's change of `orders` that waits for a second person."""

    def made(_: str, expires_at: datetime) -> ProposalMade:
        return ProposalMade(
            id=number,
            change="delete",
            clusters=("orders",),
            topic="",
            text="",
            file="",
            message="",
            digest="another plan",
            reasons=(number,),
            author="user:zoe",
            claimed="",
            source="api",
            via="session",
            commit="",
            expires_at=expires_at,
        )

    house.store.append(
        PROPOSALS,
        [encode(made(number, house.now + timedelta(days=1)), f"e-{number}")],
        expected_version=len(house.store.read_stream(PROPOSALS)),
        origin=Origin("person:zoe"),
    )


def bindings(role: Role | None, scope: str) -> tuple[Binding, ...]:
    return (Binding("user:ada", role, scope),) if role else ()


def expected(verb: Verb | str, role: Role | None, scope: str, path: str = "") -> set[int]:
    """What a page may answer. A cluster one may not read is not there; what one may not do there is refused."""
    allowed = ALLOWS[role] if role is not None and SCOPES[scope] else frozenset()
    if verb == KNOWN and path.startswith("/freezes/"):
        return {409}  # there is no such freeze, or not for them: `test_freeze_pages`
    if verb == KNOWN and path.startswith("/failovers/"):
        return {404}  # there is no such pair, or not for them: `test_failover_pages`
    if verb == KNOWN:
        return {404} if "{token_id}" in path else {200, 204, 303, 422}
    if verb in (Verb.ADMINISTER, Verb.AUDIT):
        may = role is not None and scope == "*" and verb in ALLOWS[role]
        no_such_person = {404} if "/people/{name}" in path else set()
        no_such_notifier = {409} if "/notifiers/{name}" in path else set()
        return {200, 303, 422} | no_such_person | no_such_notifier if may else {403}
    if Verb.READ not in allowed:
        return {404}
    return {200, 303} if verb in allowed else {403}


@pytest.mark.parametrize(("role", "scope"), OF_PAGES)
def test_a_page_answers_a_role_as_the_table_says(role: Role | None, scope: str) -> None:
    house = house_with_topics()
    for number, ((method, path), verb) in enumerate(PAGE_ROUTES.items()):
        browser = house.browser(f"ada{number}", *bindings(role, scope))
        got = browser.request(method, filled(path), data=FORMS.get((method, path))).status_code
        wanted = expected(verb, role, scope, path)
        if (method, path) in AS_THINGS_ARE and wanted == {200, 303}:
            wanted = {409}
        if (method, path) in ASKS_KAFKA and wanted == {200, 303}:
            wanted = {503}
        assert got in wanted, f"{method} {path} for {role} on {scope}: {got}"


def test_every_page_is_in_the_table() -> None:
    pages = {key for key, kind in ROUTES.items() if kind == "page"}
    assert pages == set(PAGE_ROUTES)
    found = {(m, r.path) for r in routes_of(House().app.routes) for m in r.methods - {"HEAD"}}
    outside = {(m, p) for m, p in found if not p.startswith(("/v1", "/agent/", "/terraform/", "/static/", "/hooks/"))}
    doors = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json"), ("GET", "/login"), ("POST", "/login")}
    doors |= {("GET", f"/oidc/{step}") for step in ("begin", "callback", "out")} | {("POST", "/oidc/backchannel")}
    assert outside - doors == pages


COMMANDS = (
    PauseCluster(name="orders", actor="person:ada", command_id="1", reason="x"),
    ResumeCluster(name="orders", actor="person:ada", command_id="2", reason="x"),
    AbortRecycle(name="orders", actor="person:ada", command_id="3", reason="x"),
    TakeOverSource(name="orders", actor="person:ada", command_id="4", source="api", reason="x"),
    ReportSync(
        name="orders", actor="a", command_id="5", source="git:x", status=True, condition_reason="r", message="m"
    ),
    DeleteCluster(name="orders", actor="person:ada", command_id="6", confirm="orders", reason="x"),
)
"""In an order in which each is possible after those before it."""


@pytest.mark.parametrize(("role", "scope"), CASES)
def test_a_command_is_judged_where_commands_are_handled(role: Role | None, scope: str) -> None:
    house = house_with_orders()
    mine = scoped(house.services, rights_of("user:ada", bindings(role, scope)))
    allowed = ALLOWS[role] if role is not None and SCOPES[scope] else frozenset[Verb]()
    for command in COMMANDS:
        if VERB_OF.get(type(command), Verb.ADMINISTER) in allowed:
            mine.cluster.commands.handle(command)
        else:
            with pytest.raises(Forbidden if Verb.READ in allowed else ClusterNotFound):
                mine.cluster.commands.handle(command)


def test_every_command_of_people_has_its_verb() -> None:
    stated = [*inspect.getmembers(commands, inspect.isclass), *inspect.getmembers(user_commands, inspect.isclass)]
    kinds = {kind for _, kind in stated if issubclass(kind, Command)}
    healing = {commands.HealingCommand, commands.DemoteBroker, commands.PromoteBroker}
    played = {commands.GameCommand, commands.ScoreFault}
    shared = {Command, commands.ReasonedCommand, commands.GroupCommand, commands.DeclareInCluster}
    noted = {user_commands.NotePasswordDelivered, user_commands.NotePasswordsUndelivered}
    ours = {*shared, ReportSync, ReportTopicsGone, user_commands.ReportUsersGone} | healing | played | noted
    assert kinds - set(VERB_OF) == ours, "what looks after clusters asks for these, and is not a person"


def declare(owner: str) -> DeclareCluster:
    edited = document({4: f"  name: orders\n  owner: {owner}"})
    return DeclareCluster(name="orders", actor="person:ada", command_id=owner, document=edited, source="x")


def test_nobody_declares_a_cluster_into_another_team_or_takes_one_from_it() -> None:
    house = house_with_orders()
    ours = scoped(house.services, rights_of("user:ada", bindings(Role.OWNER, "team:payments")))
    theirs = scoped(house.services, rights_of("user:ada", bindings(Role.OWNER, "team:search")))
    with pytest.raises(Forbidden):
        ours.cluster.commands.handle(declare("search"))
    with pytest.raises(Forbidden):
        theirs.cluster.commands.handle(declare("search"))
    assert ours.cluster.commands.handle(declare("payments")).changed


@pytest.mark.parametrize("role", Role)
def test_one_role_more_never_takes_a_right_away(role: Role) -> None:
    house = house_with_orders()
    view = house.view()
    for other in Role:
        fewer = rights_of("user:ada", bindings(other, "*"))
        more = rights_of("user:ada", (*bindings(other, "*"), *bindings(role, "team:payments")))
        assert {v for v in Verb if fewer.may_on(v, view)} <= {v for v in Verb if more.may_on(v, view)}


def test_what_is_not_ones_own_is_in_no_list_count_search_or_sentence() -> None:
    house = house_with_orders()
    house.apply(ORDERS.replace("name: orders", "name: secret-ledger\n  owner: search"))
    browser = house.browser("ada", Binding("", Role.VIEWER, "team:payments"))
    for path in ("/", "/search?q=secret", "/agents", "/?q=secret"):
        text = browser.get(path).text
        assert "secret-ledger" not in text.replace("secret-ledger</", "")
    assert "all 1" in browser.get("/").text
    mine = scoped(house.services, rights_of("user:ada", bindings(Role.VIEWER, "team:payments")))
    told = mine.fleet.clusters.without_others("2 clusters are rolling (orders, secret-ledger), at most 2 may")  # type: ignore[attr-defined]
    assert told == "2 clusters are rolling (orders, another cluster), at most 2 may"


def test_a_backup_is_an_administrators(tmp_path) -> None:  # type: ignore[no-untyped-def]
    house = house_with_orders()
    with pytest.raises(Forbidden):
        scoped(house.services, rights_of("user:ada", bindings(Role.OWNER, "*"))).operations.backup(tmp_path / "b")
    scoped(house.services, rights_of("user:ada", bindings(Role.ADMIN, "*"))).operations.backup(tmp_path / "b")
    assert house.backups == [tmp_path / "b"]


def test_who_may_not_back_up_learns_of_no_file_whether_it_is_there(tmp_path) -> None:  # type: ignore[no-untyped-def]
    house = house_with_orders()
    known = tmp_path / "known"
    known.write_text("x")
    for name, *roles in (("nob",), ("ada", Binding("", Role.OWNER, "*"))):
        house.browser(name, *roles)
        text, _ = house.services.access.people.make_token(
            rights_of(f"user:{name}", []), label="x", role=Role.ADMIN, scope="*", life=timedelta(days=1), now=house.now
        )
        client = house.client_with({"Authorization": f"Bearer {text}"})
        for path in (known, tmp_path / "unknown", "relative"):
            assert client.post("/v1/backup", json={"path": str(path)}).status_code == 403, path
    assert house.backups == []

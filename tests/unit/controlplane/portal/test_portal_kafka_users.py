"""Users of a cluster on pages: listed, one by one, given their password once, deleted with the name typed; and who has
rights in Kafka without a document."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.read_models.kafka_users import rights_text
from controlplane.api.schemas.kafka_users import UserAclOut
from controlplane.portal.kafka_users import MOST_ROWS
from controlplane.storage.streams import cluster_stream
from events import user_facts as facts
from planner.rights.acls import CLUSTER, Acl
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_topics
from tests.unit.controlplane.portal.test_portal_topic_verbs import fields, types

OWNER, OPERATOR, VIEWER = Binding("", Role.OWNER, "*"), Binding("", Role.OPERATOR, "*"), Binding("", Role.VIEWER, "*")
USERS, ALICE = "/clusters/orders/users", "/clusters/orders/users/alice"
COLLECT, ROTATE, DELETE = f"{ALICE}/password/collect", f"{ALICE}/password/rotate", f"{ALICE}/delete"


@pytest.fixture
def house() -> House:
    """`alice` may read `payments`, and her password waits to be collected."""
    return house_with_topics()


@pytest.fixture
def browser(house: House) -> TestClient:
    return house.browser("ada", OWNER)


def user(name: str, authentication: str = "scram-sha-512", *acls: facts.AclBinding) -> facts.UserDeclaration:
    return facts.UserDeclaration(name, authentication, acls, {}, "", {})


def names(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/clusters/orders/users/([\w.-]+)">', text)


def words(text: str) -> str:
    """What a reader sees, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_list_says_who_is_how_and_has_what(house: House, browser: TestClient) -> None:
    house.record(facts.UsersDeclared((user("bob", "tls"),), "git:infra", "users.yaml", "c" * 40))
    house.record(facts.UsersTroubled((facts.UserTrouble("bob", "NoAuthorizer", "no broker would ask"),)))
    text = browser.get(USERS).text
    assert names(text) == ["alice", "bob"]
    told = words(text)
    assert "alice InSync scram-sha-512 to be collected payments topic payments: Read" in told
    assert "producer_byte_rate 1.0 MiB/s" in told
    assert "bob Degraded NoAuthorizer tls none signed yet – none none git:infra" in told
    assert "declared 2 not as declared 1 password to collect 1" in told
    assert names(browser.get(f"{USERS}?only=trouble").text) == ["bob"]
    assert names(browser.get(f"{USERS}?only=collect").text) == ["alice"]
    assert names(browser.get(f"{USERS}?q=bo").text) == ["bob"]
    assert 'href="/clusters/orders/users" aria-current="page">Users</a>' in text


def test_many_users_come_in_pages(house: House, browser: TestClient) -> None:
    many = tuple(user(f"u{number:04}", "none") for number in range(MOST_ROWS))
    house.record(facts.UsersDeclared(many, "api", "", ""))
    first = browser.get(USERS).text
    assert len(names(first)) == MOST_ROWS
    after = unescape(re.findall(r'rel="next" href="([^"]+)"', first)[0])
    assert names(browser.get(after).text) == [f"u{MOST_ROWS - 1:04}"]


def test_a_cluster_without_users_says_where_to_begin() -> None:
    house = House()
    house.apply()
    assert "examples/users.yaml" in house.browser("ada", VIEWER).get(USERS).text


def test_rights_in_short_name_two_resources_and_count_the_rest() -> None:
    def right(kind: str, name: str, operation: str, pattern: str = "literal") -> UserAclOut:
        return UserAclOut(type=kind, name=name, pattern=pattern, operation=operation, host="*")

    some = [right("topic", "pay-", "Describe", "prefix"), right("topic", "pay-", "Read", "prefix")]
    assert rights_text(some) == "topic pay-*: Describe, Read"
    more = [*some, right("cluster", CLUSTER, "Alter"), right("group", "*", "Read"), right("group", "g", "Read")]
    assert rights_text(more) == "topic pay-*: Describe, Read; the cluster: Alter; and 2 more"
    assert rights_text([]) == ""


def test_one_user_has_a_page_with_its_rights_and_what_happened(browser: TestClient) -> None:
    told = words(browser.get(ALICE).text)
    for part in ("User:alice", "scram-sha-512", "producer_byte_rate 1.0 MiB/s", "topic payments Read anywhere"):
        assert part in told, part
    assert "user alice as declared in Kafka" in told
    assert "declared user alice from api" in told
    assert browser.get(f"{USERS}/nobody").status_code == 404


def test_only_what_happened_to_the_user_is_on_its_page(house: House, browser: TestClient) -> None:
    house.record(facts.UsersDeclared((user("bob"),), "api", "", ""), facts.UserPasswordRequested("alice", 3, "leaked"))
    told = words(browser.get(ALICE).text)
    assert "user alice to get another password: leaked" in told
    assert "declared user bob" not in told


def test_a_certificate_is_told_with_its_end_and_the_command_for_another(house: House, browser: TestClient) -> None:
    house.record(facts.UsersDeclared((user("bob", "tls"),), "api", "", ""))
    assert "No certificate was signed yet" in browser.get(f"{USERS}/bob").text
    house.record(facts.UserCertificateIssued("bob", "1f", house.now, house.now.replace(year=2027)))
    told = words(browser.get(f"{USERS}/bob").text)
    assert "1f" in told
    assert "2027-01-01" in told
    assert "kedge users certificate orders bob --csr" in told
    assert "Another password" not in told
    house.now = house.now.replace(year=2028)
    assert " over The last one that was signed" in words(house.browser("zoe", VIEWER).get(f"{USERS}/bob").text)


def test_a_password_is_shown_once_and_kept_nowhere(house: House, browser: TestClient) -> None:
    (kept,) = house.user_passwords.kept.values()
    secret = kept.get_secret_value()
    assert secret not in browser.get(ALICE).text
    assert f'<form action="{COLLECT}" method="post">' in browser.get(ALICE).text
    answer = browser.post(COLLECT)
    assert answer.status_code == 200
    assert f'<code id="given">{secret}</code>' in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert "data-live" not in answer.text, "nothing reloads it"
    assert house.user_passwords.kept == {}
    again = browser.post(COLLECT)
    assert (again.status_code, "was collected before" in again.text) == (409, True)
    elsewhere = [browser.get(path).text for path in (USERS, ALICE, "/clusters/orders/history", "/events")]
    assert secret not in f"{elsewhere} {house.client.get('/v1/audit').text} {house.store.read_all(0, 1000)}"
    assert types(house)[-1] == "user.password_collected"
    assert browser.get(COLLECT).status_code in (404, 405), "no address leads to it"


@pytest.mark.parametrize("role", [OPERATOR, VIEWER])
def test_who_may_not_declare_gets_no_password_and_sees_no_form(house: House, role: Binding) -> None:
    browser = house.browser("eve", role)
    text = browser.get(ALICE).text
    assert "to be collected" in text
    assert not [path for path in (COLLECT, ROTATE, DELETE) if path in text]
    assert browser.post(COLLECT).status_code == 403
    assert house.user_passwords.kept


def test_a_form_of_another_site_gets_nothing(house: House) -> None:
    assert house.browser("eve", OWNER, csrf=False).post(COLLECT).status_code == 403
    assert house.user_passwords.kept


def test_another_password_is_asked_for_after_it_was_said_what_it_means(house: House, browser: TestClient) -> None:
    browser.post(COLLECT)
    head = house.store.head()
    shown = browser.get(ROTATE)
    assert "no connection begins with the old one" in words(shown.text)
    assert house.store.head() == head
    answer = browser.post(ROTATE, data=fields(shown.text, reason="leaked"))
    assert (answer.status_code, answer.headers["location"]) == (303, ALICE)
    (made,) = house.store.read_all(house.store.head() - 1)
    assert (made.type, made.actor, made.data["reason"]) == (
        "user.password_requested",
        "person:ada",
        "asked by ada: leaked",
    )
    assert "on its way to Kafka" in browser.get(ALICE).text
    assert "There is nothing to do" in browser.get(ROTATE).text


def test_a_user_is_deleted_with_its_name_typed(house: House, browser: TestClient) -> None:
    shown = browser.get(DELETE).text
    assert "Type <code>alice</code> to go on" in shown
    assert "Its credential goes first" in shown
    head = house.store.head()
    assert browser.post(DELETE, data=fields(shown, confirm="bob")).status_code == 422
    assert browser.post(DELETE, data={"confirm": "alice"}).status_code == 409, "nothing was looked at"
    assert house.store.head() == head
    answer = browser.post(DELETE, data=fields(shown, confirm="alice", reason="moved"))
    assert (answer.status_code, answer.headers["location"]) == (303, ALICE)
    text = browser.get(ALICE).text
    assert "Deleting" in text
    assert not [path for path in (COLLECT, ROTATE, DELETE) if path in text]


def test_a_user_can_be_let_go_of(house: House, browser: TestClient) -> None:
    answer = browser.post(DELETE, data=fields(browser.get(DELETE).text, confirm="alice", retain="true"))
    assert (answer.status_code, answer.headers["location"]) == (303, USERS)
    assert house.store.read_stream(cluster_stream(house.view().uid))[-1].type == "user.released"


def test_who_has_rights_without_a_document_is_listed_by_the_word_of_brokers(house: House, browser: TestClient) -> None:
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    users = house.kafka.users
    users.acls = {
        Acl("User:alice", "topic", "payments", "literal", "Read"),
        Acl("User:bob", "topic", "pay-", "prefix", "Write", "deny", "10.0.0.7"),
        Acl("User:ANONYMOUS", "cluster", CLUSTER, "literal", "Describe"),
    }
    users.quotas[("client-id", "app"), ("user", "carol")] = {"producer_byte_rate": 1024.0}
    users.credentials["dave"] = {"SCRAM-SHA-256": 4096}
    told = words(browser.get(f"{USERS}?only=undeclared").text)
    assert "User:bob deny Write on topics that begin with pay-, from 10.0.0.7 none none" in told
    assert "User:carol none producer_byte_rate 1.0 KiB/s with client app none" in told
    assert "User:dave none none SCRAM-SHA-256" in told
    assert "User:ANONYMOUS allow Describe on the cluster none none cannot be declared" in told
    assert "User:alice" not in told
    assert "User:bob" not in words(browser.get(f"{USERS}?only=undeclared&q=carol").text)
    house.pass_time(seconds=11)
    users.acls = None
    assert "everybody may do everything" in words(browser.get(f"{USERS}?only=undeclared").text)


def test_brokers_that_do_not_answer_leave_it_unknown(browser: TestClient) -> None:
    told = words(browser.get(f"{USERS}?only=undeclared").text)
    assert "Kafka did not answer:" in told
    assert "not known now" in told
    assert "Nobody has anything" not in told

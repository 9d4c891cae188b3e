"""Who may do what on a topic, by the ACLs of the brokers, and whether one user may: `/topics/{topic}/access`."""

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from planner.rights.acls import Acl
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_kafka_users import words
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_topics

ACCESS = "/clusters/orders/topics/payments/access"
VIEWER = Binding("", Role.VIEWER, "*")


@pytest.fixture
def house() -> House:
    """`alice` is declared to read `payments`, and has more in Kafka; nobody declares `bob`."""
    house = house_with_topics()
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.users.acls = {
        Acl("User:alice", "topic", "payments", "literal", "Read"),
        Acl("User:alice", "topic", "pay", "prefix", "Write"),
        Acl("User:bob", "topic", "*", "literal", "All"),
        Acl("User:bob", "topic", "payments", "literal", "Delete", "deny", "10.0.0.7"),
        Acl("User:carol", "topic", "clicks", "literal", "Read"),
        Acl("User:dave", "group", "payments", "literal", "Read"),
    }
    return house


@pytest.fixture
def browser(house: House) -> TestClient:
    return house.browser("ada", VIEWER)


def test_every_acl_that_is_about_the_topic_is_there_and_no_other(browser: TestClient) -> None:
    text = browser.get(ACCESS).text
    told = words(text)
    assert "User:alice may Read anywhere this topic its document" in told
    assert "User:alice may Write anywhere topics that begin with pay its document says otherwise" in told
    assert "User:bob may not Delete 10.0.0.7 this topic nobody" in told
    assert "User:bob may All anywhere every topic nobody" in told
    assert told.index("User:bob may not") < told.index("User:bob may All")
    assert "carol" not in told
    assert "dave" not in told
    assert '<a href="/clusters/orders/users/alice">User:alice</a>' in text
    assert "users/bob" not in text, "there is no page of one that nobody declares"
    assert f'href="{ACCESS}"' in browser.get("/clusters/orders/topics/payments").text


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("user=alice&operation=Describe", "Yes. User:alice may Describe on topic payments: allowed by an ACL"),
        ("user=alice&operation=Alter", "No. User:alice may not Alter on topic payments: no ACL matches"),
        ("user=bob&operation=Delete", "Yes. User:bob may Delete on topic payments: allowed by an ACL"),
        ("user=bob&operation=Delete&host=10.0.0.7", "No. User:bob may not Delete on topic payments from 10.0.0.7"),
    ],
)
def test_whether_a_user_may_is_said_with_why(browser: TestClient, asked: str, answer: str) -> None:
    text = browser.get(f"{ACCESS}?{asked}").text
    assert answer in words(text)
    assert ("No document declares this user" in text) == ("bob" in asked)
    assert f'value="{asked.split("=")[1].split("&")[0]}"' in text, "what was asked stays in its fields"


def test_the_acls_that_decide_are_named(browser: TestClient) -> None:
    told = words(browser.get(f"{ACCESS}?user=bob&operation=Delete&host=10.0.0.7").text)
    assert "deny User:bob Delete on topic payments from 10.0.0.7 , declared by nobody" in told
    assert "allow User:bob All" not in told


def test_an_operation_that_topics_do_not_know_is_refused(browser: TestClient) -> None:
    assert browser.get(f"{ACCESS}?user=alice&operation=ClusterAction").status_code == 422


def test_brokers_that_do_not_answer_leave_it_unknown(house: House, browser: TestClient) -> None:
    house.kafka.outage = True
    told = words(browser.get(f"{ACCESS}?user=alice").text)
    assert "Who may do what is not known now" in told
    assert "Yes." not in told
    assert "No ACL is about" not in told


def test_brokers_without_an_authorizer_let_everybody(house: House, browser: TestClient) -> None:
    house.kafka.users.acls = None
    told = words(browser.get(f"{ACCESS}?user=eve").text)
    assert "everybody may do everything" in told
    assert "Yes. User:eve may Read on topic payments: no authorizer" in told

"""A call that is answered with 200 and a no: the audit says `failed` and why, never `done`, and no word of the file."""

from dataclasses import replace

import pytest

from controlplane.api.audit.entry import Entry, Outcome
from controlplane.api.audit.store import AuditFilter
from controlplane.api.audit.writer import ASKS_ONLY, SAFE_METHODS
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.portal.app import create_app
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_audit_of_routes import ADMIN
from tests.unit.controlplane.api.test_proposals import (
    APPROVER,
    OURS,
    OWNER,
    POLICY,
    TOPIC,
    Shelved,
    proposed,
    token_of,
)
from tests.unit.controlplane.background.git_sync.git_house import LARGER
from tests.unit.controlplane.portal.test_portal_auth_matrix import routes_of
from tests.unit.events.spec_texts import ORDERS

CANARY = "canary-5ecret-of-somebody"
REFUSED = ORDERS.replace("log.retention.hours: 72", f"sasl.jaas.config: {CANARY}")
WIDER = TOPIC.replace("partitions: 3", "partitions: 6")

REFUSABLE = {
    ("POST", "/v1/apply"): {"text": REFUSED, "file": "orders.yaml"},
    ("POST", "/v1/pull-requests"): {"text": REFUSED, "file": "orders.yaml"},
    ("POST", "/v1/clusters/{name}/rollback"): {"to": 1},
    ("POST", "/v1/clusters/{name}/topics/{topic}/rollback"): {"to": 1},
    ("POST", "/v1/notifiers/{name}/test"): {"reason": "x"},
}
"""Writes whose answer has a place for a no, each with a body that gets one in `refusing_house`."""

DECISIONS = {("POST", "/v1/proposals/{number}/approve"), ("POST", "/v1/proposals/{number}/reject")}
"""Theirs is the state of the proposal, and `told` its reason."""

YES_OR_NO = {"ok", "told"}
"""How those places are called."""


class Deaf:
    """A notifier whose receiver does not answer."""

    def test(self, name: str) -> None:
        raise NotDelivered(f"{CANARY} did not answer")


@pytest.fixture
def house() -> House:
    """What was declared first is refused by a policy by now; no notifier is heard."""
    house = House(policies=Shelved())
    house.apply(OURS + WIDER)
    house.apply(OURS.replace("log.retention.hours: 72", "log.retention.hours: 96"))
    house.apply(TOPIC.replace("partitions: 3", "partitions: 6, config: {retention.ms: 7200000}"))
    strict = POLICY.replace("maxBrokers: 4", "maxBrokers: 2").replace("maxTopicPartitions: 10", "maxTopicPartitions: 1")
    assert isinstance(house.policies, Shelved)
    house.policies.known = Shelved(strict).known
    house.app = create_app(replace(house.services, fleet=replace(house.services.fleet, notifiers=Deaf())))  # type: ignore[arg-type]  # no more is asked
    house.client = house.client_with(dict(house.client.headers))
    return house


def newest(house: House) -> Entry:
    return house.audit.page(AuditFilter(), 1)[0].entry


def test_the_table_has_every_write_that_can_answer_no_without_an_error() -> None:
    """One that is new is either put into it, or answers with an error."""
    found = {
        (method, route.path)
        for route in routes_of(House().app.routes)
        for method in route.methods - {*SAFE_METHODS}
        if route.path not in ASKS_ONLY and YES_OR_NO & {*getattr(route.response_model, "model_fields", {})}
    }
    assert found == {*REFUSABLE, *DECISIONS}


@pytest.mark.parametrize(("method", "path"), REFUSABLE)
def test_what_was_refused_is_noted_as_failed_with_the_reason(house: House, method: str, path: str) -> None:
    head = house.store.head()
    filled = path.replace("{name}", "orders").replace("{topic}", "clicks")
    answer = house.client.request(method, filled, json=REFUSABLE[method, path])
    assert answer.status_code == 200, answer.text
    assert [answer.json()[word] for word in YES_OR_NO & answer.json().keys()] == [False]
    entry = newest(house)
    assert (entry.outcome, entry.status, house.store.head()) == (Outcome.FAILED, 200, head)
    assert entry.note.startswith("orders was not told" if "notifiers" in path else "the spec is refused: 1 problem, ")
    assert CANARY not in str(entry), "the reason is not a word of the file, nor of another program"


def test_what_was_declared_is_noted_as_done_and_says_nothing_of_a_refusal() -> None:
    house = House()
    house.apply(ORDERS)
    house.apply(LARGER)
    assert (newest(house).outcome, newest(house).note) == (Outcome.DONE, "")
    house.client.post("/v1/clusters/orders/rollback", json={"to": 1, "dry_run": True})
    assert (newest(house).outcome, newest(house).note) == (Outcome.DONE, "dry run")


def test_a_dry_run_says_that_it_was_one_and_what_it_came_to(house: House) -> None:
    house.client.post("/v1/clusters/orders/rollback", json={"to": 1, "dry_run": True})
    entry = newest(house)
    assert (entry.outcome, entry.note.partition(" in line ")[0]) == (
        Outcome.FAILED,
        "dry run: the spec is refused: 1 problem, the first KEDGE-POLICY-001",
    )


@pytest.mark.parametrize("by", ["program", "page"])
def test_a_yes_to_what_may_not_be_done_any_more_is_noted_as_failed(by: str) -> None:
    house = House(policies=Shelved())
    house.apply(OURS)
    number = proposed(token_of(house, "ada", OWNER))
    house.apply(OURS.replace("log.retention.hours: 72", "log.retention.hours: 48"))
    if by == "page":
        browser = house.browser("bob", APPROVER)
        assert browser.post(f"/proposals/{number}/approve").status_code == 303
        entry = newest(house)
    else:
        bob, key = token_of(house, "bob", APPROVER), {"Idempotency-Key": "k"}
        assert bob.post(f"/v1/proposals/{number}/approve", json={}, headers=key).json()["state"] == "void"
        entry = newest(house)
        assert bob.post(f"/v1/proposals/{number}/approve", json={}, headers=key).json()["state"] == "void"
        assert newest(house).outcome is Outcome.FAILED, "told again, it is not a better"
    assert entry.outcome is Outcome.FAILED
    assert entry.note.startswith(f"proposal {number} void: the plan, or what is in force, is not what it was")


def test_a_form_that_is_refused_says_why_in_the_audit_too(house: House) -> None:
    ada = house.browser("ada", ADMIN)
    form = {"kind": "cluster", "name": "No Name", "owner": "payments", "zones": CANARY, "do": "apply"}
    assert ada.post("/new", data=form).status_code == 422
    entry = newest(house)
    assert (entry.outcome, entry.status) == (Outcome.FAILED, 422)
    assert entry.note.startswith("the spec is refused: ")
    assert CANARY not in str(entry)

"""An `Idempotency-Key` stands for one request of one caller, and takes the place of no other id."""

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.api_document import api_document
from controlplane.api.audit.entry import Entry, Kept
from controlplane.api.idempotency_keys import KEPT_FOR
from controlplane.cluster.commands import PauseCluster
from events.errors import StoreUnavailable
from tests.fakes.audit import MemoryAuditStore
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.api.test_proposals import APPROVER, CHAOS, OURS, OWNER, Shelved, proposed, token_of
from tests.unit.controlplane.background.git_sync.git_house import LARGER, ORDERS, GitHouse

OPERATOR = Binding("", Role.OPERATOR, "team:payments")
PAUSE, RESUME = "/v1/clusters/orders/pause", "/v1/clusters/orders/resume"
TOKEN_ASKED = {"label": "ci", "role": "viewer", "scope": "*", "days": 1}


def key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text}


@pytest.fixture
def house() -> House:
    house = House(policies=Shelved())
    house.apply(OURS)
    return house


def test_a_key_in_the_words_of_a_proposal_does_not_stand_for_its_deletion(house: House) -> None:
    ada, bob, eve = (token_of(house, *who) for who in (("ada", OWNER), ("bob", APPROVER), ("eve", OPERATOR)))
    asked = ada.post("/v1/clusters/orders/delete", json={"confirm": "orders", "reason": "old"}).json()["proposal"]
    assert eve.post(PAUSE, json={"reason": "x"}, headers=key(f"proposal-{asked}")).status_code == 200
    agreed = bob.post(f"/v1/proposals/{asked}/approve", json={}).json()
    assert (agreed["state"], bool(house.view().requests.tombstone)) == ("executed", True)


@pytest.mark.parametrize("actor", ["person:eve", "person:ada"])
def test_an_approval_whose_id_was_taken_before_there_was_a_mend_is_void_and_never_executed(
    house: House, actor: str
) -> None:
    """Logs of releases before this one may hold such a command."""
    ada, bob = token_of(house, "ada", OWNER), token_of(house, "bob", APPROVER)
    asked = ada.post("/v1/clusters/orders/delete", json={"confirm": "orders", "reason": "old"}).json()["proposal"]
    taken(house, f"proposal-{asked}", actor)
    agreed = bob.post(f"/v1/proposals/{asked}/approve", json={}).json()
    assert agreed["state"] == "void"
    assert "the id of this command is that of another one" in agreed["told"]
    assert not house.view().requests.tombstone


def test_a_key_in_the_words_of_git_keeps_no_commit_out_of_force() -> None:
    git = GitHouse()
    git.push({"orders.yaml": ORDERS})
    commit = git.repository.commit({"orders.yaml": LARGER})
    (wanted,) = [
        git.sync._command(file, file.documents[0], git.repository.tip(None), git.view())
        for file in git.sync._files(commit)
    ]
    assert git.house.client.post(PAUSE, json={"reason": "x"}, headers=key(wanted.command_id)).status_code == 200
    status = git.poll()
    assert (status.state, git.view().generation) == ("Synced", 2)


def test_a_source_says_synced_only_when_the_document_is_in_force() -> None:
    """The id of the commit's command was taken, as a release before this one let callers do."""
    git = GitHouse()
    git.push({"orders.yaml": ORDERS})
    commit = git.repository.commit({"orders.yaml": LARGER})
    (file,) = git.sync._files(commit)
    wanted = git.sync._command(file, file.documents[0], git.repository.tip(None), git.view())
    taken(git.house, wanted.command_id, "git:teams")
    status = git.poll()
    assert status.state == "Refused"
    assert git.view().generation == 1
    assert "SpecRefused" in git.condition()


def test_a_commit_that_comes_back_after_another_is_in_force_again() -> None:
    git = GitHouse()
    first = git.push({"orders.yaml": ORDERS})
    git.push({"orders.yaml": LARGER})
    git.repository.history[:] = [first]
    git.poll()
    git.service.accept("teams", first, reason="back", actor="person:ann")
    assert git.poll().state == "Synced"
    assert git.view().document.spec.pool("brokers").size == 3


def test_one_key_is_one_request_and_another_is_refused(house: House) -> None:
    eve = token_of(house, "eve", OPERATOR)
    first = eve.post(PAUSE, json={"reason": "x", "until": None}, headers=key("k"))
    head = house.store.head()
    again = eve.post(
        PAUSE, content='{"until": null,  "reason": "x"}', headers=key("k") | {"Content-Type": "application/json"}
    )
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json()["sentence"] == "done before, by this very command"
    for path, body in ((PAUSE, {"reason": "y"}), (RESUME, {"reason": "x"}), ("/v1/clusters/orders/abort", {})):
        refused = eve.post(path, json=body, headers=key("k"))
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency-key-reused"), path
    assert house.store.head() == head


def test_a_deletion_with_the_key_of_a_pause_is_refused_and_not_answered_done(house: House) -> None:
    assert house.client.post(PAUSE, json={"reason": "x"}, headers=key("k")).status_code == 200
    refused = house.client.post("/v1/clusters/orders/delete", json={"confirm": "orders"}, headers=key("k"))
    assert refused.json()["code"] == "idempotency-key-reused"


def test_a_key_is_its_callers_alone(house: House) -> None:
    ada, eve = token_of(house, "ada", OWNER), token_of(house, "eve", OPERATOR)
    assert ada.post(PAUSE, json={"reason": "x"}, headers=key("k")).status_code == 200
    assert eve.post(RESUME, json={"reason": "x"}, headers=key("k")).json()["changed"]
    recorded = [e.command_id for e in house.store.read_all()]
    assert "k" not in recorded
    assert len({c for c in recorded if c and c.startswith("asked-")}) == 2


def test_what_was_refused_may_come_again_under_its_key_once_it_is_mended(house: House) -> None:
    path = "/v1/clusters/orders/delete"
    assert house.client.post(path, json={"confirm": "oders"}, headers=key("k")).status_code == 409
    assert house.client.post(path, json={"confirm": "orders"}, headers=key("k")).status_code == 200


def test_a_key_is_forgotten_after_a_week_and_still_stands_for_no_other_request(house: House) -> None:
    assert house.client.post(PAUSE, json={"reason": "x"}, headers=key("k")).status_code == 200
    house.now += KEPT_FOR
    assert (
        house.client.post(RESUME, json={"reason": "x"}, headers=key("k"))
        .json()["sentence"]
        .startswith("orders goes on")
    )


def test_a_retried_token_makes_no_second_secret(house: House) -> None:
    first = house.client.post("/v1/tokens", json=TOKEN_ASKED, headers=key("k"))
    again = house.client.post("/v1/tokens", json=TOKEN_ASKED, headers=key("k"))
    assert (first.status_code, again.status_code, again.json()["code"]) == (200, 409, "done-before")
    assert "another Idempotency-Key" in again.json()["next"]
    assert len(house.client.get("/v1/tokens").json()) == 1
    assert house.client.post("/v1/tokens", json=TOKEN_ASKED, headers=key("l")).status_code == 200


def test_a_retried_password_leaves_the_first_one_in_force(house: House) -> None:
    made = house.client.post("/v1/users", json={"name": "bea"}, headers=key("k"))
    assert house.client.post("/v1/users", json={"name": "bea"}, headers=key("k")).json()["code"] == "done-before"
    renewed = house.client.post("/v1/users/bea/password", headers=key("l"))
    assert house.client.post("/v1/users/bea/password", headers=key("l")).json()["code"] == "done-before"
    assert made.json()["password"] != renewed.json()["password"]
    house.services.access.people.sign_in("bea", renewed.json()["password"], house.now)


class AwayAudit(MemoryAuditStore):
    """One that takes nothing while `is_away`."""

    is_away = False

    def append(self, entry: Entry) -> Kept:
        if self.is_away:
            raise StoreUnavailable("away")
        return super().append(entry)


def test_a_token_whose_answer_was_an_error_is_not_made_a_second_time() -> None:
    """The audit was away: the token is there, and nobody was told its text."""
    audit = AwayAudit()
    house = House(audit=audit)
    audit.is_away = True
    assert house.client.post("/v1/tokens", json=TOKEN_ASKED, headers=key("k")).status_code == 503
    audit.is_away = False
    assert house.client.post("/v1/tokens", json=TOKEN_ASKED, headers=key("k")).json()["code"] == "done-before"


def test_a_retried_approval_is_told_what_came_of_it(house: House) -> None:
    ada, bob, eve = token_of(house, "ada", OWNER), token_of(house, "bob", APPROVER), token_of(house, "eve", APPROVER)
    path = f"/v1/proposals/{proposed(ada, CHAOS)}/approve"
    first, again = (bob.post(path, json={}, headers=key("k")) for _ in range(2))
    assert (first.json()["state"], again.json()) == ("executed", first.json())
    assert bob.post(path, json={}, headers=key("l")).json()["code"] == "proposal-decided"
    assert eve.post(path, json={}, headers=key("k")).json()["code"] == "proposal-decided"


def test_every_write_of_the_api_says_that_it_takes_a_key(house: House) -> None:
    queries = ("/validate", "/plan")
    for path, operations in api_document(house.app)["paths"].items():
        for method, operation in operations.items():
            if path.startswith("/v1/") and method != "get" and not path.endswith(queries):
                names = {p["name"].lower() for p in operation["parameters"]}
                assert "idempotency-key" in names, f"{method} {path}"


def test_a_form_sent_twice_is_one_command_and_another_form_with_its_key_another(house: House) -> None:
    browser = house.browser("ada", OWNER)
    form = {"kind": "", "to": "off", "reason": "x", "key": "a" * 32}
    for _ in range(2):
        assert browser.post("/clusters/orders/healing", data=form).status_code == 303
    assert switched(house) == 1
    browser.post("/clusters/orders/healing", data=form | {"to": "on"})
    assert switched(house) == 2


def switched(house: House) -> int:
    return sum(e.type == "healing.switched" for e in house.store.read_all())


def taken(house: House, command_id: str, actor: str) -> None:
    """A pause recorded under an id of the server's."""
    house.services.cluster.commands.handle(
        PauseCluster(name="orders", actor=actor, command_id=command_id, reason=actor)
    )
    house.converger.catch_up()

"""`preset: production` in a file that says nothing of what nodes speak: new clusters get TLS, whichever way they come,
and the same file declared again turns none that lives."""

from controlplane.api.change_requests import file_with
from events.spec.document import load_documents
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.background.git_sync.git_house import GitHouse
from tests.unit.events.spec_texts import ORDERS

UNSAID = ORDERS.replace("spec:\n", "spec:\n  preset: production\n", 1)
PLAINTEXT = UNSAID.replace("spec:\n", "spec:\n  security: {internal: plaintext}\n", 1)


def _speaks(house: House) -> str:
    document = house.view().document
    assert document is not None
    return document.spec.security.internal


def test_it_is_planned_and_born_with_tls_and_the_same_file_again_changes_nothing() -> None:
    house = House()
    plan = house.client.post("/v1/plan", json={"text": UNSAID, "file": "orders.yaml"}).json()["plans"][0]
    assert (
        "its nodes speak TLS among themselves (security.internal), as a new cluster of production is" in plan["preset"]
    )
    house.apply(UNSAID)
    assert _speaks(house) == "tls"
    again = house.client.post("/v1/plan", json={"text": UNSAID, "file": "orders.yaml"}).json()["plans"][0]
    assert again["changes"] == []
    house.apply(UNSAID)
    assert (house.view().generation, _speaks(house)) == (1, "tls")


def test_a_living_cluster_in_plaintext_stays_so_when_the_preset_comes() -> None:
    house = House()
    house.apply(ORDERS)
    house.apply(UNSAID)
    assert (house.view().generation, _speaks(house)) == (2, "plaintext")


def test_one_that_was_declared_with_plaintext_stays_so_when_the_words_go() -> None:
    house = House()
    house.apply(PLAINTEXT)
    house.apply(UNSAID)
    assert (house.view().generation, _speaks(house)) == (1, "plaintext")


def test_a_file_of_git_is_born_so_and_later_commits_and_polls_turn_nobody() -> None:
    git = GitHouse()
    git.push({"orders.yaml": UNSAID})
    assert git.view().document.spec.security.internal == "tls"  # type: ignore[union-attr]
    git.poll()
    git.push({"orders.yaml": f"# reviewed\n{UNSAID}"})
    assert git.view().generation == 1
    assert git.status.state == "Synced"
    declared = [e for e in git.house.store.read_all() if e.type == "cluster.declared"]
    assert len(declared) == 1


def test_what_tls_does_not_stand_beside_is_told_of_a_file_of_git_too() -> None:
    git = GitHouse()
    git.push({"orders.yaml": UNSAID.replace("spec:\n", "spec:\n  listeners: [{name: PLAINTEXT, port: 9091}]\n", 1)})
    assert git.status.state != "Synced"
    assert "cluster.declared" not in {e.type for e in git.house.store.read_all()}


def test_a_pull_request_takes_the_file_that_leaves_it_unsaid() -> None:
    house = House()
    house.apply(UNSAID)
    document = house.view().document
    assert document is not None
    assert file_with(UNSAID, "orders", UNSAID, wanted=[document], path="orders.yaml")
    assert load_documents(UNSAID, file="").documents[0] != document


def test_rolled_back_it_speaks_what_it_spoke() -> None:
    house = House()
    house.apply(UNSAID)
    house.apply(UNSAID.replace("log.retention.hours: 72", "log.retention.hours: 96"))
    assert house.view().generation == 2
    told = house.client.post("/v1/clusters/orders/rollback", json={"to": 1})
    assert told.status_code == 200, told.text
    assert _speaks(house) == "tls"

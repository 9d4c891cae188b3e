"""/v1/clusters/NAME/games: who may have a game day played, what is refused, and what is told of it."""

from typing import Any

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from events import facts
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House, brokers_as_declared, three_brokers
from tests.unit.controlplane.api.test_api_tokens import program, token_of
from tests.unit.controlplane.portal.test_portal_chaos import AWS
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

GAMES = "/v1/clusters/orders/games"


def healthy(text: str = OURS) -> House:
    house = House()
    house.apply(text)
    house.join(*(brokers_as_declared(house.view()) if text == OURS else three_brokers()))
    house.record(facts.RecycleCompleted(1))
    house.snapshots[house.view().uid] = a_snapshot(a_partition("clicks-0"), at=house.now)
    return house


@pytest.fixture
def house() -> House:
    return healthy()


def start(house: House, **about: Any) -> dict[str, Any]:
    answer = house.client.post(GAMES, json={"events": 3, "seed": 7, "reason": "weekly", **about})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_game_is_on_record_before_anything_is_harmed_and_once_however_often_it_is_sent(house: House) -> None:
    answers = [house.client.post(GAMES, json={"seed": 7}, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [a.status_code for a in answers] == [200, 200], answers[1].text
    first = answers[0].json()
    assert first == answers[1].json()
    assert (first["ended_at"], first["events"], first["reason"]) == (None, [], "asked by local")
    assert first["faults"] == ["kill-broker", "kill-agent", "pause", "kill-vm"]
    assert house.client.get(GAMES).json()["games"] == [first]
    assert house.client.get(f"{GAMES}/{first['game']}").json() == first
    types = [e.type for e in house.store.read_all(0)]
    assert (types.count("chaos.game_started"), types.count("chaos.injected")) == (1, 0)
    assert house.view().uid in house.woken


def test_a_report_is_what_was_recorded_fault_by_fault_also_once_it_is_over(house: House) -> None:
    game = start(house)["game"]
    vm = "brokers-a-0.g1"
    house.record(facts.ChaosInjected("c1", "pause", (vm,), 15.0, "asked by local: game, seed 7", game=game))
    told = house.client.get(f"{GAMES}/{game}").json()
    assert (told["events"][0]["vm"], told["events"][0]["judged"]) == (vm, False)
    assert told["sentence"].endswith(f"waiting for full health after pause of {vm}")
    house.record(facts.FaultScored(game, "c1", 2.0, 20.5, 1.5, "a broker is down", ("Blocked/BrokerDown",)))
    house.record(facts.GameEnded(game, "600 s are over after 1 of 3 faults"))
    told = house.client.get(f"{GAMES}/{game}").json()
    assert (told["healed_p95_s"], told["under_min_isr_s"], told["stopped"]) == (
        20.5,
        1.5,
        "600 s are over after 1 of 3 faults",
    )
    assert (told["events"][0]["healed_s"], told["ended_at"] is not None) == (20.5, True)


def test_a_game_is_ended_early_by_name_and_by_whom_is_told(house: House) -> None:
    game = start(house)["game"]
    ended = house.client.post(f"{GAMES}/{game}/end", json={"reason": "lunch"})
    assert (ended.status_code, ended.json()["stopped"]) == (200, "ended early, asked by local: lunch")
    again = house.client.post(f"{GAMES}/{game}/end", json={})
    assert (again.status_code, again.json()) == (200, ended.json())
    assert start(house, seed=8)["game"] != game


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"faults": ["kill-rack"]}, "unknown-fault"),
        ({"faults": ["<b>"]}, "unknown-fault"),
        ({"events": 0}, "game-size"),
        ({"events": 100_000}, "game-size"),
        ({"within_s": 0}, "game-size"),
        ({"lasts_s": 100_000}, "game-size"),
        ({"heal_within_s": 1}, "game-size"),
    ],
)
def test_what_is_no_game_is_refused_and_nothing_is_recorded(house: House, body: dict[str, Any], code: str) -> None:
    head = house.store.head()
    answer = house.client.post(GAMES, json=body)
    assert (answer.status_code, answer.json()["code"], house.store.head()) == (409, code, head)


def test_one_game_at_a_time_and_no_fault_by_hand_beside_it(house: House) -> None:
    start(house)
    assert house.client.post(GAMES, json={}).json()["code"] == "game-in-hand"
    fault = {"fault": "pause", "vms": ["brokers-a-0"], "for_s": 30}
    assert house.client.post("/v1/clusters/orders/chaos", json=fault).json()["code"] == "game-in-hand"


def test_a_cluster_that_is_not_healthy_is_only_played_with_by_force(house: House) -> None:
    house.snapshots[house.view().uid] = a_snapshot(a_partition("clicks-0", isr=(1001, 1002)), at=house.now)
    assert house.client.post(GAMES, json={}).json()["code"] == "not-whole"
    assert start(house, force=True)["events"] == []


def test_off_the_local_cloud_the_spec_allows_it_the_name_is_typed_and_only_vms_are_killed() -> None:
    forbidden = healthy(AWS)
    assert forbidden.client.post(GAMES, json={"confirm": "orders"}).json()["code"] == "chaos-forbidden"
    house = healthy(AWS + "  chaos: allowed\n")
    assert house.client.post(GAMES, json={"force": True}).json()["code"] == "name-mismatch"
    named = {"force": True, "confirm": "orders"}
    assert house.client.post(GAMES, json={**named, "faults": ["pause"]}).json()["code"] == "chaos-not-here"
    assert start(house, **named)["faults"] == ["kill-vm"]


@pytest.mark.parametrize(("role", "status"), [(Role.OWNER, 200), (Role.OPERATOR, 403), (Role.VIEWER, 403)])
def test_who_may_harm_a_cluster_may_have_it_played_with_and_no_one_else(house: House, role: Role, status: int) -> None:
    ada = program(house, token_of(house, Binding("", role, "*")))
    assert ada.post(GAMES, json={}).status_code == status
    in_hand = house.view().requests.game
    game = in_hand.id if in_hand is not None else start(house)["game"]
    assert ada.post(f"{GAMES}/{game}/end", json={}).status_code == status
    assert ada.get(GAMES).status_code == 200


def test_a_game_that_is_not_kept_is_not_found(house: House) -> None:
    assert house.client.get(f"{GAMES}/nobody").json()["code"] == "game-not-found"
    assert house.client.post(f"{GAMES}/nobody/end", json={}).json()["code"] == "unknown-game"

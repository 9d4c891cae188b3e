"""Lists of the API come in pages: page by page they are the whole, each item once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, strategies as st

from controlplane.api.paging import by_name, following
from controlplane.api.problems import ApiError
from controlplane.background.agent_upgrades.service import AgentReleaseStatus, ClusterAgents
from controlplane.background.git_sync.service import SourceService
from controlplane.background.git_sync.status import SourceStatuses
from controlplane.portal.app import create_app
from tests.builders import a_partition, a_snapshot
from tests.fakes.services import NoAgents
from tests.unit.controlplane.api.portal_house import TOKEN, House
from tests.unit.controlplane.background.git_sync.git_house import binding
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders, propose
from tests.unit.events.spec_texts import ORDERS


class ThreeClusters(NoAgents):
    """VMs of three clusters, told in no order."""

    def status(self) -> AgentReleaseStatus:
        return AgentReleaseStatus(
            clusters=tuple(ClusterAgents(name, "", ()) for name in ("orders", "billing", "ledger"))
        )


def paged(client: TestClient, path: str, items: Callable[[Any], list[Any]], its: str, **params: str) -> list[list[Any]]:
    """Every page of two, as a program walks them."""
    pages: list[list[Any]] = []
    after = params.pop("after", "")
    while len(pages) < 20:
        asked = {**params, "limit": "2", **({"after": after} if after else {})}
        answer = client.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        page = items(answer.json())
        if not page:
            return pages
        pages.append(page)
        after = str(page[-1][its])
    raise AssertionError("no end")


def a_list(answer: Any) -> list[Any]:
    return list(answer)


@pytest.fixture(scope="module")
def house() -> House:
    house = house_with_orders()
    for name in ("ada", "bob", "eve", "carol", "dan"):
        house.client.post("/v1/users", json={"name": name})
    for number in range(5):
        house.pass_time(seconds=1)
        house.client.post("/v1/tokens", json={"label": f"ci-{number}", "role": "viewer"})
        propose(house, f"waiting{number}")
    for name in ("ledger", "billing"):
        house.apply(ORDERS.replace("name: orders", f"name: {name}"))
    service = SourceService(
        SourceStatuses(tuple(binding(name) for name in ("teams", "infra", "ops"))), house.store, lambda name: True
    )
    house.app = create_app(
        replace(house.services, fleet=replace(house.services.fleet, sources=service, agents=ThreeClusters()))
    )
    return house


@pytest.fixture(scope="module")
def client(house: House) -> TestClient:
    return house.client_with({"Authorization": f"Bearer {TOKEN}"})


@pytest.mark.parametrize(
    ("path", "items", "its"),
    [
        ("/v1/users", a_list, "name"),
        ("/v1/tokens", a_list, "id"),
        ("/v1/proposals", a_list, "id"),
        ("/v1/sources", a_list, "name"),
        ("/v1/agents", lambda told: told["clusters"], "name"),
        ("/v1/clusters", a_list, "name"),
    ],
)
def test_page_by_page_it_is_the_whole_list(
    client: TestClient, path: str, items: Callable[[Any], list[Any]], its: str
) -> None:
    whole = [item[its] for item in items(client.get(path).json())]
    pages = [[item[its] for item in page] for page in paged(client, path, items, its)]
    assert len(whole) >= 3
    assert [one for page in pages for one in page] == whole
    assert {len(page) for page in pages[:-1]} <= {2}


@pytest.mark.parametrize(("path", "part"), [("/v1/users", "a"), ("/v1/sources", "m"), ("/v1/agents", "orders")])
def test_a_part_of_the_name_narrows_a_list(client: TestClient, path: str, part: str) -> None:
    told = client.get(path, params={"q": part}).json()
    names = [item["name"] for item in (told["clusters"] if path == "/v1/agents" else told)]
    assert names
    assert all(part in name for name in names)


@pytest.mark.parametrize("path", ["/v1/tokens", "/v1/proposals", "/v1/images"])
def test_a_list_told_newest_first_does_not_begin_after_what_is_not_there(client: TestClient, path: str) -> None:
    refused = client.get(path, params={"after": "nothing"})
    assert (refused.status_code, refused.json()["code"]) == (422, "after-unknown")


def test_partitions_of_a_topic_come_by_number_with_what_is_wrong_with_them(house: House, client: TestClient) -> None:
    uid = house.view("orders").uid
    parts = [a_partition(f"payments-{n}", size_bytes=7) for n in range(11)]
    parts[3] = a_partition("payments-3", isr=(1000,), size_bytes=7)
    moving = a_partition("payments-10", (1000, 1001, 1002), adding=(1002,), removing=(1000,), isr=(1000, 1001))
    house.snapshots[uid] = a_snapshot(*parts[:10], moving, a_partition("refunds-0"), at=house.now)
    path = "/v1/clusters/orders/topics/payments/partitions"
    whole = client.get(path).json()
    assert (whole["total"], [p["partition"] for p in whole["partitions"]]) == (11, list(range(11)))
    pages = paged(client, path, lambda told: told["partitions"], "partition")
    walked = [one for page in pages for one in page]
    assert walked == whole["partitions"]
    third = whole["partitions"][3]
    assert (third["state"], third["leader"], third["isr"], third["size_bytes"]) == ("below min ISR", 1000, [1000], 7)
    assert whole["partitions"][10]["adding"] == [1002]
    unhealthy = client.get(path, params={"ailing": True}).json()
    assert (unhealthy["total"], [p["partition"] for p in unhealthy["partitions"]]) == (1, [3])
    assert (whole["metadata_age_s"], whole["recorded"]) == (0.0, False)
    assert client.get("/v1/clusters/orders/topics/nothing/partitions").status_code == 404
    assert client.get("/v1/clusters/ledger/topics/payments/partitions").status_code == 404


def test_the_partitions_that_ail_of_all_topics_come_worst_first_with_counts(house: House, client: TestClient) -> None:
    parts = [
        a_partition("payments-0"),
        *(a_partition(f"payments-{n}", isr=(1000, 1001)) for n in range(1, 12)),
        a_partition("refunds-0", isr=(1000,)),
        a_partition("__consumer_offsets-3", isr=(), leader=-1),
        a_partition("audit-log-7", isr=(), leader=-1, min_isr=0),
    ]
    house.snapshots[house.view("orders").uid] = a_snapshot(*parts, at=house.now)
    path = "/v1/clusters/orders/ailing-partitions"
    whole = client.get(path).json()
    told = [(p["topic"], p["partition"]) for p in whole["partitions"]]
    assert told[:3] == [("__consumer_offsets", 3), ("audit-log", 7), ("refunds", 0)]
    assert told[3:] == [("payments", n) for n in range(1, 12)]
    counts = (whole["total"], whole["no_leader"], whole["below_min_isr"], whole["out_of_sync"])
    assert counts == (14, 2, 1, 11)
    pages = paged(client, path, lambda told: told["partitions"], "id")
    assert [one for page in pages for one in page] == whole["partitions"]
    assert "Link" not in client.get(path, params={"limit": 14}).headers
    below = client.get(path, params={"q": "REF", "state": "below min ISR"}).json()
    assert [p["id"] for p in below["partitions"]] == ["1/refunds-0"]
    narrowed = client.get(path, params={"q": "pay", "state": "no leader"}).json()
    assert (narrowed["total"], narrowed["partitions"], narrowed["out_of_sync"]) == (0, [], 11)
    assert client.get(path, params={"state": "fine"}).status_code == 422


def test_a_partition_that_is_in_sync_again_ends_no_walk_through_those_that_ail(
    house: House, client: TestClient
) -> None:
    uid, path = house.view("orders").uid, "/v1/clusters/orders/ailing-partitions"
    house.snapshots[uid] = a_snapshot(*(a_partition(f"a-b-{n}", isr=(1000, 1001)) for n in range(5)), at=house.now)
    last = client.get(path, params={"limit": 2}).json()["partitions"][-1]["id"]
    healed = [a_partition(f"a-b-{n}", isr=(1000, 1001, 1002) if n < 3 else (1000, 1001)) for n in range(5)]
    house.snapshots[uid] = a_snapshot(*healed, at=house.now)
    left = client.get(path, params={"after": last}).json()["partitions"]
    assert [p["partition"] for p in left] == [3, 4]
    for wrong in ("payments-3", "3/payments-3", "0/payments", "0/-3", "x"):
        refused = client.get(path, params={"after": wrong})
        assert (refused.status_code, refused.json()["code"]) == (422, "after-unknown"), wrong


def test_where_kafka_was_not_read_nobody_says_that_nothing_ails(client: TestClient) -> None:
    told = client.get("/v1/clusters/ledger/ailing-partitions").json()
    assert (told["metadata_age_s"], told["partitions"], told["recorded"]) == (None, [], False)


names = st.lists(st.text("ab", max_size=3), unique=True)


@given(names, names, st.integers(1, 4))
def test_names_that_come_and_go_between_pages_pass_over_nothing_that_stays(
    first: list[str], then: list[str], most: int
) -> None:
    first = [name for name in first if name]  # the empty name stands for the beginning
    walked: list[str] = []
    items, after = first, ""
    while page := by_name(items, str, after=after)[:most]:
        walked += page
        items, after = [name for name in then if name], page[-1]
    assert walked == sorted(set(walked))
    assert {*first} & {*then} <= {*walked}


def test_following_an_id_is_what_stands_behind_it() -> None:
    assert following("cab", str, "") == "cab"
    assert following("cab", str, "c") == "ab"
    assert following("cab", str, "b") == ""
    with pytest.raises(ApiError):
        following("cab", str, "x")

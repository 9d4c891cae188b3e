"""Consumer groups over the API and as pages: asked for, paged through, kept from who may not read the cluster."""

import csv
import html
import io
import re

import httpx
import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.runtime.untrusted_text import shown
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")
OTHERS = Binding("", Role.VIEWER, "team:search")


@pytest.fixture
def house() -> House:
    house = house_with_orders()
    kafka = house.kafka
    kafka.add_controller(100)
    kafka.add_broker(1000, "a")
    kafka.create_topic("clicks", partitions=1, rf=1)
    kafka.consumers.join("billing", "clicks")
    kafka.create_topic("late", partitions=1, rf=1)
    kafka.consumers.produce("clicks", 0, 10)
    kafka.consumers.commit("billing", "clicks", 0, 7)
    kafka.consumers.commit("a/b<c", "clicks", 0, 10)
    return house


def test_groups_come_with_their_lag_and_page_by_page(house: House) -> None:
    first = house.client.get("/v1/clusters/orders/groups?limit=1").json()
    assert [(g["name"], g["word"], g["lag"]) for g in first["groups"]] == [("a/b<c", "NoMembers", 0)]
    assert (first["total"], first["next"]) == (2, "a/b<c")
    second = house.client.get("/v1/clusters/orders/groups", params={"limit": 1, "after": first["next"]}).json()
    assert [(g["name"], g["word"], g["lag"]) for g in second["groups"]] == [("billing", "Reading", 3)]
    assert second["next"] == ""
    link = house.client.get("/v1/clusters/orders/groups?limit=1").links["next"]["url"]
    assert house.client.get(link).json()["groups"] == second["groups"], "a hostile name goes through an address whole"
    found = house.client.get("/v1/clusters/orders/groups?q=BILL").json()
    assert [g["name"] for g in found["groups"]] == ["billing"]


def test_one_group_comes_with_its_members_and_partitions(house: House) -> None:
    told = house.client.get("/v1/clusters/orders/groups/billing").json()
    assert told["members"] == [
        {"id": "member-1", "client": "client-1", "host": "127.0.0.1", "partitions": 1, "unreadable": ""}
    ]
    (p,) = told["partitions"]
    assert (p["topic"], p["partition"], p["state"], p["member"]) == ("clicks", 0, "Reading", "client-1 at 127.0.0.1")
    assert (p["committed"], p["end"], p["lag"]) == (7, 10, 3)
    assert house.client.get("/v1/clusters/orders/groups/a%2Fb%3Cc").json()["group"]["name"] == "a/b<c"


def test_a_group_nobody_knows_and_brokers_that_do_not_answer_are_said_to_be_so(house: House) -> None:
    unknown = house.client.get("/v1/clusters/orders/groups/nobody")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "group-not-found")
    house.pass_time(minutes=1)
    house.kafka.outage = True
    for path in ("groups", "groups/billing"):
        silent = house.client.get(f"/v1/clusters/orders/{path}")
        assert (silent.status_code, silent.json()["code"]) == (503, "kafka-unavailable")


def test_the_page_shows_every_group_with_links_and_escapes_their_names(house: House) -> None:
    text = house.browser("ada", VIEWER).get("/clusters/orders/groups").text
    assert '<a href="/clusters/orders/groups/billing">billing</a>' in text
    assert "a/b&lt;c" in text
    assert "a/b<c" not in text
    assert 'href="/clusters/orders/groups" aria-current="page"' in text
    assert "billing" not in house.browser("bob", VIEWER).get("/clusters/orders/groups?q=a/b").text


def test_the_groups_of_one_topic_are_led_to_from_its_page(house: House) -> None:
    house.kafka.consumers.commit("owls", "late", 0, 0)
    browser = house.browser("ada", VIEWER)
    page = browser.get("/clusters/orders/groups?topic=late").text
    assert ">owls</a>" in page
    assert ">billing</a>" not in page
    assert 'name="topic" value="late"' in page, "the search within it keeps it"
    assert "groups.csv?q=&amp;topic=late" in page
    sheet = browser.get("/clusters/orders/groups.csv?topic=late").text.splitlines()
    assert len(sheet) == 2
    told = house.client.get("/v1/clusters/orders/groups?topic=late").json()
    assert ([g["name"] for g in told["groups"]], told["total"]) == (["owls"], 1)


def test_the_page_of_a_group_shows_its_lag_by_partition(house: House) -> None:
    browser = house.browser("ada", VIEWER)
    text = browser.get("/clusters/orders/groups/billing").text
    assert 'href="/clusters/orders/topics/clicks#p0"' in text
    for words in ("lag 3", "client-1 at 127.0.0.1", "classic protocol"):
        assert words in text
    assert "All partitions are read." in browser.get("/clusters/orders/groups/billing?ailing=true").text
    odd = browser.get("/clusters/orders/groups/a/b%3Cc")
    assert odd.status_code == 200
    assert "nothing reads, or a client commits offsets without joining" in odd.text


def test_the_page_says_why_groups_could_not_be_read(house: House) -> None:
    house.kafka.outage = True
    browser = house.browser("ada", VIEWER)
    for path in ("groups", "groups/billing"):
        answer = browser.get(f"/clusters/orders/{path}")
        assert answer.status_code == 200
        assert "could not be read" in answer.text


def test_a_page_of_a_group_that_is_not_there_says_so(house: House) -> None:
    answer = house.browser("ada", VIEWER).get("/clusters/orders/groups/nobody")
    assert answer.status_code == 404
    assert "orders has no group called nobody" in answer.text


@pytest.mark.parametrize("path", ["/clusters/orders/groups", "/clusters/orders/groups/billing"])
def test_brokers_are_not_asked_for_one_who_may_not_read_the_cluster(house: House, path: str) -> None:
    assert house.browser("eve", OTHERS).get(path).status_code == 404
    assert house.kafka.consumers.asked == 0


def test_the_csv_of_groups_has_every_match_with_plain_figures(house: House) -> None:
    browser = house.browser("ada", VIEWER)
    assert (
        'href="/clusters/orders/groups.csv?q=BILL&amp;sort=name"' in browser.get("/clusters/orders/groups?q=BILL").text
    )
    answer = browser.get("/clusters/orders/groups.csv?q=BILL")
    assert answer.headers["content-disposition"] == 'attachment; filename="orders-groups.csv"'
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["name"], row["word"], row["members"], row["lag"], row["trend_per_s"]) == (
        "billing",
        "Reading",
        "1",
        "3",
        "",
    )
    house.pass_time(minutes=1)
    house.kafka.outage = True
    assert browser.get("/clusters/orders/groups.csv").status_code == 503


def test_a_sheet_of_groups_says_that_more_were_there_than_one_look_reads(house: House) -> None:
    whole = house.browser("ada", VIEWER).get("/clusters/orders/groups.csv")
    assert "x-kedge-truncated" not in whole.headers
    house.kafka.consumers.most = 1
    house.pass_time(minutes=1)
    answer = house.browser("ada", VIEWER).get("/clusters/orders/groups.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="orders-groups-cut.csv"'
    assert answer.headers["x-kedge-truncated"] == "more groups than one look reads: 1 not read"
    assert answer.text.count("\n") == 2


ODD_NAMES = [".", "..", "", "new\nline", "a/../b", "groups.csv", "/", "%2e%2e", "b\x00c", "x?y#z&w=1", "\u202egnp"]


@pytest.mark.parametrize("group", ODD_NAMES)
def test_case_13_a_group_of_any_name_has_its_page_and_its_answer_and_every_link_leads_there(group: str) -> None:
    house = house_with_orders()
    house.kafka.add_controller(100)
    house.kafka.add_broker(1000, "a")
    house.kafka.create_topic("clicks", partitions=1, rf=1)
    house.kafka.consumers.commit(group, "clicks", 0, 7)
    asked = house.client.get("/v1/clusters/orders/group", params={"group": group})
    assert asked.json()["group"]["name"] == group
    browser = house.browser("ada", VIEWER)
    (link,) = re.findall(r'<th scope="row"><a href="([^"]+)"', browser.get("/clusters/orders/groups").text)
    # As a browser reads it: dot segments are shortened before anybody is asked.
    address = httpx.URL("https://portal").join(html.unescape(link))
    page = browser.get(str(address).removeprefix("https://portal"))
    assert page.status_code == 200
    assert "coordinated by broker 1000" in page.text
    assert f"<h2>{html.escape(shown(group))}</h2>" in page.text.replace("&#39;", "&#x27;")
    (other,) = re.findall(r'<a href="([^"]+ailing=true)"', page.text)
    address = httpx.URL("https://portal").join(html.unescape(other))
    assert browser.get(str(address).removeprefix("https://portal")).status_code == 200


def test_a_group_nobody_has_is_told_by_the_way_for_any_name_too(house: House) -> None:
    told = house.client.get("/v1/clusters/orders/group", params={"group": ".."})
    assert (told.status_code, told.json()["code"]) == (404, "group-not-found")

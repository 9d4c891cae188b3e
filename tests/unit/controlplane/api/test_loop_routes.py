"""How the loop does, and the whole log: for whom, filtered, page by page."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.event_log import EventQuery, browse, position_at
from controlplane.converger.tick.beats import LoopWatch
from controlplane.converger.tick.failing_ticks import Poisoned
from controlplane.converger.tick.inventory import TaggedVms
from controlplane.converger.tick.report import TickReport
from controlplane.converger.tick.status import ServerLoop
from controlplane.portal.app import create_app
from controlplane.runtime.polling import Looked
from controlplane.storage.streams import anomalies_stream, cluster_stream
from events.envelope import NewEvent, Origin
from events.ids import ClusterUid
from tests.fakes.asking import Asker
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.unit.controlplane.api.portal_house import PORT, START, TOKEN, House
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS
from tests.unit.events.spec_texts import ORDERS

THEIRS = ORDERS.replace("name: orders", "name: ledger\n  owner: search")


@pytest.fixture
def house() -> House:
    house = House()
    house.apply(OURS)
    house.pass_time(hours=1)
    house.apply(THEIRS)
    return house


def with_loop(house: House, **loop: object) -> TestClient:
    """The same portal beside a loop."""
    parts = {
        "server": "host-1:4711:ab",
        "interval_s": 5.0,
        "store": house.store,
        "jobs": MemoryJobStore(lambda: house.now),
        "ticked": SimpleNamespace(position=house.store.head(), poisoned=list),
        "watch": LoopWatch(lambda: house.now),
        "timers": {},
        "progress": {},
        **loop,
    }
    app = create_app(replace(house.services, operations=replace(house.services.operations, loop=ServerLoop(**parts))))  # type: ignore[arg-type]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return Asker(app, base_url=f"http://127.0.0.1:{PORT}", headers=headers, raise_server_exceptions=False)


def test_the_loop_tells_its_beats_lag_and_timers(house: House) -> None:
    watch = LoopWatch(lambda: house.now)
    with watch.beat(None) as beating:
        beating.ticked(TickReport(clusters=2, events=3))
    with pytest.raises(RuntimeError), watch.beat({"a"}):
        raise RuntimeError("the database went away")
    looked = Looked("teams", 30.0, house.now, 0.25, "no such branch")
    well = Looked("audit topic", 5.0, house.now, 0.25, note="entry 3 of 3")
    client = with_loop(
        house,
        watch=watch,
        ticked=SimpleNamespace(position=house.store.head() - 1, poisoned=list),
        timers={
            "git source": SimpleNamespace(last_polls=lambda: [looked]),
            "audit": SimpleNamespace(last_polls=lambda: [well]),
        },
    )
    told = client.get("/v1/loop").json()
    assert (told["server"], told["leader"], told["epoch"], told["lag"]) == ("host-1:4711:ab", True, 3, 1)
    assert [(b["rung"], b["led"], b["events"], b["problem"]) for b in told["beats"]] == [
        (1, False, 0, "the database went away"),
        (None, True, 3, ""),
    ]
    assert [(t["problem"], t["note"]) for t in told["timers"]] == [("no such branch", ""), ("", "entry 3 of 3")]
    timer = told["timers"][0]
    assert (timer["of"], timer["name"], timer["problem"]) == ("git source", "teams", "no such branch")
    page = client.get("/loop", headers={"Accept": "text/html"}).text
    assert "1 events" in page
    assert "no such branch" in page
    assert "entry 3 of 3" in page


@pytest.mark.parametrize(("silent_s", "is_late"), [(15, False), (16, True)])
def test_a_loop_that_has_not_beaten_for_three_intervals_is_late(house: House, silent_s: int, is_late: bool) -> None:
    watch = LoopWatch(lambda: house.now)
    with watch.beat(None) as beating:
        beating.ticked(TickReport())
    client = with_loop(house, watch=watch)
    house.pass_time(seconds=silent_s)
    assert client.get("/v1/loop").json()["late"] is is_late
    assert (">late<" in client.get("/loop", headers={"Accept": "text/html"}).text) is is_late


def test_the_loop_tells_jobs_with_their_clusters_and_what_they_say(house: House) -> None:
    jobs, view = MemoryJobStore(lambda: house.now), house.view()
    for number in (1, 2):
        jobs.create(f"i{number}", cluster_uid=view.uid, kind="terraform-surge", epoch=3, owner="host-1:4711:ab")  # type: ignore[arg-type]
        jobs.start(f"i{number}", epoch=3, owner="host-1:4711:ab")  # type: ignore[arg-type]
        house.pass_time(minutes=1)
    jobs.fail("i1", epoch=3, error_class="RunRefused", error_message="it would replace a VM")  # type: ignore[arg-type]
    told = with_loop(house, jobs=jobs, progress={"i2": "creating brokers-a-0.g2"}).get("/v1/loop").json()["jobs"]
    assert [(j["id"], j["cluster"], j["state"], j["progress"], j["error"]) for j in told] == [
        ("i2", "orders", "running", "creating brokers-a-0.g2", ""),
        ("i1", "orders", "failed", "", "RunRefused: it would replace a VM"),
    ]


def test_a_cluster_whose_ticks_fail_is_named_with_its_error_and_since_when(house: House) -> None:
    uid = house.view().uid
    poisoned = Poisoned(uid, 4, "broker 1001 answers nobody", START, START + timedelta(seconds=8))
    client = with_loop(house, ticked=SimpleNamespace(position=house.store.head(), poisoned=lambda: [poisoned]))
    told = client.get("/v1/loop").json()["poisoned"]
    assert [(p["cluster"], p["failures"], p["error"]) for p in told] == [("orders", 4, "broker 1001 answers nobody")]
    assert "broker 1001 answers nobody" in client.get("/loop", headers={"Accept": "text/html"}).text


def test_vms_of_a_cluster_this_server_does_not_have_are_told_with_their_place(house: House) -> None:
    tagged = [
        TaggedVms("aws/default/eu-west-1", house.view().uid, "orders", ("i-1",), START),
        TaggedVms("aws/default/eu-west-1", "lost", "payments", tuple(f"i-{n}" for n in range(7)), START),
    ]
    client = with_loop(house, tagged=lambda: tagged)
    (told,) = client.get("/v1/loop").json()["unclaimed"]
    assert (told["uid"], told["name"], told["vms"], told["ids"]) == (
        "lost",
        "payments",
        7,
        ["i-0", "i-1", "i-2", "i-3", "i-4"],
    )
    page = client.get("/loop", headers={"Accept": "text/html"}).text
    assert "VMs of clusters this server does not have" in page
    assert "and 2 more" in page
    assert "VMs of clusters" not in with_loop(house).get("/loop", headers={"Accept": "text/html"}).text


def test_a_server_that_has_not_read_the_whole_log_calls_no_cluster_unknown(house: House) -> None:
    behind = SimpleNamespace(position=house.store.head() - 1, poisoned=list)
    tagged = [TaggedVms("aws/default/eu-west-1", "young", "payments", ("i-1",), START)]
    assert with_loop(house, ticked=behind, tagged=lambda: tagged).get("/v1/loop").json()["unclaimed"] == []


@pytest.mark.parametrize("path", ["/loop", "/v1/loop"])
def test_the_loop_is_an_administrators(house: House, path: str) -> None:
    token = {"Authorization": f"Bearer {TOKEN}"}
    assert house.client.get(path, headers=token).status_code == 200
    viewer = house.browser("ada", Binding("", Role.OWNER, "*"))
    if path == "/loop":
        assert viewer.get(path).status_code == 403
    else:
        assert viewer.get(path).status_code == 401, "a session opens nothing of the API"


def types(house: House, **asked: object) -> list[str]:
    answer = house.client.get("/v1/events", params=asked)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return [f"{e['cluster']} {e['type']}" for e in answer.json()["events"]]


def test_the_log_is_filtered_by_cluster_type_actor_and_time(house: House) -> None:
    house.pass_time(hours=1)
    house.client.post("/v1/clusters/orders/pause", json={"reason": "x"}, headers={"X-Kedge-Actor": "bea"})
    assert types(house)[:1] == ["orders cluster.paused"]
    assert types(house, cluster="ledger", type="cluster.declared") == ["ledger cluster.declared"]
    assert types(house, actor="BEA") == ["orders cluster.paused"]
    assert types(house, type="cluster.declared") == ["ledger cluster.declared", "orders cluster.declared"]
    half_past = (START + timedelta(minutes=30)).isoformat()
    later = (START + timedelta(minutes=90)).isoformat()
    assert types(house, type="cluster.declared", since=half_past) == ["ledger cluster.declared"]
    assert types(house, type="cluster.declared", until=half_past) == ["orders cluster.declared"]
    assert types(house, since=half_past, until=later, type="cluster.") == ["ledger cluster.declared"]
    assert types(house, after=0, type="cluster.declared") == ["orders cluster.declared", "ledger cluster.declared"]


def test_nobody_finds_events_of_clusters_they_may_not_read(house: House) -> None:
    browser = house.browser("ada", Binding("", Role.VIEWER, "team:payments"))
    text = browser.get("/events").text
    assert "orders" in text
    assert "ledger" not in text
    assert browser.get("/events?cluster=ledger").status_code == 422
    assert "There is no cluster" in browser.get("/events?cluster=ledger").text
    assert "ledger" in house.browser("bob", Binding("", Role.VIEWER, "*")).get("/events").text
    assert "No event matches" in house.browser("eve").get("/events").text


def test_what_concerns_no_single_cluster_is_for_those_who_may_read_everything(house: House) -> None:
    house.store.append("fleet", [NewEvent("e1", "fleet.noted", 1, {})], expected_version=0, origin=Origin("person:ada"))
    assert "fleet.noted" in house.browser("bob", Binding("", Role.VIEWER, "*")).get("/events").text
    assert "fleet.noted" not in house.browser("ada", Binding("", Role.VIEWER, "team:payments")).get("/events").text


def test_a_moment_that_is_none_is_told_at_the_form(house: House) -> None:
    answer = house.client.get("/events?since=tomorrow", headers={"Accept": "text/html"})
    assert answer.status_code == 422
    assert "is not a time" in answer.text
    assert house.client.get("/v1/events", params={"since": "tomorrow"}).status_code == 422


def a_log(count: int) -> MemoryEventStore:
    """A log of two clusters that take turns, one event a minute."""
    now = START
    store = MemoryEventStore()
    store._clock = lambda: now
    for n in range(count):
        stream = cluster_stream(ClusterUid("ab"[n % 2] * 8))
        store.append(
            stream,
            [NewEvent(f"e{n}", "cluster.noted" if n % 10 else "cluster.declared", 1, {})],
            expected_version=n // 2,
            origin=Origin("person:ada" if n % 2 else "converger"),
        )
        now += timedelta(minutes=1)
    return store


BOTH = (ClusterUid("a" * 8), ClusterUid("b" * 8))


@pytest.mark.parametrize("only", [None, BOTH], ids=["the whole log", "a few clusters"])
@pytest.mark.parametrize("forwards", [False, True], ids=["newest first", "oldest first"])
def test_pages_go_on_where_the_one_before_ended(forwards: bool, only: tuple[ClusterUid, ...] | None) -> None:
    store, seen, at = a_log(25), [], 0
    for _ in range(9):
        way = {"after": at} if forwards else {"before": at}
        found = browse(store, EventQuery(clusters=BOTH, only=only, limit=4, **way))  # type: ignore[arg-type]
        seen += [e.position for e in found.events]
        at = found.looked_to
        if found.is_all:
            break
    assert seen == (list(range(1, 26)) if forwards else list(range(25, 0, -1)))


def test_a_filter_that_finds_little_says_how_far_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controlplane.api.event_log.MOST_LOOKED_AT", 7)
    found = browse(a_log(25), EventQuery(clusters=BOTH, type="cluster.declared"))
    assert ([e.position for e in found.events], found.looked_to, found.is_all) == ([21], 19, False)
    on = browse(a_log(25), EventQuery(clusters=BOTH, type="cluster.declared", before=found.looked_to))
    assert ([e.position for e in on.events], on.looked_to) == ([], 12)


def test_an_empty_log_has_nothing_and_says_so() -> None:
    found = browse(MemoryEventStore(), EventQuery(clusters=BOTH))
    assert (list(found.events), found.head, found.is_all) == ([], 0, True)


def test_a_moment_is_found_by_halves() -> None:
    store = a_log(25)
    assert position_at(store, START - timedelta(seconds=1), head=25) == 0
    assert position_at(store, START, head=25) == 1
    assert position_at(store, START, head=25, inclusive=False) == 0
    assert position_at(store, START + timedelta(minutes=9, seconds=30), head=25) == 10
    assert position_at(store, START + timedelta(days=1), head=25) == 25


def test_anomalies_are_of_their_cluster(house: House) -> None:
    uid = house.view().uid
    told = [NewEvent("a1", "anomaly.found", 1, {})]
    house.store.append(anomalies_stream(uid), told, expected_version=0, origin=Origin("converger"))
    assert types(house, cluster="orders", type="anomaly.") == ["orders anomaly.found"]
    assert "anomaly.found" not in house.browser("eve", Binding("", Role.VIEWER, "team:search")).get("/events").text

"""Pages as a browser gets them: headers, errors, hostile names, and what they say of a cluster."""

import csv
import io

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role, Verb
from controlplane.api.read_models.brokers import broker_rows, chosen
from events import facts
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House, broker, three_brokers
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES, filled
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

ADMIN = Binding("", Role.ADMIN, "*")
HOSTILE = "<img src=x onerror=alert(1)>\"'{{7919*7907}}"
GETS = [p for m, p in PAGE_ROUTES if m == "GET" and p != "/live"]


@pytest.mark.parametrize("path", GETS)
def test_every_page_goes_out_under_a_strict_policy_and_is_kept_by_nobody(path: str) -> None:
    headers = house_with_orders().browser("ada", ADMIN).get(filled(path)).headers
    assert headers["cache-control"] == "no-store"
    assert "HX-Request" in headers["vary"]
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(
        policy.split("; ")
    )
    assert headers["x-content-type-options"] == "nosniff"


def test_an_empty_fleet_says_what_to_do_next() -> None:
    text = House().browser("ada", ADMIN).get("/").text
    assert "cp examples/orders.yaml" in text
    assert "kedge apply" in text


def test_an_empty_fleet_shows_no_commands_to_somebody_who_may_not_declare() -> None:
    text = House().browser("ada", Binding("", Role.VIEWER, "*")).get("/").text
    assert "kedge apply" not in text
    assert "administrator" in text


def test_a_replacement_that_waits_is_not_shown_as_the_roll_before_it() -> None:
    house = House()
    house.apply()
    house.join(*three_brokers())
    house.record(facts.RecycleStarted(1, (), (), ("brokers-d-0",), "1 node is not in the spec any more"))
    house.record(facts.RecycleCompleted(1))
    house.record(facts.InstanceLost("brokers-a-0.g1", "the cloud says it is gone"))
    text = house.browser("ada", ADMIN).get("/clusters/orders/rollout").text
    assert "Planned steps" in text
    assert "the VM of brokers-a-0 is gone" in text
    assert "not in the spec any more" not in text


@pytest.mark.parametrize("path", ["/clusters/nobody", "/nothing", "/clusters/orders/brokers/9", "/clusters/orders/x"])
def test_an_error_is_a_page_for_a_browser_and_a_problem_for_a_program(path: str) -> None:
    house = house_with_orders()
    shown = house.browser("ada", ADMIN).get(path)
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "To the fleet" in shown.text
    told = house.client.get(path)
    assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json")


def test_a_hostile_reason_is_text_on_every_page() -> None:
    house = house_with_orders()
    browser = house.browser("ada", ADMIN)
    browser.post("/clusters/orders/pause", data={"reason": HOSTILE})
    for path in GETS:
        answer = browser.get(filled(path))
        text = answer.text
        if path.endswith(".csv") and answer.status_code == 200:
            assert answer.headers["content-type"].startswith("text/csv"), "a download, which no browser draws"
            assert answer.headers["content-disposition"].startswith("attachment")
            continue
        assert "<img" not in text
        assert "onerror=alert(1)&gt;" in text or "onerror" not in text
    assert "&lt;img src=x" in browser.get("/clusters/orders").text


def test_a_hostile_search_is_text() -> None:
    browser = house_with_orders().browser("ada", ADMIN)
    for path in ("/", "/search", "/clusters/orders/brokers", "/clusters/orders/history"):
        text = browser.get(path, params={"q": HOSTILE}).text
        assert "<img" not in text
        assert str(7919 * 7907) not in text


def test_brokers_are_found_by_instance_id_and_named_with_it() -> None:
    house = house_with_orders()
    browser = house.browser("ada", ADMIN)
    found = browser.get("/clusters/orders/brokers?q=vm-brokers-b").text
    (row,) = [r for r in broker_rows(house.view(), None, house.converger.traffic(house.view().uid)) if r.id == 1001]
    for told in ("vm-brokers-b-0.g1", f">{row.address}</span>", f">{row.machine}</span>"):
        assert told in found
    assert "/clusters/orders/brokers/1001" in browser.get("/search?q=vm-brokers-b").text
    assert "vm-brokers-a" not in browser.get("/clusters/orders/brokers?q=vm-brokers-b").text


def test_an_instance_id_leads_to_the_console_of_its_cloud_where_that_has_a_page() -> None:
    page = "https://console.test/vm-brokers-a-0.g1"
    house = house_with_orders()
    assert page not in house.browser("ada", ADMIN).get("/clusters/orders/brokers").text
    house.console_page = lambda _, instance: page if instance.key == "brokers-a-0.g1" else ""
    browser = house.browser("ada", ADMIN)
    link = f'href="{page}" rel="noreferrer noopener" target="_blank">vm-brokers-a-0.g1</a>'
    assert browser.get("/clusters/orders/brokers").text.count(link) == 1
    assert browser.get("/clusters/orders/brokers/1000").text.count(link) == 1


def test_the_csv_is_the_table_and_no_cell_is_a_formula() -> None:
    house = House()
    house.apply()
    house.surge(broker())
    launched = facts.LaunchedInstance("brokers-a-0.g1", "=cmd()", "127.64.0.10")
    house.record(facts.SurgeCompleted("intent-1", (launched,), {}))
    answer = house.browser("ada", ADMIN).get("/clusters/orders/brokers.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="orders-brokers.csv"'
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["id"], row["cloud_id"], row["leaders"]) == ("1000", "'=cmd()", "")


def test_what_is_not_known_is_called_unknown_and_never_nought() -> None:
    house = house_with_orders()
    rows = broker_rows(house.view(), None, house.converger.traffic(house.view().uid))
    assert {(r.figures.leaders, r.figures.state, r.figures.disk_share) for r in rows} == {(None, "unknown", None)}
    assert "unknown" in house.browser("ada", ADMIN).get("/clusters/orders/brokers").text


def test_leaders_replicas_and_skew_are_counted_from_metadata() -> None:
    house = house_with_orders()
    snapshot = a_snapshot(*(a_partition(f"t-{n}") for n in range(3)))
    rows = broker_rows(house.view(), snapshot, house.converger.traffic(house.view().uid))
    assert [(r.id, r.figures.leaders, r.figures.replicas, r.figures.in_sync) for r in rows] == [
        (1000, 3, 3, 3),
        (1001, 0, 3, 3),
        (1002, 0, 3, 3),
    ]
    assert [r.figures.leader_skew for r in rows] == [2.0, -1.0, -1.0]
    assert [r.id for r in chosen(rows, text="", sort="leaders", down=True)] == [1000, 1002, 1001]


def test_two_declarations_are_compared_field_by_field_with_what_they_cost() -> None:
    house = house_with_orders()
    from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

    house.apply(OURS.replace("version: 4.1.1", "version: 4.2.0"))
    text = house.browser("ada", ADMIN).get("/clusters/orders/compare").text
    assert "spec.kafka.version" in text
    assert '<span class="was">4.1.1</span>' in text
    assert '<span class="is">4.2.0</span>' in text
    assert "static" in text


def test_a_page_offers_what_its_reader_may_do_and_nothing_else() -> None:
    house = house_with_orders()
    assert "/clusters/orders/pause" in house.browser("op", Binding("", Role.OPERATOR, "*")).get("/clusters/orders").text
    assert "/pause" not in house.browser("view", Binding("", Role.VIEWER, "*")).get("/clusters/orders").text
    assert PAGE_ROUTES["POST", "/clusters/{name}/pause"] == Verb.STEER


def test_a_diff_names_a_node_that_is_not_there_yet() -> None:
    house = House()
    house.apply()
    house.join(*three_brokers()[:1])
    text = house.browser("ada", ADMIN).get("/clusters/orders/diff").text
    assert "not there yet" in text
    assert "to be changed" in text

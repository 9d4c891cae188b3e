"""A topic is found by a part of its name, in the clusters one may read and in no other."""

from controlplane.portal.access.bindings import Binding
from controlplane.portal.access.roles import Role
from controlplane.portal.pages.topicsearch import TopicHit, topics_found
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.portal.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders
from tests.unit.events.spec_texts import ORDERS

ADMIN = Binding("", Role.ADMIN, "*")
ORDERS_TOPICS = a_snapshot(a_partition("payments-0"), a_partition("payments-1"), a_partition("late-payments-0"))
LEDGER_TOPICS = a_snapshot(a_partition("payments-0"), a_partition("secret-payroll-0"))
HELD = [("orders", ORDERS_TOPICS), ("ledger", LEDGER_TOPICS)]


def two_clusters() -> House:
    house = house_with_orders()
    house.apply(ORDERS.replace("name: orders", "name: ledger\n  owner: search"))
    for name, snapshot in HELD:
        house.snapshots[house.view(name).uid] = snapshot
    return house


def test_names_that_begin_with_the_text_come_before_those_that_hold_it() -> None:
    found = topics_found(HELD, " PAY ", most=50)
    assert found.hits == (
        TopicHit("payments", "ledger"),
        TopicHit("payments", "orders"),
        TopicHit("late-payments", "orders"),
        TopicHit("secret-payroll", "ledger"),
    )


def test_a_topic_of_many_partitions_is_found_once() -> None:
    assert topics_found([("orders", ORDERS_TOPICS)], "payments", most=50).count == 2


def test_the_first_are_shown_and_all_are_counted() -> None:
    many = a_snapshot(*(a_partition(f"t{n:03d}-0") for n in range(120)))
    found = topics_found([("orders", many)], "t", most=50)
    assert (len(found.hits), found.hits[-1].topic, found.count) == (50, "t049", 120)


def test_nothing_is_asked_for_with_an_empty_text() -> None:
    assert topics_found(HELD, "  ", most=50).count == 0


def test_a_topic_is_found_in_every_cluster_and_linked() -> None:
    text = two_clusters().browser("ada", ADMIN).get("/search?q=payments").text
    assert 'href="/clusters/orders/topics/payments"' in text
    assert 'href="/clusters/ledger/topics/payments"' in text
    assert '<h2 id="topics">Topics <span class="soft">3</span></h2>' in text


def test_topics_of_a_cluster_that_is_not_ones_own_are_neither_found_nor_counted() -> None:
    browser = two_clusters().browser("ada", Binding("", Role.VIEWER, "team:payments"))
    text = browser.get("/search?q=pay").text
    assert '<h2 id="topics">Topics <span class="soft">2</span></h2>' in text
    assert "ledger" not in text
    assert "payroll" not in text


def test_clusters_that_were_not_read_are_told_as_such() -> None:
    text = house_with_orders().browser("ada", ADMIN).get("/search?q=payments").text
    assert "Kafka of 1 cluster was not read by this server yet" in text

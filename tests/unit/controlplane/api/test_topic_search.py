"""A topic is found by a part of its name, in the clusters one may read and in no other."""

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders
from tests.unit.events.spec_texts import ORDERS

ADMIN = Binding("", Role.ADMIN, "*")
ORDERS_TOPICS = a_snapshot(a_partition("payments-0"), a_partition("payments-1"), a_partition("late-payments-0"))
LEDGER_TOPICS = a_snapshot(a_partition("payments-0"), a_partition("secret-payroll-0"))


def two_clusters() -> House:
    house = house_with_orders()
    house.apply(ORDERS.replace("name: orders", "name: ledger\n  owner: search"))
    house.snapshots[house.view("orders").uid] = ORDERS_TOPICS
    house.snapshots[house.view("ledger").uid] = LEDGER_TOPICS
    return house


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


def test_a_regular_expression_is_searched_and_a_slow_one_refused_in_words() -> None:
    browser = two_clusters().browser("ada", ADMIN)
    assert '<h2 id="topics">Topics <span class="soft">2</span></h2>' in browser.get("/search?q=/^payments$/").text
    assert "alternatives are not offered: search for each" in browser.get("/search?q=/pay|led/").text


def test_clusters_that_were_not_read_are_told_as_such() -> None:
    text = house_with_orders().browser("ada", ADMIN).get("/search?q=payments").text
    assert "Kafka of 1 cluster was not read yet" in text


def test_new_metadata_is_searched_at_once() -> None:
    house = two_clusters()
    browser = house.browser("ada", ADMIN)
    assert "refunds" not in browser.get("/search?q=refun").text
    house.snapshots[house.view("orders").uid] = a_snapshot(a_partition("refunds-0"))
    assert 'href="/clusters/orders/topics/refunds"' in browser.get("/search?q=refun").text
    assert 'href="/clusters/orders/topics/payments"' not in browser.get("/search?q=payments").text

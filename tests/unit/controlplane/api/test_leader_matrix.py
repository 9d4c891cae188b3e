"""Who follows whom, counted from one snapshot and drawn as a table."""

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.read_models.leader_matrix import SHADES, busiest, leader_matrix, of_pair
from planner.observed import PartitionSeen
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")


def counts(*partitions: PartitionSeen) -> dict[int, list[int]]:
    matrix = leader_matrix(a_snapshot(*partitions))
    return {row.broker: [c.count for c in row.cells] for row in matrix.rows}


def test_a_follower_is_counted_under_its_leader() -> None:
    found = counts(a_partition("a-0"), a_partition("a-1", (1000, 1001)), a_partition("a-2", (1002, 1000)))
    assert found == {1000: [0, 2, 1], 1001: [0, 0, 0], 1002: [1, 0, 0]}


def test_the_leader_is_who_leads_and_not_who_is_preferred() -> None:
    assert counts(a_partition("a-0", (1000, 1001), leader=1001)) == {1000: [0, 0, 0], 1001: [1, 0, 0], 1002: [0, 0, 0]}


def test_every_follower_is_in_exactly_one_cell() -> None:
    partitions = [a_partition(f"a-{n}", (1000 + n % 3, 1000 + (n + 1) % 3)) for n in range(30)]
    matrix = leader_matrix(a_snapshot(*partitions))
    assert sum(c.count for row in matrix.rows for c in row.cells) == sum(len(p.replicas) - 1 for p in partitions)
    assert sum(matrix.follows) == 30
    assert [row.leads for row in matrix.rows] == [10, 10, 10]


def test_a_partition_without_a_leader_is_told_apart() -> None:
    matrix = leader_matrix(a_snapshot(a_partition("a-0", leader=-1), a_partition("a-1")))
    assert (matrix.leaderless, matrix.rows[0].leads, matrix.most) == (1, 1, 1)


def test_a_partition_nobody_else_has_is_counted_as_alone() -> None:
    (first, *_) = leader_matrix(a_snapshot(a_partition("a-0", (1000,)), a_partition("a-1"))).rows
    assert (first.leads, first.alone) == (2, 1)


def test_a_broker_that_is_named_but_not_registered_has_a_row_without_a_zone() -> None:
    matrix = leader_matrix(a_snapshot(a_partition("a-0", (1000, 7))))
    assert matrix.brokers == (7, 1000, 1001, 1002)
    assert (matrix.rows[0].rack, matrix.rows[1].rack) == ("", "a")


def test_the_strongest_shade_is_the_most_and_one_partition_is_never_drawn_like_none() -> None:
    many = [a_partition(f"a-{n}", (1000, 1001)) for n in range(100)]
    cells = leader_matrix(a_snapshot(*many, a_partition("b-0", (1000, 1002)))).rows[0].cells
    assert [c.shade for c in cells] == [0, SHADES, 1]
    assert leader_matrix(a_snapshot()).rows[0].cells[1].shade == 0


def test_the_pairs_that_stand_out_come_first() -> None:
    matrix = leader_matrix(a_snapshot(a_partition("a-0"), a_partition("a-1", (1000, 1002))))
    assert busiest(matrix, 2) == [(1000, 1002, 2), (1000, 1001, 1)]


def test_the_page_is_a_table_with_headers_and_says_the_pairs_in_words() -> None:
    house = house_with_orders()
    house.snapshots[house.view().uid] = a_snapshot(a_partition("a-0"), a_partition("a-1", leader=-1))
    text = house.browser("ada", VIEWER).get("/clusters/orders/matrix").text
    assert '<th scope="row"><a class="to" href="/clusters/orders/brokers/1000">1000</a></th>' in text
    assert '<td class="num heat-5">1</td>' in text
    assert "1 partition led by broker 1000 has a replica on broker 1001." in text
    assert "1 partition without a leader is in no row" in text


def test_a_matrix_that_was_not_read_is_not_drawn_as_empty() -> None:
    text = house_with_orders().browser("ada", VIEWER).get("/clusters/orders/matrix").text
    assert "Kafka was not read yet" in text
    assert "<table" not in text


def test_the_partitions_of_a_cell_are_as_many_as_it_says() -> None:
    snapshot = a_snapshot(*(a_partition(f"a-{n}", (1000 + n % 3, 1000 + (n + 1) % 3)) for n in range(30)))
    matrix = leader_matrix(snapshot)
    for row in matrix.rows:
        for follower, cell in zip(matrix.brokers, row.cells, strict=True):
            assert len(of_pair(snapshot, row.broker, follower)) == cell.count
    assert [str(p.name) for p in of_pair(snapshot, 1000, 1001)][:2] == ["a-0", "a-3"]

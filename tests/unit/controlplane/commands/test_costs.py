"""What a spec costs, what a change changes of it, what its roll takes: unknown is named and never 0."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.previews.costs import Bill, PlanCost, drain_crossing, monthly_bill, plan_cost, surge_cost
from events.spec.model import KafkaClusterDocument
from planner.observed import BrokerSeen, KafkaSnapshot, PartitionSeen, TopicPartition
from planner.rollout.diff import Change
from planner.rollout.steps import RolloutPhase, RolloutPlan, RolloutStep
from providers.base import Place
from providers.price_list import PriceList
from tests.unit.controlplane.api.portal_house import broker
from tests.unit.controlplane.api.test_planpreview import AT, snapshot
from tests.unit.controlplane.price_pages import READ, aws_page, price_list
from tests.unit.events.spec_texts import document

GIB = 1024**3
PLACE = "      place: {cloud: aws, region: eu-west-1, zones: [eu-west-1a, eu-west-1b, eu-west-1c]}"
A, B = "brokers-eu-west-1a-0", "brokers-eu-west-1b-0"
TODAY = date(2026, 2, 1)


def on_aws(edits: dict[int, str] | None = None) -> KafkaClusterDocument:
    """3 controllers m7g.large with 10 GiB, 3 brokers m7g.large with 100 GiB."""
    return document({16: PLACE, 20: "      machine: small", 22: PLACE, **(edits or {})})


def running(declared: KafkaClusterDocument) -> ClusterView:
    """Brokers 1000, 1001, 1002 in eu-west-1a, b, c, as declared."""
    planned = [broker(f"brokers-eu-west-1{zone}-0", 1000 + n) for n, zone in enumerate("abc")]
    instances = {p.key: InstanceView(p, Phase.JOINED, AT, "i", AT) for p in planned}
    return replace(empty_view("u"), document=declared, instances=instances)


def placed(view: ClusterView) -> ClusterView:
    """The same, each VM where its pool was at its intent."""
    here = Place("aws", "eu-west-1")
    return replace(view, instances={k: replace(i, place=here) for k, i in view.instances.items()})


def steps(*given: tuple[str, Change, float], service: str = "broker") -> RolloutPlan:
    """Serial steps of nodes, as in `brokers-eu-west-1a-0`."""
    made = tuple(
        RolloutStep(change, node, f"eu-west-1{node[-3]}", service, "", (), 0, seconds)
        for node, change, seconds in given
    )
    return RolloutPlan((RolloutPhase("p", False, made),), ())


def seen(*partitions: tuple[int, tuple[int, ...], int]) -> KafkaSnapshot:
    """Partitions as (leader, replicas, GiB); brokers 1000, 1001, 1002 in eu-west-1a, b, c."""
    brokers = {1000 + n: BrokerSeen(1000 + n, f"eu-west-1{z}", False, "h", 9092) for n, z in enumerate("abc")}
    told = tuple(
        PartitionSeen(TopicPartition("t", n), leader, replicas, replicas, 2, size_bytes=gib * GIB)
        for n, (leader, replicas, gib) in enumerate(partitions)
    )
    return replace(snapshot(), brokers=brokers, partitions=told)


def cost_of(old: KafkaClusterDocument, new: KafkaClusterDocument, prices: PriceList | None = None) -> PlanCost:
    cost = plan_cost(running(old), new, steps(), snapshot=None, price_list=prices or price_list(), today=TODAY)
    assert cost is not None
    return cost


def test_a_month_is_machines_for_730_hours_and_disks_by_size() -> None:
    # 6 machines x 0.10 x 730, and 330 GiB x 0.08
    assert monthly_bill(on_aws(), price_list()).totals == {"USD": Decimal("438") + Decimal("26.4")}
    assert monthly_bill(on_aws(), price_list()).unknown == ()


def test_a_price_a_month_goes_before_one_an_hour() -> None:
    page = aws_page()
    month = {"value": "60", "source": "page", "currency": "USD"}
    page["aws"]["eu-west-1"]["machines"]["m7g.large"]["price_per_month"] = month
    assert monthly_bill(on_aws(), price_list(page)).totals == {"USD": Decimal("360") + Decimal("26.4")}


def test_a_part_without_a_price_is_named_and_in_no_sum() -> None:
    bill = monthly_bill(on_aws(), price_list(aws_page(disks={})))
    assert bill.totals == {"USD": Decimal("438")}
    assert bill.unknown == (
        "controllers: 3 x 10 GiB persistent (aws eu-west-1)",
        "brokers: 3 x 100 GiB persistent (aws eu-west-1)",
    )


def test_a_pre_emptible_vm_has_no_price_that_anybody_knows() -> None:
    """The list price of the type is that of a VM that is kept: it would be a guess here."""
    cheap = on_aws({20: "      machine: medium\n      spot: true"})
    bill = monthly_bill(cheap, price_list())
    named = [part for part in bill.unknown if part.startswith("brokers: 3 x ")]
    assert len(named) == 1
    assert "pre-emptible" in named[0]
    surge = surge_cost(cheap, steps((A, Change.REPLACE, 3600.0)), price_list())
    assert surge is not None
    assert "brokers: VMs beside the old ones" in surge.bill.unknown


def test_without_any_price_there_is_no_sum_rather_than_0() -> None:
    bill = monthly_bill(on_aws(), PriceList())
    assert bill.totals == {}
    assert len(bill.unknown) == 6
    assert bill.without_price == {"machines": 6, "root disks": 6, "data disks": 6}


def test_money_of_two_currencies_is_not_added_up() -> None:
    page = aws_page()
    page["aws"]["eu-west-1"]["disks"]["persistent"]["price_per_gib_month"]["currency"] = "EUR"
    assert monthly_bill(on_aws(), price_list(page)).totals == {"USD": Decimal("438"), "EUR": Decimal("26.4")}


def test_the_difference_of_a_change_is_told() -> None:
    cost = cost_of(on_aws(), on_aws({19: "      size: 6"}))
    assert cost.difference == {"USD": Decimal("219") + Decimal("24")}


def test_the_difference_is_unknown_when_an_unknown_part_changes() -> None:
    prices = price_list(aws_page(disks={}))
    assert cost_of(on_aws(), on_aws({19: "      size: 6"}), prices).difference is None
    assert cost_of(on_aws(), on_aws({7: "    version: 4.2.0"}), prices).difference == {"USD": Decimal(0)}


def test_a_new_cluster_has_no_before() -> None:
    cost = plan_cost(empty_view("u"), on_aws(), steps(), snapshot=None, price_list=price_list(), today=TODAY)
    assert cost is not None
    assert (cost.before, cost.difference, cost.surge, cost.crossing) == (None, None, None, None)


def test_a_cluster_of_the_local_cloud_costs_nobody_anything() -> None:
    assert (
        plan_cost(running(document()), document(), steps(), snapshot=None, price_list=price_list(), today=TODAY) is None
    )


def test_vms_that_stand_twice_are_paid_for_the_time_the_plan_says() -> None:
    plan = steps((A, Change.REPLACE, 3600.0), (B, Change.REPLACE, 1800.0))
    surge = surge_cost(on_aws(), plan, price_list())
    assert surge is not None
    assert surge.vm_hours == Decimal("1.5")
    disks = Decimal("1.5") * 100 / 730 * Decimal("0.08")
    assert float(surge.bill.totals["USD"]) == pytest.approx(float(Decimal("0.15") + disks))


def test_a_disk_that_passes_to_the_next_vm_is_not_paid_twice() -> None:
    plan = steps(("controllers-eu-west-1a-0", Change.REPLACE, 3600.0), service="controller")
    surge = surge_cost(on_aws(), plan, price_list())
    assert surge is not None
    beside = "VMs beside the old ones", "root disks beside the old ones"
    assert [part.what for part in surge.bill.parts] == [f"controllers: {what}" for what in beside]
    handed = surge_cost(
        on_aws({24: "    strategy: reattach\n    maxUnavailable: 1"}), steps((A, Change.REPLACE, 3600.0)), price_list()
    )
    assert handed is not None
    assert [part.what for part in handed.bill.parts] == [f"brokers: {what}" for what in beside]


@pytest.mark.parametrize("change", [Change.CREATE, Change.RESTART, Change.REMOVE])
def test_only_a_replaced_node_has_two_vms(change: Change) -> None:
    assert surge_cost(on_aws(), steps((A, change, 60.0)), price_list()) is None


def test_a_pool_whose_name_begins_another_pools_nodes_is_not_taken_for_it() -> None:
    """Nodes of a pool `brokers-eu-west-1a` in that zone begin like those of `brokers`."""
    plan = steps(("brokers-eu-west-1a-eu-west-1a-0", Change.REPLACE, 3600.0))
    assert surge_cost(on_aws(), plan, price_list()) is None


def test_what_is_copied_from_a_leader_in_another_zone_crosses() -> None:
    plan = steps((A, Change.REPLACE, 60.0))
    looked = seen((1000, (1000, 1001), 5), (1001, (1001, 1000), 7), (1001, (1001, 1002), 11))
    crossing = drain_crossing(running(on_aws()), on_aws(), plan, looked, price_list())
    assert crossing is not None
    assert (crossing.bytes, crossing.unknown) == (7 * GIB, ())
    assert crossing.bill.totals == {"USD": Decimal("0.14")}


def test_what_is_copied_between_racks_of_one_zone_does_not_cross() -> None:
    plan = steps((A, Change.REPLACE, 60.0))
    looked = seen((1001, (1001, 1000), 7))
    racks = {1000: "eu-west-1a-p1", 1001: "eu-west-1a-p2"}
    near = replace(looked, brokers={i: replace(b, rack=racks.get(i, b.rack)) for i, b in looked.brokers.items()})
    crossing = drain_crossing(running(on_aws()), on_aws(), plan, near, price_list())
    assert crossing is not None
    assert (crossing.bytes, crossing.unknown) == (0, ())


def test_a_partition_without_a_leader_counts_as_crossing() -> None:
    plan = steps((A, Change.REPLACE, 60.0))
    crossing = drain_crossing(running(on_aws()), on_aws(), plan, seen((-1, (1000, 1001), 3)), price_list())
    assert crossing is not None
    assert crossing.bytes == 3 * GIB


def test_where_a_removed_brokers_replicas_go_is_unknown() -> None:
    plan = steps((A, Change.REMOVE, 60.0))
    crossing = drain_crossing(running(on_aws()), on_aws(), plan, seen((1001, (1001, 1000), 7)), price_list())
    assert crossing is not None
    assert (crossing.bytes, crossing.unknown, crossing.bill) == (0, (A,), Bill(()))


def test_without_metadata_the_bytes_are_unknown_rather_than_0() -> None:
    plan = steps((A, Change.REPLACE, 60.0))
    crossing = drain_crossing(running(on_aws()), on_aws(), plan, None, price_list())
    assert crossing is not None
    assert (crossing.bytes, crossing.unknown) == (None, (A,))


def test_bytes_without_a_price_are_told_without_one() -> None:
    plan = steps((A, Change.REPLACE, 60.0))
    looked = seen((1001, (1001, 1000), 7))
    crossing = drain_crossing(running(on_aws()), on_aws(), plan, looked, price_list(aws_page(traffic={})))
    assert crossing is not None
    assert crossing.bytes == 7 * GIB
    assert crossing.bill.unknown == ("brokers: bytes from zone to zone",)


def test_disks_that_pass_on_copy_nothing() -> None:
    plan = steps((A, Change.REPLACE, 60.0))
    handed = on_aws({24: "    strategy: reattach\n    maxUnavailable: 1"})
    assert drain_crossing(running(handed), handed, plan, seen((1001, (1001, 1000), 7)), price_list()) is None


@pytest.mark.parametrize(("today", "old"), [(date(2026, 4, 1), False), (date(2026, 4, 2), True)])
def test_a_price_that_was_read_more_than_90_days_ago_is_flagged(today: date, old: bool) -> None:
    cost = plan_cost(running(on_aws()), on_aws(), steps(), snapshot=None, price_list=price_list(), today=today)
    assert cost is not None
    assert cost.old == ((f"a price page (read {READ})",) if old else ())


def test_all_that_a_moving_broker_holds_goes_from_place_to_place_at_an_unknown_price() -> None:
    """Also with `reattach`, and though the zones there have the same names."""
    here = PLACE.replace("region:", "route: backbone, region:")
    there = here.replace("region:", "account: second, region:")
    for strategy in ("migrate", "reattach"):
        moved = on_aws({16: here, 22: there, 24: f"    strategy: {strategy}\n    maxUnavailable: 1"})
        looked = seen((1000, (1000, 1001), 5), (1001, (1001, 1000), 7))
        crossing = drain_crossing(
            placed(running(on_aws())), moved, steps((A, Change.REPLACE, 60.0)), looked, price_list()
        )
        assert crossing is not None
        assert (crossing.bytes, crossing.unknown) == (12 * GIB, ())
        assert crossing.bill.unknown == ("brokers: bytes from place to place",)


def test_what_leaves_a_region_is_priced_where_its_egress_is_known() -> None:
    here = PLACE.replace("region:", "route: backbone, region:")
    there = here.replace("eu-west-1", "eu-central-1")
    moved = on_aws({16: here, 22: there, 24: "    strategy: migrate\n    maxUnavailable: 1"})
    looked = seen((1000, (1000, 1001), 5), (1001, (1001, 1000), 7))
    known = price_list(aws_page(traffic={"egress_per_gib": {"value": "0.02", "source": "page", "currency": "USD"}}))
    for prices, totals, unknown in (
        (known, {"USD": Decimal("0.24")}, ()),
        (price_list(), {}, ("brokers: bytes from place to place",)),
    ):
        plan = steps((A, Change.REPLACE, 60.0))
        crossing = drain_crossing(placed(running(on_aws())), moved, plan, looked, prices)
        assert crossing is not None
        assert (crossing.bytes, crossing.bill.totals, crossing.bill.unknown) == (12 * GIB, totals, unknown)

"""What a month is made of beside machines: root disks, disks by size and type, addresses; units, what is unknown."""

from decimal import Decimal
from typing import Any

import pytest

from controlplane.api.costs import bill_out
from controlplane.api.presenters.cost_text import bill_words
from controlplane.commands.previews.costs import monthly_bill, surge_cost
from events.spec.model import KafkaClusterDocument
from events.spec.network import NetworkSpec, OverlaySpec
from planner.rollout.diff import Change
from providers.overrides import Overrides, as_text, laid_over
from providers.price_list import PriceList
from tests.unit.controlplane.commands.test_costs import A, on_aws, steps
from tests.unit.controlplane.price_pages import READ, aws_page, price_list


def usd(value: str) -> dict[str, str]:
    return {"value": value, "source": "page", "currency": "USD"}


def gib(value: str) -> dict[str, dict[str, str]]:
    return {"gib": {"value": value, "source": "page"}}


def elsewhere(cloud: str, machine: str, **parts: Any) -> PriceList:
    region: dict[str, Any] = {"sources": {"page": {"what": "a price page", "read": READ}}}
    region["machines"] = {machine: {"price_per_month": usd("50")}}
    return PriceList(Overrides.model_validate({cloud: {"eu-west-1": region | parts}}))


def moved(cloud: str, machine: str, **pool: Any) -> KafkaClusterDocument:
    """The same cluster on another cloud, 3 controllers with 10 GiB and 3 brokers with 100."""
    document = on_aws()
    place = document.spec.pools[0].place.model_copy(update={"cloud": cloud})
    pools = tuple(
        p.model_copy(update={"place": place, "machine": machine, **(pool if p.is_broker else {})})
        for p in document.spec.pools
    )
    return document.model_copy(update={"spec": document.spec.model_copy(update={"pools": pools})})


def words(document: KafkaClusterDocument, prices: PriceList) -> str:
    return bill_words(bill_out(monthly_bill(document, prices)))


def test_root_disks_count_by_the_price_of_their_type() -> None:
    bill = monthly_bill(on_aws(), price_list(aws_page(root_disk=gib("8"))))
    # 6 machines x 0.10 x 730, 330 GiB x 0.08, 6 x 8 GiB x 0.08
    assert bill.totals == {"USD": Decimal("438") + Decimal("26.4") + Decimal("3.84")}
    assert {one.kind: one.bill.totals["USD"] for one in bill.kinds} == {
        "machines": Decimal("438"),
        "root disks": Decimal("3.84"),
        "data disks": Decimal("26.4"),
    }
    assert {one.kind: one.count for one in bill.kinds} == {"machines": 6, "root disks": 6, "data disks": 6}


def test_a_root_disk_may_have_a_price_of_its_own() -> None:
    page = aws_page(root_disk={**gib("8"), "price_per_gib_month": usd("0.5")})
    assert monthly_bill(on_aws(), price_list(page)).totals == {
        "USD": Decimal("464.4") + Decimal(6 * 8) * Decimal("0.5")
    }


def test_root_disks_of_a_size_nobody_read_make_it_the_least_it_costs() -> None:
    told = words(on_aws(), price_list(aws_page(root_disk={})))
    assert told == "at least 464.40 USD, without price: root disks (6)"


@pytest.mark.parametrize(
    ("cloud", "machine"), [("hetzner", "ccx13"), ("digitalocean", "s-2vcpu-4gb"), ("upcloud", "2xCPU-4GB")]
)
def test_a_root_disk_in_the_machines_price_is_not_paid_twice_and_not_unknown(cloud: str, machine: str) -> None:
    prices = elsewhere(cloud, machine, disks={"persistent": {"price_per_gib_month": usd("0.05")}})
    bill = monthly_bill(moved(cloud, machine), prices)
    assert bill.totals == {"USD": Decimal(300) + Decimal(330) * Decimal("0.05")}
    assert bill.unknown == ()


SIZES = {"128": usd("20"), "32": usd("5"), "1024": usd("130")}


def test_disks_that_are_sold_by_size_cost_what_the_smallest_that_holds_them_costs() -> None:
    prices = elsewhere(
        "azure", "Standard_D2s_v5", disks={"persistent": {"price_per_month_up_to": SIZES}}, root_disk=gib("30")
    )
    bill = monthly_bill(moved("azure", "Standard_D2s_v5"), prices)
    # 6 machines; root disks of 30 GiB are of 32; controllers' of 10 GiB too, brokers' of 100 GiB of 128
    assert bill.totals == {"USD": Decimal(300) + 6 * Decimal(5) + 3 * Decimal(5) + 3 * Decimal(20)}
    assert bill.unknown == ()


def test_a_disk_larger_than_any_that_is_sold_has_no_price() -> None:
    document = moved("azure", "Standard_D2s_v5")
    large = moved("azure", "Standard_D2s_v5", disk=document.spec.pools[1].disk.model_copy(update={"size_gib": 2000}))
    prices = elsewhere(
        "azure", "Standard_D2s_v5", disks={"persistent": {"price_per_month_up_to": SIZES}}, root_disk=gib("30")
    )
    assert words(large, prices) == "at least 345.00 USD, without price: data disks (3)"


def _with_disk(**changes: Any) -> KafkaClusterDocument:
    disk = on_aws().spec.pools[1].disk.model_copy(update=changes)
    return moved("aws", "small", disk=disk)


def test_a_disk_of_another_type_has_not_the_price_of_the_usual_one() -> None:
    """It did: an io2 of 100 GiB was told to cost what a gp3 costs."""
    told = monthly_bill(_with_disk(type="io2"), price_list())
    assert told.without_price == {"data disks": 3}
    assert told.unknown == ("brokers: 3 x 100 GiB persistent io2 (aws eu-west-1)",)
    assert monthly_bill(_with_disk(type="gp3"), price_list()).unknown == ()


def test_speed_that_is_bought_beside_the_size_is_a_part_without_price() -> None:
    told = monthly_bill(_with_disk(type="gp3", iops=6000), price_list())
    assert told.totals == monthly_bill(on_aws(), price_list()).totals
    assert told.without_price == {"disks' IOPS and throughput": 3}
    assert monthly_bill(_with_disk(throughput_mib_per_s=500), price_list()).without_price == told.without_price


def test_several_disks_a_broker_count_each() -> None:
    told = monthly_bill(_with_disk(count=2), price_list())
    assert told.totals == {"USD": Decimal("464.4") + Decimal("24")}
    assert {one.kind: one.count for one in told.kinds}["data disks"] == 9


def test_addresses_a_pool_asks_for_are_a_part_with_a_price_or_without() -> None:
    asking = moved("hetzner", "ccx13", ipv6=True)
    disks = {"persistent": {"price_per_gib_month": usd("0")}}
    assert words(asking, elsewhere("hetzner", "ccx13", disks=disks)) == (
        "at least 300.00 USD, without price: IPv6 addresses (3)"
    )
    priced = elsewhere("hetzner", "ccx13", disks=disks, addresses={"ipv6_per_month": usd("0.5")})
    assert words(asking, priced) == "301.50 USD"
    assert words(moved("hetzner", "ccx13"), elsewhere("hetzner", "ccx13", disks=disks)) == "300.00 USD"


def test_a_public_address_a_pool_asks_for_is_a_part_with_a_price_or_without() -> None:
    asking = moved("hetzner", "ccx13", public_address=True)
    disks = {"persistent": {"price_per_gib_month": usd("0")}}
    assert words(asking, elsewhere("hetzner", "ccx13", disks=disks)) == (
        "at least 300.00 USD, without price: public IPv4 addresses (3)"
    )
    priced = elsewhere("hetzner", "ccx13", disks=disks, addresses={"public_ipv4_per_month": usd("0.6")})
    assert words(asking, priced) == "301.80 USD"


def test_bytes_through_an_overlay_of_two_places_are_parts_without_a_price() -> None:
    disks = {"persistent": {"price_per_gib_month": usd("0")}}
    prices = elsewhere("hetzner", "ccx13", disks=disks, traffic={"egress_per_gib": usd("0.01")})
    here = moved("hetzner", "ccx13")
    tunnels = {"network": NetworkSpec(overlay=OverlaySpec(type="wireguard"))}
    one = here.model_copy(update={"spec": here.spec.model_copy(update=tunnels)})
    assert words(one, prices) == "300.00 USD", "within a place"
    first, *others = one.spec.pools
    away = first.model_copy(update={"place": first.place.model_copy(update={"cloud": "local", "region": "local-1"})})
    two = one.model_copy(update={"spec": one.spec.model_copy(update={"pools": (away, *others)})})
    assert words(two, prices) == "at least 150.00 USD, without price: places with bytes to others (2)"


def test_a_root_disk_beside_the_old_one_is_paid_by_the_hour_of_a_month_of_730() -> None:
    surge = surge_cost(on_aws(), steps((A, Change.REPLACE, 3600.0)), price_list(aws_page(root_disk=gib("8"))))
    assert surge is not None
    (root,) = (part for part in surge.bill.parts if "root disks" in part.what)
    assert root.amount == Decimal(1) / 730 * 8 * Decimal("0.08")


def test_what_was_read_anew_leaves_the_other_figures_of_root_disks_and_addresses_as_they_were() -> None:
    old = Overrides.model_validate(aws_page(root_disk=gib("8"), addresses={"ipv6_per_month": usd("0.5")}))
    fresh = Overrides.model_validate(aws_page(root_disk={}, addresses={})).region("aws", "eu-west-1")
    laid = laid_over(old.region("aws", "eu-west-1"), fresh)
    assert laid.root_disk.gib is not None
    assert laid.addresses.ipv6_per_month is not None


def test_the_file_says_nothing_of_parts_nobody_read() -> None:
    text = as_text(Overrides.model_validate(aws_page(root_disk={})))
    assert not {"root_disk", "addresses", "price_per_month_up_to"} & {*text.replace(":", " ").split()}
    sized = aws_page(disks={"persistent": {"price_per_month_up_to": SIZES}})
    assert "price_per_month_up_to" in as_text(Overrides.model_validate(sized))

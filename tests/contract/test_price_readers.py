"""Types and prices through each vendor's own SDK; what a cloud does not tell is left out."""

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import googleapiclient.discovery_cache
import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES, InstanceType, InstanceTypeBackend

from providers.base import Place
from providers.catalog_file import sold_by
from providers.errors import AuthFailed, CloudUnavailable, NotPermitted, PlaceUnknown
from providers.offers import Offers, offers
from providers.overrides import FigureIn, RegionIn
from providers.price_reader import can_read_prices, read_prices
from tests.fakes.clouds import aws_hands, azure_hands, digitalocean_hands, google_hands, hetzner_hands, upcloud_hands
from tests.fakes.clouds.aws import OTHER_ACCOUNT, MotoCloud, moto_cloud
from tests.fakes.clouds.digitalocean import TOKEN as DIGITALOCEAN_TOKEN, DigitaloceanFake, digitalocean_cloud
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hetzner import OTHER_TOKEN, TOKEN as HETZNER_TOKEN, FakeHetzner, fake_hetzner
from tests.fakes.clouds.more_price_lists import GOOGLE_SKUS, sells_azure, sells_google, sells_upcloud
from tests.fakes.clouds.price_lists import sells_aws, sells_digitalocean, sells_hetzner

TODAY = date(2026, 5, 1)
A_FEW = ("m7g", "r6i", "m6gd", "m1", "t1", "p3", "g4dn")
MORE_THAN_AN_ANSWER = (*A_FEW, "m6i", "m6a", "c6i", "c6a", "r6a", "m5", "c5", "r5", "c7i", "r7i", "m7i", "m5d", "c5d")


@pytest.fixture
def hetzner(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHetzner]:
    monkeypatch.setenv("HCLOUD_TOKEN", HETZNER_TOKEN)
    with fake_hetzner() as fake:
        yield fake


@pytest.fixture
def digitalocean(monkeypatch: pytest.MonkeyPatch) -> Iterator[DigitaloceanFake]:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", DIGITALOCEAN_TOKEN)
    with digitalocean_cloud() as fake:
        yield fake


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[MotoCloud]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
    sells_families(monkeypatch, A_FEW)
    with moto_cloud() as cloud:
        yield cloud


def sells_families(monkeypatch: pytest.MonkeyPatch, families: tuple[str, ...]) -> None:
    """moto takes seconds for a hundred types, and has 1395."""
    every = [InstanceType(name) for name in INSTANCE_TYPES if name.partition(".")[0] in families]
    monkeypatch.setattr(InstanceTypeBackend, "instance_types", every)


def read(settings: Path, place: Place) -> Offers:
    told = read_prices(settings, place, today=TODAY)
    return offers(sold_by(place.cloud), place.region, told)


def monthly(found: Offers, name: str) -> Decimal | None:
    machine = found.machine(name)
    assert machine is not None
    return machine.monthly.value if machine.monthly else None


def test_hetzner_tells_net_prices_and_the_dearest_location_of_the_zone_counts(
    hetzner: FakeHetzner, tmp_path: Path
) -> None:
    sells_hetzner(hetzner, dearer="hel1")
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    found = read(settings, hetzner_hands.PLACE)
    small = found.machine("small")
    assert small is not None
    assert small.price_per_hour is not None
    assert (small.price_per_hour.value, small.price_per_hour.currency) == (Decimal("0.055"), "EUR")
    assert small.price_per_hour.read == TODAY
    assert monthly(found, "small") == Decimal(33)
    volume = found.disks["persistent"].price_per_gib_month
    assert volume is not None
    assert volume.value == Decimal("0.05")
    assert monthly(read(settings, hetzner_hands.SECOND_PLACE), "small") == Decimal(30)


def test_hetzner_tells_the_prices_of_addresses_and_root_disks_are_in_the_type(
    hetzner: FakeHetzner, tmp_path: Path
) -> None:
    sells_hetzner(hetzner, dearer="hel1")
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    found = read(settings, hetzner_hands.PLACE)
    assert found.ipv6_per_month is not None
    assert (found.ipv6_per_month.value, found.ipv6_per_month.currency) == (Decimal("0.02"), "EUR")
    assert found.public_ipv4_per_month is not None
    assert (found.public_ipv4_per_month.value, found.public_ipv4_per_month.currency) == (Decimal("0.6"), "EUR")
    assert found.root_disk.in_machine


def test_a_type_hetzner_does_not_sell_has_no_price(hetzner: FakeHetzner, tmp_path: Path) -> None:
    sells_hetzner(hetzner)
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    assert monthly(read(settings, hetzner_hands.PLACE), "ccx43") is None


def test_a_token_of_another_project_is_refused_before_any_price_is_read(
    hetzner: FakeHetzner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sells_hetzner(hetzner)
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    monkeypatch.setenv("HCLOUD_TOKEN", OTHER_TOKEN)
    with pytest.raises(AuthFailed):
        read_prices(settings, hetzner_hands.PLACE, today=TODAY)
    assert hetzner.calls["GET /pricing"] == 0


def test_a_cloud_that_is_down_is_told_as_ever(hetzner: FakeHetzner, tmp_path: Path) -> None:
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    hetzner.faults.append(Fault("*", "server_error", 500, times=99))
    with pytest.raises(CloudUnavailable):
        read_prices(settings, hetzner_hands.PLACE, today=TODAY)


@pytest.mark.parametrize("pages", [1, 2])
def test_digitalocean_tells_dollars_of_the_sizes_of_a_region(
    digitalocean: DigitaloceanFake, tmp_path: Path, pages: int
) -> None:
    sells_digitalocean(digitalocean, pages=pages)
    settings = digitalocean_hands.write_settings(tmp_path / "digitalocean.yaml", digitalocean)
    found = read(settings, digitalocean_hands.PLACE)
    small = found.machine("g-2vcpu-8gb")
    assert small is not None
    assert small.price_per_hour is not None
    assert small.own_disk_gb is not None
    assert (small.price_per_hour.value, small.price_per_hour.currency) == (Decimal("0.09375"), "USD")
    assert small.own_disk_gb.value == 25
    assert monthly(found, "g-2vcpu-8gb") == Decimal(63)
    assert monthly(found, "g-4vcpu-16gb") is None
    assert found.disks["persistent"].price_per_gib_month is None
    assert digitalocean.calls["GET /v2/sizes"] == pages


def test_a_region_where_no_size_is_made_has_no_prices(digitalocean: DigitaloceanFake, tmp_path: Path) -> None:
    sells_digitalocean(digitalocean)
    settings = digitalocean_hands.write_settings(tmp_path / "digitalocean.yaml", digitalocean)
    told = read_prices(settings, digitalocean_hands.SECOND_PLACE, today=TODAY)
    assert (told.machines, told.disks) == ({}, {})


def test_aws_tells_types_and_the_price_on_demand(aws: MotoCloud, tmp_path: Path) -> None:
    asked = sells_aws(aws)
    found = read(aws_hands.write_settings(tmp_path / "aws.yaml", aws), aws_hands.PLACE)
    small = found.machine("m7g.large")
    assert small is not None
    assert small.price_per_hour is not None
    assert small.nic_baseline_gbps is not None
    assert (small.price_per_hour.value, small.price_per_hour.currency) == (Decimal("0.1"), "USD")
    assert (small.nic_baseline_gbps.value, small.nic_baseline_gbps.read) == (Decimal("0.937"), TODAY)
    volume = found.disks["persistent"].price_per_gib_month
    assert volume is not None
    assert volume.value == Decimal("0.08")
    assert found.root_disk.gib is not None
    assert found.root_disk.monthly is not None
    assert found.root_disk.monthly.value == found.root_disk.gib.value * Decimal("0.08")
    assert {one["regionCode"] for one in asked} == {"eu-west-1"}
    machines = [one for one in asked if "operatingSystem" in one]
    assert machines
    assert all(one["marketoption"] == "OnDemand" for one in machines)
    assert all("instanceType" not in one for one in machines), "one question for all types, not one for each"


def test_two_prices_at_once_are_none(aws: MotoCloud, tmp_path: Path) -> None:
    """Which of them is ours nobody can tell."""
    sells_aws(aws)
    found = read(aws_hands.write_settings(tmp_path / "aws.yaml", aws), aws_hands.PLACE)
    assert monthly(found, "m7g.xlarge") is None


def test_what_may_not_be_asked_is_told_as_such(aws: MotoCloud, tmp_path: Path) -> None:
    sells_aws(aws, refuses=True)
    with pytest.raises(NotPermitted, match="pricing:GetProducts"):
        read_prices(aws_hands.write_settings(tmp_path / "aws.yaml", aws), aws_hands.PLACE, today=TODAY)


def test_prices_are_not_read_with_another_accounts_credentials(aws: MotoCloud, tmp_path: Path) -> None:
    asked = sells_aws(aws)
    settings = aws_hands.write_settings(tmp_path / "aws.yaml", aws, account_id=OTHER_ACCOUNT)
    with pytest.raises(AuthFailed):
        read_prices(settings, aws_hands.PLACE, today=TODAY)
    assert asked == []


def test_azure_tells_the_list_price_of_linux_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with azure_hands.azure_harness(tmp_path, monkeypatch) as opened:
        asked = sells_azure(opened.azure)
        found = read(tmp_path / "azure.yaml", azure_hands.PLACE)
    small = found.machine("Standard_D2s_v5")
    assert small is not None
    assert small.price_per_hour is not None
    assert (small.price_per_hour.value, small.price_per_hour.currency) == (Decimal("0.096"), "USD")
    assert monthly(found, "Standard_D4s_v5") is None, "two prices at once are none"
    assert monthly(found, "Standard_D8s_v5") is None
    disk = found.disks["persistent"]
    assert disk.price_per_gib_month is None
    assert {gib: price.value for gib, price in disk.price_per_month_up_to.items()} == {32: 5, 128: 20}
    assert found.root_disk.disk.price_per_month_up_to == disk.price_per_month_up_to
    assert found.root_disk.monthly is None, "nobody read how large an image makes it"
    assert all("armRegionName eq 'westeurope'" in one for one in asked)


def test_google_tells_cores_and_memory_whose_sum_is_the_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with google_hands.google_harness(tmp_path, monkeypatch) as opened:
        sells_google(opened.google)
        found = read(tmp_path / "google.yaml", google_hands.PLACE)
        assert opened.google.calls["skus.list"] == 3
    small = found.machine("n2d-standard-2")
    assert small is not None
    assert small.price_per_hour is not None
    assert (small.price_per_hour.value, small.price_per_hour.currency) == (Decimal("0.092"), "USD")
    assert monthly(found, "n2-standard-2") is None, "two prices of a core are none"
    volume = found.disks["persistent"].price_per_gib_month
    assert volume is not None
    assert volume.value == Decimal("0.11")


def test_skus_of_the_fake_are_those_of_googles_document() -> None:
    folder = Path(googleapiclient.discovery_cache.__path__[0])
    schemas = json.loads((folder / "documents" / "cloudbilling.v1.json").read_text())["schemas"]
    for sku in GOOGLE_SKUS:
        assert sku.keys() <= schemas["Sku"]["properties"].keys()
        assert sku["category"].keys() <= schemas["Category"]["properties"].keys()
        for pricing in sku["pricingInfo"]:
            assert pricing.keys() <= schemas["PricingInfo"]["properties"].keys()
            assert pricing["pricingExpression"].keys() <= schemas["PricingExpression"]["properties"].keys()
            for rate in pricing["pricingExpression"]["tieredRates"]:
                assert rate.keys() <= schemas["TierRate"]["properties"].keys()
                assert rate["unitPrice"].keys() <= schemas["Money"]["properties"].keys()


def test_a_billing_api_that_is_not_enabled_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with google_hands.google_harness(tmp_path, monkeypatch) as opened:
        sells_google(opened.google, disabled=True)
        with pytest.raises(NotPermitted, match="has not been used in project"):
            read_prices(tmp_path / "google.yaml", google_hands.PLACE, today=TODAY)


def test_upcloud_tells_credits_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with upcloud_hands.upcloud_harness(tmp_path, monkeypatch) as opened:
        sells_upcloud(opened.upcloud)
        found = read(tmp_path / "upcloud.yaml", upcloud_hands.PLACE)
        elsewhere = read(tmp_path / "upcloud.yaml", upcloud_hands.SECOND_PLACE)
    small = found.machine("2xCPU-4GB")
    assert small is not None
    assert small.price_per_hour is not None
    assert (small.price_per_hour.value, small.price_per_hour.currency) == (Decimal("0.03869"), "EUR")
    volume = found.disks["persistent"].price_per_gib_month
    assert volume is not None
    assert volume.value == Decimal("0.2263")
    assert monthly(found, "8xCPU-32GB") is None
    assert monthly(elsewhere, "2xCPU-4GB") is None


def discovered(told: RegionIn, cloud: str) -> dict[str, tuple[str | None, int, int]]:
    """Types nobody shipped: architecture, CPUs, memory in MiB."""
    shipped = sold_by(cloud).raw["machines"]
    return {
        name: (one.architecture, int(one.vcpus.value), int(one.memory_mib.value))
        for name, one in told.machines.items()
        if name not in shipped and one.vcpus is not None and one.memory_mib is not None
    }


def test_hetzner_lists_types_nobody_shipped_but_for_those_that_are_going_away(
    hetzner: FakeHetzner, tmp_path: Path
) -> None:
    sells_hetzner(hetzner)
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    told = read_prices(settings, hetzner_hands.PLACE, today=TODAY)
    assert discovered(told, "hetzner") == {"cpx31": ("x86_64", 4, 8192)}
    assert told.machines["cax21"].architecture == "arm64"
    assert told.machines["cpx31"].price_per_month is not None
    assert told.machines["cpx31"].nic_baseline_gbps is None, "the API tells none: unknown, not 0"


def test_digitalocean_lists_what_a_region_makes_without_graphics_processors(
    digitalocean: DigitaloceanFake, tmp_path: Path
) -> None:
    sells_digitalocean(digitalocean)
    settings = digitalocean_hands.write_settings(tmp_path / "digitalocean.yaml", digitalocean)
    told = read_prices(settings, digitalocean_hands.PLACE, today=TODAY)
    assert discovered(told, "digitalocean") == {"m-2vcpu-16gb": ("x86_64", 2, 8192)}


def test_aws_lists_all_pages_of_virtual_machines_on_nitro(
    aws: MotoCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sells_families(monkeypatch, MORE_THAN_AN_ANSWER)
    sells_aws(aws)
    told = read_prices(aws_hands.write_settings(tmp_path / "aws.yaml", aws), aws_hands.PLACE, today=TODAY)
    found = discovered(told, "aws")
    assert found["r6i.2xlarge"] == ("x86_64", 8, 65536)
    assert found["m6gd.large"][0] == "arm64"
    assert len([name for name, told in found.items() if told[0] == "x86_64"]) > 100, "an answer has a hundred"
    assert not {name for name in found if ".metal" in name or name.startswith(("p3.", "g4dn.", "m1.", "t1."))}
    own_disk = told.machines["m6gd.large"].own_disk_gb
    assert own_disk is not None
    assert own_disk.value == 118
    without = told.machines["r6i.2xlarge"].own_disk_gb
    assert without is not None
    assert without.value == 0, "EC2 says that it has none"


def test_azure_lists_sizes_the_subscription_may_have_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with azure_hands.azure_harness(tmp_path, monkeypatch) as opened:
        sells_azure(opened.azure)
        told = read_prices(tmp_path / "azure.yaml", azure_hands.PLACE, today=TODAY)
    found = discovered(told, "azure")
    assert found["Standard_E8ps_v5"] == ("arm64", 8, 3584)
    assert found["Standard_E8as_v5"] == ("x86_64", 8, 65536), "barred from a zone it is still sold in the region"
    assert not {"Standard_E8s_v4", "Standard_NC8", "Standard_A8_v2", "Premium_LRS"} & told.machines.keys()
    assert told.machines["Standard_E8ps_v5"].nic_baseline_gbps is None


def test_google_lists_the_types_of_all_zones_it_tells_the_processor_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with google_hands.google_harness(tmp_path, monkeypatch) as opened:
        sells_google(opened.google)
        told = read_prices(tmp_path / "google.yaml", google_hands.PLACE, today=TODAY)
    found = discovered(told, "google")
    assert found["n2d-custom-8"] == ("x86_64", 8, 65536)
    assert found["c4a-highmem-8"] == ("arm64", 8, 65536), "it is in another zone than the first"
    assert not {"a2-highgpu-1g", "n1-standard-8", "n2d-odd-8"} & told.machines.keys()
    price = told.machines["n2d-custom-8"].price_per_hour
    assert price is not None
    assert price.value == Decimal("0.496"), "8 cores at 0.03, 64 GiB at 0.004"
    assert told.machines["z3-highmem-8"].price_per_hour is None, "its disks are a third SKU"


def test_upcloud_lists_every_plan_of_the_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with upcloud_hands.upcloud_harness(tmp_path, monkeypatch) as opened:
        sells_upcloud(opened.upcloud)
        opened.upcloud.plans = (*opened.upcloud.plans, "HIMEM-2xCPU-8GB", "GPU-8xCPU-64GB-1xL40S")
        told = read_prices(tmp_path / "upcloud.yaml", upcloud_hands.PLACE, today=TODAY)
    assert discovered(told, "upcloud") == {"HIMEM-2xCPU-8GB": ("x86_64", 2, 4096)}


def test_a_cloud_that_sells_nothing_says_so(tmp_path: Path) -> None:
    assert not can_read_prices("local")
    with pytest.raises(PlaceUnknown, match="there are no prices of local to read"):
        read_prices(tmp_path / "local.yaml", Place("local", "r", "a"), today=TODAY)


def test_every_figure_read_has_the_day_in_the_name_of_its_source(hetzner: FakeHetzner, tmp_path: Path) -> None:
    """Figures of two days must not share a source: the older would take the younger's day."""
    sells_hetzner(hetzner)
    settings = hetzner_hands.write_settings(tmp_path / "hetzner.yaml", hetzner)
    told = read_prices(settings, hetzner_hands.PLACE, today=TODAY)
    figures: list[FigureIn] = list(told.figures())
    assert figures
    assert all(figure.source.endswith("2026-05-01") for figure in figures)

"""Addresses of VMs in the consoles of their clouds."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from providers.base import Place
from providers.console_page import HasConsolePages
from providers.errors import PlaceUnknown
from providers.registry import load, names

GUID = "00000000-0000-0000-0000-00000000000a"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJk3Pq0V9dJ2k5m3xT5X4y2mN0cL6vB8sQ1wE7rT9uYp ops"
VM = f"/subscriptions/{GUID}/resourceGroups/kedge/providers/Microsoft.Compute/virtualMachines/orders-a-0-g1"
ACCOUNTS: Mapping[str, Mapping[str, object]] = {
    "aws": {"id": "123456789012"},
    "azure": {"id": GUID, "tenant_id": GUID, "client_id": GUID, "ssh_key": KEY},
    "digitalocean": {"id": GUID},
    "google": {"project": "kedge-prod", "number": "42"},
    "hetzner": {"console_project": 77},
    "upcloud": {"username": "kedge"},
}
REGIONS = {
    "aws": "eu-central-1",
    "azure": "westeurope",
    "digitalocean": "fra1",
    "google": "europe-west1",
    "hetzner": "eu-central",
    "upcloud": "de-fra1",
}
PAGES = {
    "aws": (
        "i-0123456789abcdef0",
        "https://eu-central-1.console.aws.amazon.com/ec2/home?region=eu-central-1#InstanceDetails:instanceId=i-0123456789abcdef0",
    ),
    "azure": (VM, f"https://portal.azure.com/#resource{VM}/overview"),
    "digitalocean": ("314159", "https://cloud.digitalocean.com/droplets/314159"),
    "google": (
        "europe-west1-b/orders-a-0-g1/99",
        "https://console.cloud.google.com/compute/instancesDetail/zones/europe-west1-b/instances/orders-a-0-g1"
        "?project=kedge-prod",
    ),
    "hetzner": ("4711", "https://console.hetzner.cloud/projects/77/servers/4711/overview"),
    "upcloud": ("00c78863-db86-44ea-af70-d6edc4d162bf", "https://hub.upcloud.com/server"),
}


def place(cloud: str, account: str = "production") -> Place:
    return Place(cloud, REGIONS[cloud], account)


def opened(cloud: str, home: Path, **more: object) -> HasConsolePages:
    """The cloud with one account, `production`, and nothing told of any region."""
    file = home / f"{cloud}.yaml"
    file.write_text(
        yaml.safe_dump({"accounts": {"production": {**ACCOUNTS[cloud], "regions": {REGIONS[cloud]: None}, **more}}})
    )
    provider = load(cloud, installation_id="i", settings_file=file)
    assert isinstance(provider, HasConsolePages)
    return provider


@pytest.mark.parametrize("cloud", sorted(PAGES))
def test_a_vm_is_found_in_the_console_of_its_cloud(cloud: str, tmp_path: Path) -> None:
    number, page = PAGES[cloud]
    assert opened(cloud, tmp_path).console_page(place(cloud), number) == page


@pytest.mark.parametrize("cloud", sorted(PAGES))
@pytest.mark.parametrize("number", ["", "../../logout", "javascript:alert(1)", 'x" onclick="alert(1)', "1\n2"])
def test_what_is_no_id_of_a_vm_has_no_page(cloud: str, number: str, tmp_path: Path) -> None:
    assert opened(cloud, tmp_path).console_page(place(cloud), number) == ""


@pytest.mark.parametrize(
    ("region", "console"),
    [
        ("cn-north-1", "https://cn-north-1.console.amazonaws.cn/ec2/"),
        ("us-gov-west-1", "https://us-gov-west-1.console.amazonaws-us-gov.com/ec2/"),
    ],
)
def test_china_and_govcloud_have_consoles_of_their_own(region: str, console: str, tmp_path: Path) -> None:
    page = opened("aws", tmp_path).console_page(Place("aws", region, "production"), PAGES["aws"][0])
    assert page.startswith(console)


def test_a_vm_of_another_subscription_has_no_page(tmp_path: Path) -> None:
    azure = opened("azure", tmp_path)
    assert azure.console_page(place("azure"), VM.replace("0a/", "0b/")) == ""


def test_hetzner_has_pages_where_the_number_of_the_project_is_told(tmp_path: Path) -> None:
    hetzner = opened("hetzner", tmp_path, console_project=None)
    assert hetzner.console_page(place("hetzner"), "4711") == ""


@pytest.mark.parametrize("cloud", ["azure", "google", "hetzner"])
def test_an_account_nobody_told_of_is_named(cloud: str, tmp_path: Path) -> None:
    with pytest.raises(PlaceUnknown, match="elsewhere"):
        opened(cloud, tmp_path).console_page(place(cloud, "elsewhere"), PAGES[cloud][0])


def test_every_cloud_but_the_local_one_has_them() -> None:
    assert {*names()} - {"local"} == {*PAGES}

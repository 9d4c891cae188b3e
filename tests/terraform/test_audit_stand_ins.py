"""What was changed by hand of a cluster's VMs and disks is found by an audit: the real Terraform with the stand-ins for
the four providers that cannot be had (tests/standins/README.md).

A stand-in's record of a VM is not as whole as its vendor's: what it says of an untouched one is left out.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouds import digitalocean as digitalocean_fake
from tests.fakes.clouds.azure_hands import AzureHarness
from tests.fakes.clouds.digitalocean_hands import DigitaloceanHarness
from tests.fakes.clouds.google_hands import GoogleHarness
from tests.fakes.clouds.upcloud_hands import UpcloudHarness
from tests.fakes.resources import attachment, instance, resources, surge, volume
from tests.terraform.audits import audited
from tests.terraform.azurelife import azure_bench
from tests.terraform.cloudbench import CloudBench
from tests.terraform.digitaloceanlife import digitalocean_bench
from tests.terraform.googlelife import google_bench
from tests.terraform.upcloudlife import upcloud_bench

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(120)]

PARTS = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
VM, DISK, TEAM, SIZE = "instance/b-0.g1", "volume/b-0.data.v1", '"payments"', "77"


def by_hand_on_google(hands: GoogleHarness) -> None:
    """A label more on the VM, and its disk is 77 GiB large. So it is on the others."""
    machine = hands.machine("b-0.g1")
    machine["labels"] = {**machine["labels"], "team": "payments"}
    (disk,) = (d for d in hands.world.of("disks") if d["labels"].get("kedge-dir"))
    disk["sizeGb"] = SIZE


def by_hand_on_azure(hands: AzureHarness) -> None:
    (machine,) = (t for t in hands.azure.things.by_id.values() if t["type"].endswith("virtualmachines"))
    machine["tags"] = {**machine["tags"], "team": "payments"}
    (disk,) = (t for t in hands.azure.things.by_id.values() if "kedge-volume" in t.get("tags", {}))
    disk["properties"]["diskSizeGB"] = int(SIZE)


def by_hand_on_digitalocean(hands: DigitaloceanHarness) -> None:
    (droplet,) = hands.fake.droplets.values()
    droplet["tags"] = [*droplet["tags"], "payments"]
    (disk,) = hands.fake.volumes.values()
    disk["size_gigabytes"] = int(SIZE)


def by_hand_on_upcloud(hands: UpcloudHarness) -> None:
    (server,) = hands.upcloud.things.servers.values()
    server["labels"]["label"] = [*server["labels"]["label"], {"key": "team", "value": "payments"}]
    hands.upcloud.things.storages[hands.volume_id("b-0.data.v1", "c0ffee")]["size"] = int(SIZE)


BY_HAND: Mapping[str, tuple[Any, Callable[[Any], None]]] = {
    "google": (lambda b: GoogleHarness(b.cloud, b.google), by_hand_on_google),
    "azure": (lambda b: AzureHarness(b.cloud, b.azure), by_hand_on_azure),
    "digitalocean": (lambda b: DigitaloceanHarness(b.cloud, b.fake), by_hand_on_digitalocean),
    "upcloud": (lambda b: UpcloudHarness(b.cloud, b.upcloud), by_hand_on_upcloud),
}


@contextmanager
def bench_of(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudBench]:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", digitalocean_fake.TOKEN)
    benches: Mapping[str, Callable[[], AbstractContextManager[CloudBench]]] = {
        "google": lambda: google_bench(folder),
        "azure": lambda: azure_bench(folder, monkeypatch),
        "digitalocean": lambda: digitalocean_bench(folder),
        "upcloud": lambda: upcloud_bench(folder, monkeypatch),
    }
    with benches[cloud]() as bench:
        yield bench


IN_EACH_TEST = "digitalocean"


@pytest.mark.parametrize(
    "cloud", [IN_EACH_TEST, *(pytest.param(c, marks=pytest.mark.soak) for c in BY_HAND if c != IN_EACH_TEST)]
)
def test_a_label_and_a_disk_changed_by_hand_are_named_and_nothing_is_touched(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands_of, change = BY_HAND[cloud]
    with bench_of(cloud, tmp_path, monkeypatch) as bench:
        hands = hands_of(bench)
        there = hands.here(resources(*PARTS))
        bench.execute(surge(there))
        untouched = {(d.target, d.attribute) for d in audited(bench, there).drifts}
        assert not {attribute for _, attribute in untouched if attribute.startswith(("labels", "tags", "size"))}
        change(hands)
        found = [d for d in audited(bench, there).drifts if (d.target, d.attribute) not in untouched]
        assert any(d.target == VM and TEAM in d.found for d in found), found
        assert any(d.target == DISK and d.found == SIZE for d in found), found
        assert {d.target for d in found} == {VM, DISK}

"""Golden states of the clouds whose modules are run with a stand-in for the vendor's provider."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from providers.base import Resources
from tests.fakes.clouds.azure_hands import AzureHarness
from tests.fakes.clouds.digitalocean import TOKEN as DIGITALOCEAN_TOKEN
from tests.fakes.clouds.digitalocean_hands import DigitaloceanHarness
from tests.fakes.clouds.google_hands import GoogleHarness
from tests.fakes.clouds.upcloud_hands import UpcloudHarness
from tests.fakes.resources import resources
from tests.terraform.azurelife import AzureBench, azure_bench
from tests.terraform.cloudbench import CloudBench
from tests.terraform.digitaloceanlife import DigitaloceanBench, digitalocean_bench
from tests.terraform.googlelife import GoogleBench, google_bench
from tests.terraform.upcloudlife import UpcloudBench, upcloud_bench

WORDS = frozenset({"instance", "volume", "attachment", "address", "binding"})

Kept = dict[str, dict[Any, Any]]
"""Everything a fake holds, by kind and id: the fake's own dictionaries."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """How a state of one cloud is written, and put back."""

    bench: Callable[[Path], AbstractContextManager[Any]]
    hands: Callable[[Any], Any]
    kept: Callable[[Any], Kept]
    words: frozenset[str] = WORDS
    """What the module makes there."""
    fills: frozenset[str] = frozenset()
    """Attributes this stand-in leaves empty when it creates, and knows when it reads: no hand changed them."""

    def rendered(self, bench: CloudBench, parts: tuple[Any, ...]) -> Resources:
        """The set of every golden state, as this cloud has it."""
        found: Resources = self.hands(bench).here(resources(*parts))
        return found

    def objects(self, bench: CloudBench) -> Kept:
        return self.kept(bench)

    def put(self, bench: CloudBench, recorded: Mapping[str, Mapping[str, Any]]) -> None:
        """Has the fake hold what was recorded, under the same ids."""
        for kind, things in self.kept(bench).items():
            numbered = kind in ("droplets", "user_data")
            things.clear()
            things.update({int(one) if numbered else one: thing for one, thing in recorded[kind].items()})


@contextmanager
def _azure(folder: Path) -> Iterator[AzureBench]:
    with pytest.MonkeyPatch.context() as monkeypatch, azure_bench(folder, monkeypatch) as bench:
        yield bench


@contextmanager
def _upcloud(folder: Path) -> Iterator[UpcloudBench]:
    with pytest.MonkeyPatch.context() as monkeypatch, upcloud_bench(folder, monkeypatch) as bench:
        yield bench


@contextmanager
def _digitalocean(folder: Path) -> Iterator[DigitaloceanBench]:
    with pytest.MonkeyPatch.context() as monkeypatch, digitalocean_bench(folder) as bench:
        monkeypatch.setitem(os.environ, "DIGITALOCEAN_TOKEN", DIGITALOCEAN_TOKEN)
        yield bench


def _of_google(bench: GoogleBench) -> Kept:
    return {"things": bench.google.world.things}


def _of_azure(bench: AzureBench) -> Kept:
    bench.azure.finish()
    return {"by_id": bench.azure.things.by_id}


def _of_upcloud(bench: UpcloudBench) -> Kept:
    there = bench.upcloud.things
    return {"servers": there.servers, "storages": there.storages, "networks": there.networks, "groups": there.groups}


def _of_digitalocean(bench: DigitaloceanBench) -> Kept:
    bench.fake.settle()
    there = bench.fake
    return {
        "droplets": there.droplets,
        "user_data": there.user_data,
        "volumes": there.volumes,
        "tags": there.tags,
        "vpcs": there.vpcs,
    }


STAND_INS: Mapping[str, StandIn] = {
    "azure": StandIn(_azure, lambda b: AzureHarness(b.cloud, b.azure), _of_azure),
    "digitalocean": StandIn(
        _digitalocean,
        lambda b: DigitaloceanHarness(b.cloud, b.fake),
        _of_digitalocean,
        frozenset({"instance", "volume", "attachment"}),
    ),
    "google": StandIn(
        google_bench, lambda b: GoogleHarness(b.cloud, b.google), _of_google, fills=frozenset({"boot_disk.0.mode"})
    ),
    "upcloud": StandIn(_upcloud, lambda b: UpcloudHarness(b.cloud, b.upcloud), _of_upcloud),
}

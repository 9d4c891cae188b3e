"""Types, figures and keys of data disks, as each cloud is asked for them: AWS's own provider against moto, stand-ins
for Google, Azure and UpCloud. Clouds whose volumes are of one kind refuse them in words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.base import Resources, RunKind
from providers.errors import TerraformFailed
from tests.fakes.clouds import digitalocean as digitalocean_fake
from tests.fakes.resources import resources, run, surge, targets, volume
from tests.terraform.cloudbench import CloudBench
from tests.terraform.networklife import NetworkBench, cloud_bench
from tests.terraform.standins import provider_of

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(400)]

GOOGLE_KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
AZURE_KEY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d"
AWS_KEY = "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"

TOLD: Mapping[str, Mapping[str, Any]] = {
    "aws": {"type": "gp3", "iops": 6000, "throughput_mib_per_s": 500, "kms_key": AWS_KEY},
    "google": {"type": "hyperdisk-balanced", "iops": 6000, "throughput_mib_per_s": 500, "kms_key": GOOGLE_KEY},
    "azure": {"type": "PremiumV2_LRS", "iops": 6000, "throughput_mib_per_s": 500, "kms_key": AZURE_KEY},
    "upcloud": {"type": "standard"},
}


@contextmanager
def opened(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", digitalocean_fake.TOKEN)
    with cloud_bench(cloud, folder, monkeypatch) as bench:
        yield bench


def disks(told: Mapping[str, Any], bench: CloudBench) -> Resources:
    """One disk as ever, and one that is told more of."""
    zone = NetworkBench(bench, bench.place).zone("a")
    plain = replace(volume("b-0", zone=zone), size_gib=100)
    told_of = replace(volume("b-1", zone=zone), size_gib=100, **told)
    return replace(resources(plain, told_of), place=bench.place)


SLOW = provider_of("aws", marks=pytest.mark.soak)


@pytest.mark.parametrize("cloud", [SLOW, provider_of("google"), provider_of("azure"), provider_of("upcloud")])
def test_a_disk_is_made_as_it_is_told_and_another_as_ever(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cloud, tmp_path, monkeypatch) as bench:
        wanted = disks(TOLD[cloud], bench)
        made = bench.execute(surge(wanted))
        assert set(made.changed) == targets(wanted)
        assert _seen(cloud, bench) == _EXPECTED[cloud]
        assert bench.execute(surge(wanted)).changed == (), "plan empty"
        gone = run(RunKind.DESTROY, replace(wanted, volumes=()), deletes=targets(wanted), intent="gone")
        assert len(bench.execute(gone).changed) == 2


@pytest.mark.parametrize("cloud", ["hetzner", provider_of("digitalocean")])
def test_a_cloud_with_volumes_of_one_kind_says_so_and_makes_none(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cloud, tmp_path, monkeypatch) as bench:
        with pytest.raises(TerraformFailed, match="of one kind"):
            bench.execute(surge(disks({"type": "fast"}, bench)))
        assert bench.listing().volumes == ()


_EXPECTED: Mapping[str, Any] = {
    "aws": [("gp3", 3000, 125, None), ("gp3", 6000, 500, AWS_KEY)],
    "google": [("pd-balanced", None, None, None), ("hyperdisk-balanced", "6000", "500", GOOGLE_KEY)],
    "azure": [("Premium_LRS", None, None, None), ("PremiumV2_LRS", 6000, 525, AZURE_KEY)],
    "upcloud": [("maxiops",), ("standard",)],
}
"""500 MiB/s are 524.3 million bytes."""


def _seen(cloud: str, bench: Any) -> list[tuple[Any, ...]]:
    """What the cloud has, the plain one first."""
    match cloud:
        case "aws":
            found = bench.aws.client(bench.place.region).describe_volumes()["Volumes"]
            told = [(v["VolumeType"], v.get("Iops"), v.get("Throughput"), _key_of(v, bench)) for v in found]
            return sorted(((k, i or 3000, rate or 125, key) for k, i, rate, key in told), key=lambda t: t[1])
        case "google":
            there = bench.google.world.of("disks")
            return sorted(
                (
                    d["type"].rpartition("/")[2],
                    d.get("provisionedIops"),
                    d.get("provisionedThroughput"),
                    (d.get("diskEncryptionKey") or {}).get("kmsKeyName"),
                )
                for d in there
            )[::-1]
        case "azure":
            there = [t for t in bench.azure.things.by_id.values() if t["type"].endswith("/disks")]
            return [
                (
                    t["sku"]["name"],
                    t["properties"].get("diskIOPSReadWrite"),
                    t["properties"].get("diskMBpsReadWrite"),
                    (t["properties"].get("encryption") or {}).get("diskEncryptionSetId"),
                )
                for t in sorted(there, key=lambda t: len(t["sku"]["name"]))
            ]
    return sorted((s["tier"],) for s in bench.upcloud.things.storages.values() if s["size"] == 100)


def _key_of(volume: Mapping[str, Any], bench: Any) -> str | None:
    """None for the account's own key of its volumes: nobody asked for another."""
    aliases = bench.aws.client(bench.place.region, "kms").list_aliases()["Aliases"]
    own = [a["TargetKeyId"] for a in aliases if a["AliasName"] == "alias/aws/ebs"]
    key = volume.get("KmsKeyId")
    return None if key is None or key.rpartition("/")[2] in own else str(key)

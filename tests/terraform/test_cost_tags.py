"""Cost tags on each cloud: given in the call that makes a thing, and changed later in place, by the vendor's provider
at Hetzner and AWS (moto), by stand-ins elsewhere. Nobody else's tags, nor Kedge's own, are touched."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.base import Resources, RunKind, Tagging, TerraformRun
from providers.errors import UnsafeChange
from providers.hetzner.cloud import HetznerCloud
from tests.fakes.clouds import digitalocean as digitalocean_fake
from tests.fakes.clouds.aws_hands import AwsHarness
from tests.fakes.clouds.azure_hands import AzureHarness
from tests.fakes.clouds.digitalocean_hands import DigitaloceanHarness
from tests.fakes.clouds.google_hands import GoogleHarness
from tests.fakes.clouds.hetzner import TOKEN, fake_hetzner
from tests.fakes.clouds.hetzner_hands import HetznerHarness, write_settings
from tests.fakes.clouds.upcloud_hands import UpcloudHarness
from tests.fakes.resources import attachment, instance, resources, run, surge, targets, volume
from tests.terraform.awslife import aws_bench
from tests.terraform.azurelife import azure_bench
from tests.terraform.cloudbench import CloudBench
from tests.terraform.digitaloceanlife import digitalocean_bench
from tests.terraform.googlelife import google_bench
from tests.terraform.hetznerlife import HetznerBench, hcloud_plugins
from tests.terraform.standins import provider_of
from tests.terraform.upcloudlife import upcloud_bench

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(900)]

BORN = {"team": "payments", "env": "test"}
TAGGED, OTHER = "instance/b-0.g1", "instance/b-1.g1"
PARTS = (
    replace(instance("b-0"), cost_tags=BORN),
    replace(volume("b-0"), cost_tags=BORN),
    attachment("b-0.g1", "b-0.data.v1"),
    instance("b-1"),
)
VOLUME = "volume/b-0.data.v1"


def tagging(there: Resources, intent: str, put: Mapping[str, str], *dropped: str) -> TerraformRun:
    asked = Tagging(frozenset({TAGGED, VOLUME}), put, frozenset(dropped))
    return replace(run(RunKind.TAG, there, intent=intent), tagging=asked)


def on_google(bench: Any) -> dict[str, dict[str, str]]:
    world = bench.google.world
    disk = next(d for d in world.of("disks") if d["labels"].get("kedge-dir"))
    hands = GoogleHarness(bench.cloud, bench.google)
    return {"b-0": hands.machine("b-0.g1")["labels"], "b-1": hands.machine("b-1.g1")["labels"], "disk": disk["labels"]}


def on_azure(bench: Any) -> dict[str, dict[str, str]]:
    things = [t for t in bench.azure.things.by_id.values() if t.get("tags")]
    vms = {t["tags"]["kedge-node"]: t["tags"] for t in things if t["type"].endswith("virtualmachines")}
    return {**vms, "disk": next(t["tags"] for t in things if "kedge-volume" in t["tags"])}


def on_digitalocean(bench: Any) -> dict[str, dict[str, str]]:
    def told(words: list[str]) -> dict[str, str]:
        return {word.partition(":")[0]: word.partition(":")[2] for word in words}

    vms = {told(d["tags"])["kedge-node"]: told(d["tags"]) for d in bench.fake.droplets.values()}
    return {**vms, "disk": next(told(v["tags"]) for v in bench.fake.volumes.values())}


def on_upcloud(bench: Any) -> dict[str, dict[str, str]]:
    def told(labels: list[dict[str, str]]) -> dict[str, str]:
        return {one["key"]: one["value"] for one in labels}

    things = bench.upcloud.things
    vms = {told(s["labels"]["label"])["kedge-node"]: told(s["labels"]["label"]) for s in things.servers.values()}
    volume_id = UpcloudHarness(bench.cloud, bench.upcloud).volume_id("b-0.data.v1", "c0ffee")
    return {**vms, "disk": told(things.storages[volume_id]["labels"])}


def on_hetzner(bench: Any) -> dict[str, dict[str, str]]:
    project = bench.hetzner.project
    vms = {s["labels"]["kedge-node"]: s["labels"] for s in project.servers.values()}
    return {**vms, "disk": next(v["labels"] for v in project.volumes.values())}


def on_aws(bench: Any) -> dict[str, dict[str, str]]:
    def told(tags: list[dict[str, str]]) -> dict[str, str]:
        return {one["Key"]: one["Value"] for one in tags}

    ec2 = bench.aws.client(bench.place.region)
    found = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]]
    vms = {told(i["Tags"])["kedge-node"]: told(i["Tags"]) for i in found}
    disks = [told(v.get("Tags", [])) for v in ec2.describe_volumes()["Volumes"]]
    roots = {f"root of {d['kedge-node']}": d for d in disks if d.get("Name", "").endswith("-root")}
    return {**vms, **roots, "disk": next(d for d in disks if "kedge-volume" in d)}


def by_hand_on_google(bench: Any) -> None:
    """Somebody else's tag on the VM that is tagged, and on the other one. So it is on the others."""
    for key in ("b-0.g1", "b-1.g1"):
        machine = GoogleHarness(bench.cloud, bench.google).machine(key)
        machine["labels"] = {**machine["labels"], "owner": "ops"}


def by_hand_on_azure(bench: Any) -> None:
    for thing in bench.azure.things.by_id.values():
        if thing["type"].endswith("virtualmachines"):
            thing["tags"] = {**thing["tags"], "owner": "ops"}


def by_hand_on_digitalocean(bench: Any) -> None:
    for droplet in bench.fake.droplets.values():
        droplet["tags"] = [*droplet["tags"], "owner:ops"]


def by_hand_on_upcloud(bench: Any) -> None:
    for server in bench.upcloud.things.servers.values():
        server["labels"]["label"] = [*server["labels"]["label"], {"key": "owner", "value": "ops"}]


def by_hand_on_hetzner(bench: Any) -> None:
    for server in bench.hetzner.project.servers.values():
        server["labels"] = {**server["labels"], "owner": "ops"}


def by_hand_on_aws(bench: Any) -> None:
    vms = [i.id for i in bench.listing().instances]
    bench.aws.client(bench.place.region).create_tags(Resources=vms, Tags=[{"Key": "owner", "Value": "ops"}])


@contextmanager
def hetzner_bench(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerBench]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        settings = write_settings(folder / "hetzner.yaml", hetzner, plugins=hcloud_plugins())
        yield HetznerBench(HetznerCloud("test", settings), hetzner, folder / "states")


Seen = Callable[[Any], dict[str, dict[str, str]]]
CLOUDS: Mapping[str, tuple[Any, Any, Seen, Callable[[Any], None]]] = {
    "aws": (aws_bench, lambda b: AwsHarness(b.cloud, b.aws), on_aws, by_hand_on_aws),
    "google": (
        lambda folder, _: google_bench(folder),
        lambda b: GoogleHarness(b.cloud, b.google),
        on_google,
        by_hand_on_google,
    ),
    "azure": (azure_bench, lambda b: AzureHarness(b.cloud, b.azure), on_azure, by_hand_on_azure),
    "digitalocean": (
        lambda folder, _: digitalocean_bench(folder),
        lambda b: DigitaloceanHarness(b.cloud, b.fake),
        on_digitalocean,
        by_hand_on_digitalocean,
    ),
    "upcloud": (upcloud_bench, lambda b: UpcloudHarness(b.cloud, b.upcloud), on_upcloud, by_hand_on_upcloud),
    "hetzner": (hetzner_bench, lambda b: HetznerHarness(b.cloud, b.hetzner), on_hetzner, by_hand_on_hetzner),
}


@contextmanager
def opened(cloud: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[CloudBench, Resources, Seen]]:
    """A bench on which the broker with tags and the one without stand, the set they are, and how to see their tags."""
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", digitalocean_fake.TOKEN)
    bench_of, hands_of, seen, _ = CLOUDS[cloud]
    with bench_of(folder, monkeypatch) as bench:
        there = hands_of(bench).here(resources(*PARTS))
        assert set(bench.execute(surge(there)).changed) == targets(there)
        yield bench, there, seen


def cost(tags: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value for key, value in tags.items() if not key.startswith("kedge") and key in ("team", "env", "owner")
    }


SOAKED = [provider_of(cloud, marks=pytest.mark.soak) for cloud in ("aws", "google", "azure", "upcloud")]
"""What their modules make of it is in tests/unit/providers/test_tf_tagging.py, and validated, in each run."""


@pytest.mark.parametrize("cloud", ["hetzner", provider_of("digitalocean"), *SOAKED])
def test_what_is_made_has_its_cost_tags_and_another_ones_are_given_in_place(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(cloud, tmp_path, monkeypatch) as (bench, there, seen):
        born = seen(bench)
        assert (cost(born["b-0"]), cost(born["disk"]), cost(born["b-1"])) == (BORN, BORN, {})
        assert bench.execute(surge(there)).changed == (), "plan empty"
        CLOUDS[cloud][3](bench)
        before, vms = seen(bench), {i.key: i.id for i in bench.listing().instances}

        changed = bench.execute(tagging(there, "tag-1", {"team": "billing"}, "env")).changed
        assert set(changed) == {TAGGED, VOLUME}
        after = seen(bench)
        assert (cost(after["b-0"]), cost(after["disk"])) == ({"team": "billing", "owner": "ops"}, {"team": "billing"})
        assert after["b-1"] == before["b-1"], "no other VM is touched"
        assert {i.key: i.id for i in bench.listing().instances} == vms, "no VM is made anew"
        for name in ("b-0", "disk"):
            own = {k: v for k, v in before[name].items() if k not in BORN}
            assert {k: v for k, v in after[name].items() if k != "team"} == own, "all other tags are as they were"
        if cloud == "aws":
            assert (cost(born["root of b-0"]), cost(after["root of b-0"])) == (BORN, {"team": "billing"})

        assert bench.execute(tagging(there, "tag-2", {"team": "billing"}, "env")).changed == (), "done already"
        assert bench.execute(surge(there)).changed == (), "no other run puts them back"


def test_a_tag_of_kedges_own_cannot_be_changed_by_a_tag_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever asks for it: the guard knows what a cost tag is by the run, and whose a VM is hangs on the others."""
    with opened("hetzner", tmp_path, monkeypatch) as (bench, there, seen):
        before = seen(bench)
        replaced = replace(there, instances=tuple(replace(i, boot_data="other") for i in there.instances))
        assert set(bench.execute(tagging(replaced, "tag-1", {"team": "billing"})).changed) == {TAGGED, VOLUME}
        only_vm = Tagging(frozenset({TAGGED}), {"team": "x"})
        lost = replace(there, volumes=(), attachments=())
        with pytest.raises(UnsafeChange, match="would delete it"):
            bench.execute(replace(run(RunKind.TAG, lost, intent="tag-2"), tagging=only_vm))
        assert cost(seen(bench)["disk"]) == {**BORN, "team": "billing"}
        assert before["b-1"] == seen(bench)["b-1"]

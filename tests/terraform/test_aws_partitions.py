"""Racks that are partitions of a placement group, made by the real Terraform with the vendor's provider against moto.

moto knows no placement groups: what the module asks for is read from its calls; that EC2 keeps to it was never seen.
"""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import yaml

from providers.aws.cloud import AwsCloud
from providers.base import RunKind
from tests.fakes.clouds.aws import action_of
from tests.fakes.clouds.aws_hands import PLACE, REGION
from tests.fakes.resources import attachment, instance, resources, run, surge, targets, volume
from tests.terraform.awslife import AwsBench, aws_bench

pytestmark = [pytest.mark.soak, pytest.mark.terraform, pytest.mark.timeout(600)]

GROUP = "kedge-orders"
FIRST, SECOND = f"{REGION}a-p1", f"{REGION}a-p2"


def test_vms_of_a_partition_are_asked_for_in_it_and_their_disks_in_its_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with aws_bench(tmp_path, monkeypatch) as bench:
        with_racks(bench, tmp_path / "aws.yaml")
        asked = heard(bench)
        parts = [
            part
            for node, zone in (("b-0", FIRST), ("b-1", SECOND), ("b-2", f"{REGION}b"))
            for part in (instance(node, zone=zone), volume(node, zone=zone), tied(node))
        ]
        wanted = resources(*parts, place=PLACE)
        bench.execute(surge(wanted))
        assert asked == {
            "b-0": {"Placement.GroupName": GROUP, "Placement.PartitionNumber": "1"},
            "b-1": {"Placement.GroupName": GROUP, "Placement.PartitionNumber": "2"},
            "b-2": {},
        }
        listing = bench.listing()
        assert {i.node: i.zone for i in listing.instances} == {"b-0": FIRST, "b-1": SECOND, "b-2": f"{REGION}b"}
        assert {v.key: v.zone for v in listing.volumes} == {
            "b-0.data.v1": FIRST,
            "b-1.data.v1": SECOND,
            "b-2.data.v1": f"{REGION}b",
        }
        told = bench.aws.client(REGION).describe_volumes()["Volumes"]
        made = {v["AvailabilityZone"] for v in told if any(t["Key"] == "kedge-volume" for t in v.get("Tags", ()))}
        assert made == {f"{REGION}a", f"{REGION}b"}
        again = bench.execute(surge(wanted))
        assert (again.changed, frozenset(again.done_before)) == ((), targets(wanted))
        bench.execute(run(RunKind.DESTROY, wanted, deletes=targets(wanted), intent="run-2"))
        assert bench.listing().instances == ()


def tied(node: str) -> Any:
    return attachment(f"{node}.g1", f"{node}.data.v1")


def with_racks(bench: AwsBench, settings: Path) -> None:
    """Zone `a` as two partitions of a group, in the one subnet it has; `b` as it was."""
    file = yaml.safe_load(settings.read_text())
    region = file["accounts"]["production"]["regions"][REGION]
    subnets = region["subnets"]
    region["subnets"] = {
        FIRST: subnets[f"{REGION}a"],
        SECOND: subnets[f"{REGION}a"],
        f"{REGION}b": subnets[f"{REGION}b"],
    }
    region["placement_group"] = GROUP
    settings.write_text(yaml.safe_dump(file))
    bench.cloud = AwsCloud("test", settings)


def heard(bench: AwsBench) -> dict[str, dict[str, str]]:
    """By node, what was asked of the place of a VM that was really made; filled as it happens."""
    asked: dict[str, dict[str, str]] = {}

    def listening(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        said = dict(parse_qsl(body.decode()))
        if action_of(said) == "RunInstances":
            tags = {v: said[k.removesuffix("Key") + "Value"] for k, v in said.items() if k.endswith(".Key")}
            asked[tags["kedge-node"]] = {k: v for k, v in said.items() if k.startswith("Placement.")}
        return bench.aws.answer(method, path, headers, body)

    bench.aws.answering = listening
    return asked

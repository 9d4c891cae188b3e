"""Thousands of VMs through the real SDK, against a small server that only knows how EC2 gives pages."""

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
import yaml

from providers.aws.cloud import AwsCloud
from providers.base import Place
from tests.fakes.clouds.aws import ACCOUNT
from tests.fakes.clouds.loopback import serving

PLACE = Place("aws", "eu-west-1", "production")
CLUSTERS = 500

XMLNS = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'


def tag_set(given: dict[str, str]) -> str:
    items = "".join(f"<item><key>{k}</key><value>{v}</value></item>" for k, v in given.items())
    return f"<tagSet>{items}</tagSet>"


def machine(number: int) -> str:
    own = {
        "kedge-installation": "test",
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-cluster-name": f"orders-{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
        "kedge-generation": "3",
        "kedge-intent": f"intent-{number}",
        "kedge-shape": "small",
        "kedge-image": "4.2.0",
    }
    return (
        f"<item><reservationId>r-{number:017x}</reservationId><ownerId>{ACCOUNT}</ownerId><instancesSet><item>"
        f"<instanceId>i-{number:017x}</instanceId><imageId>ami-00000001</imageId><instanceType>m7g.large</instanceType>"
        "<instanceState><code>16</code><name>running</name></instanceState>"
        "<placement><availabilityZone>eu-west-1a</availabilityZone><tenancy>default</tenancy></placement>"
        f"<privateIpAddress>10.{number >> 16}.{number >> 8 & 255}.{number & 255}</privateIpAddress>"
        "<blockDeviceMapping>"
        f"<item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-f{number:016x}</volumeId></ebs></item>"
        f"<item><deviceName>/dev/sdf</deviceName><ebs><volumeId>vol-{number:017x}</volumeId></ebs></item>"
        "</blockDeviceMapping><networkInterfaceSet>"
        f"<item><networkInterfaceId>eni-{number:017x}</networkInterfaceId></item></networkInterfaceSet>"
        f"{tag_set(own)}</item></instancesSet></item>"
    )


def disk(number: int) -> str:
    own = {
        "kedge-installation": "test",
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
        "kedge-volume": f"brokers-{number // CLUSTERS}.data.v1",
    }
    return (
        f"<item><volumeId>vol-{number:017x}</volumeId><size>1000</size><availabilityZone>eu-west-1a</availabilityZone>"
        f"<attachmentSet><item><volumeId>vol-{number:017x}</volumeId><instanceId>i-{number:017x}</instanceId>"
        f"<status>attached</status></item></attachmentSet>{tag_set(own)}</item>"
    )


FLEETS = pytest.mark.parametrize("vms", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
"""The calls are held against their number; the time is printed, because it is the machine's, too."""


@dataclass
class Pages:
    vms: int
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.made: dict[str, tuple[str, list[str]]] = {
            "DescribeInstances": ("reservationSet", [machine(n) for n in range(self.vms)]),
            "DescribeVolumes": ("volumeSet", [disk(n) for n in range(self.vms)]),
            "DescribeNetworkInterfaces": ("networkInterfaceSet", []),
        }

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        asked = dict(parse_qsl(body.decode()))
        action = asked["Action"]
        self.calls[action] += 1
        if action == "GetCallerIdentity":
            told = f"<GetCallerIdentityResult><Account>{ACCOUNT}</Account></GetCallerIdentityResult>"
            return 200, {}, f"<GetCallerIdentityResponse>{told}</GetCallerIdentityResponse>".encode()
        name, items = self.made[action]
        start, size = int(asked.get("NextToken", 0)), int(asked["MaxResults"])
        more = f"<nextToken>{start + size}</nextToken>" if start + size < len(items) else ""
        page = "".join(items[start : start + size])
        return 200, {}, f"<{action}Response {XMLNS}><{name}>{page}</{name}>{more}</{action}Response>".encode()


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, object]:
    region = {"subnets": {"eu-west-1a": "subnet-0000000a"}, "security_groups": ["sg-00000001"]}
    return {"accounts": {"production": {"id": ACCOUNT, "regions": {"eu-west-1": region}}}}


@FLEETS
def test_thousands_of_vms_are_listed_by_full_pages(
    vms: int, settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    pages = Pages(vms)
    with serving(pages.answer) as port:
        file = tmp_path / "aws.yaml"
        file.write_text(yaml.safe_dump({**settings, "endpoint_url": f"http://127.0.0.1:{port}"}))
        cloud = AwsCloud("test", file)
        started = time.perf_counter()
        listing = cloud.list_place(PLACE)
        seconds = time.perf_counter() - started
    print(f"{vms} VMs and as many volumes in {seconds:.1f} s")
    assert pages.calls == {
        "GetCallerIdentity": 1,
        "DescribeInstances": vms / 1000,
        "DescribeVolumes": vms / 500,
        "DescribeNetworkInterfaces": 1,
    }
    assert len({i.id for i in listing.instances}) == vms
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)

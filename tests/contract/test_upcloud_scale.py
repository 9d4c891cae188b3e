"""Thousands of VMs through the real SDK, against a small server that only knows how UpCloud gives pages."""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from providers.base import Place
from providers.upcloud.cloud import UpcloudCloud
from tests.fakes.clouds.loopback import Answer, serving
from tests.fakes.clouds.upcloud import TOKEN, USERNAME

PLACE = Place("upcloud", "fi-hel1", "production")
CLUSTERS, PAGE = 500, 100
UUID = "03000000-0000-4000-8000-000000000001"


def server_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def labels(number: int, **more: str) -> list[dict[str, str]]:
    own = {
        "kedge-installation": "test",
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-cluster-name": f"orders-{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
        "kedge-region": PLACE.region,
        "kedge-zone": "fi-hel1-a",
        **{f"kedge-{name}": value for name, value in more.items()},
    }
    return [{"key": key, "value": value} for key, value in own.items()]


def server(number: int) -> dict[str, Any]:
    return {
        "core_number": "2",
        "hostname": f"orders-{number}",
        "labels": {"label": labels(number, generation="3", intent=f"intent-{number}", shape="small", image="4.2.0")},
        "license": 0,
        "memory_amount": "4096",
        "plan": "2xCPU-4GB",
        "state": "started",
        "tags": {"tag": []},
        "title": f"orders-{number}",
        "uuid": server_id(number),
        "zone": PLACE.region,
    }


def storage(number: int) -> dict[str, Any]:
    return {
        "access": "private",
        "labels": labels(number, volume=f"brokers-{number // CLUSTERS}.data.v1"),
        "servers": {"server": [server_id(number)]},
        "size": 1000,
        "state": "online",
        "tier": "maxiops",
        "title": f"orders-{number}-data",
        "type": "normal",
        "uuid": f"01000000-0000-4000-8000-{number:012x}",
        "zone": PLACE.region,
    }


def address(number: int) -> dict[str, Any]:
    at = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return {"access": "private", "address": at, "family": "IPv4", "server": server_id(number), "zone": PLACE.region}


FLEETS = pytest.mark.parametrize("vms", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
"""The calls are held against their number; the time is printed, because it is the machine's, too."""


@dataclass
class Pages:
    vms: int
    tells_total: bool
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.servers = [server(number) for number in range(self.vms)]
        self.storages = [storage(number) for number in range(self.vms)]
        self.addresses = [address(number) for number in range(self.vms)]

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        parts = urlsplit(target)
        what = parts.path.rpartition("/")[2]
        self.calls[what] += 1
        asked = dict(parse_qsl(parts.query))
        start, size = int(asked.get("offset", 0)), int(asked.get("limit", self.vms))
        told: dict[str, Any] = {
            "account": {"account": {"username": USERNAME}},
            "server": {"servers": {"server": self.servers[start : start + size]}},
            "storage": {"storages": {"storage": self.storages[start : start + size]}},
            "ip_address": {"ip_addresses": {"ip_address": self.addresses if what == "ip_address" else []}},
        }
        total = {"Upcloud-Total-Count": str(self.vms)} if self.tells_total and what in ("server", "storage") else {}
        return 200, total, json.dumps(told[what]).encode()


@FLEETS
@pytest.mark.parametrize("tells_total", [False, True])
def test_thousands_of_vms_are_listed_by_full_pages(
    tells_total: bool, vms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPCLOUD_TOKEN", TOKEN)
    pages = Pages(vms, tells_total)
    region = {"network": UUID, "node_addresses": "10.128.0.0/9", "zones": ["fi-hel1-a"]}
    settings = {"accounts": {"production": {"username": USERNAME, "regions": {"fi-hel1": region}}}}
    with serving(pages.answer) as port:
        file = tmp_path / "upcloud.yaml"
        file.write_text(yaml.safe_dump({**settings, "endpoint_url": f"http://127.0.0.1:{port}"}))
        cloud = UpcloudCloud("test", file)
        started = time.perf_counter()
        listing = cloud.list_place(PLACE)
        seconds = time.perf_counter() - started
    print(f"{vms} VMs and as many disks in {seconds:.1f} s")
    # Without a total a full last page says nothing about a next one: it is asked for, and is empty.
    asked = vms // PAGE if tells_total else vms // PAGE + 1
    assert pages.calls == {"account": 1, "server": asked, "storage": asked, "ip_address": 1}
    assert len({i.id for i in listing.instances}) == vms
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert len({i.address for i in listing.instances}) == vms
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)

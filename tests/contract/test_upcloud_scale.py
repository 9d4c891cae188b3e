"""Ten thousand VMs through the real SDK, against a small server that only knows how UpCloud gives pages."""

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
from tests.fakes.clouds.upcloud import TOKEN, USERNAME, Answer, serving

PLACE = Place("upcloud", "fi-hel1", "production")
VMS, CLUSTERS, PAGE = 10_000, 500, 100
MOST_SECONDS = 20.0
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


@dataclass
class Pages:
    calls: Counter[str] = field(default_factory=Counter)
    servers: list[dict[str, Any]] = field(default_factory=lambda: [server(n) for n in range(VMS)])
    storages: list[dict[str, Any]] = field(default_factory=lambda: [storage(n) for n in range(VMS)])
    addresses: list[dict[str, Any]] = field(default_factory=lambda: [address(n) for n in range(VMS)])

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        parts = urlsplit(target)
        what = parts.path.rpartition("/")[2]
        self.calls[what] += 1
        asked = dict(parse_qsl(parts.query))
        start, size = int(asked.get("offset", 0)), int(asked.get("limit", VMS))
        told: dict[str, Any] = {
            "account": {"account": {"username": USERNAME}},
            "server": {"servers": {"server": self.servers[start : start + size]}},
            "storage": {"storages": {"storage": self.storages[start : start + size]}},
            "ip_address": {"ip_addresses": {"ip_address": self.addresses if what == "ip_address" else []}},
        }
        return 200, {}, json.dumps(told[what]).encode()


def test_ten_thousand_vms_are_listed_by_full_pages_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPCLOUD_TOKEN", TOKEN)
    pages = Pages()
    region = {"network": UUID, "node_addresses": "10.128.0.0/9", "zones": ["fi-hel1-a"]}
    settings = {"accounts": {"production": {"username": USERNAME, "regions": {"fi-hel1": region}}}}
    with serving(pages.answer) as port:
        file = tmp_path / "upcloud.yaml"
        file.write_text(yaml.safe_dump({**settings, "endpoint_url": f"http://127.0.0.1:{port}"}))
        cloud = UpcloudCloud("test", file)
        started = time.perf_counter()
        listing = cloud.list_place(PLACE)
        seconds = time.perf_counter() - started
    print(f"{VMS} VMs and as many disks in {seconds:.1f} s")
    # A full last page says nothing about a next one: it is asked for, and is empty.
    assert pages.calls == {"account": 1, "server": VMS / PAGE + 1, "storage": VMS / PAGE + 1, "ip_address": 1}
    assert len({i.id for i in listing.instances}) == VMS
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert len({i.address for i in listing.instances}) == VMS
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)
    assert seconds < MOST_SECONDS

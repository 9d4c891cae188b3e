"""Thousands of VMs through the real SDK, against a small server that only knows how Compute Engine gives pages."""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from providers.google.cloud import GoogleCloud
from tests.fakes.clouds.google import GoogleFake
from tests.fakes.clouds.google_hands import HOME, PLACE, write_settings
from tests.fakes.clouds.google_world import BASE, NUMBER, PROJECT
from tests.fakes.clouds.loopback import serving

CLUSTERS = 500
BOOT_DATA = "#cloud-config\n" + "x" * 2000


def labels(number: int) -> dict[str, str]:
    return {
        "kedge-installation": "test",
        "kedge-region": HOME,
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-cluster-name": f"orders-{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
    }


def machine(number: int) -> dict[str, Any]:
    zone = f"{BASE}projects/{PROJECT}/zones/{HOME}-b"
    more = {"kedge-generation": "3", "kedge-intent": f"intent-{number}", "kedge-shape": "small"}
    disks = [(f"boot-{number}", True), (f"data-{number}", False)]
    return {
        "id": str(10**18 + number),
        "name": f"vm-{number}",
        "zone": zone,
        "selfLink": f"{zone}/instances/vm-{number}",
        "status": "RUNNING",
        "machineType": f"{zone}/machineTypes/n2d-standard-2",
        "labels": labels(number) | more,
        "metadata": {"items": [{"key": "user-data", "value": BOOT_DATA}]},
        "networkInterfaces": [{"networkIP": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}],
        "disks": [{"source": f"{zone}/disks/{name}", "boot": boot, "deviceName": name} for name, boot in disks],
    }


def disk(number: int) -> dict[str, Any]:
    zone = f"{BASE}projects/{PROJECT}/zones/{HOME}-b"
    return {
        "id": str(2 * 10**18 + number),
        "name": f"data-{number}",
        "zone": zone,
        "selfLink": f"{zone}/disks/data-{number}",
        "sizeGb": "1000",
        "users": [f"{zone}/instances/vm-{number}"],
        "labels": labels(number) | {"kedge-dir": "data", "kedge-version": "1"},
    }


FLEETS = pytest.mark.parametrize("vms", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
"""The calls are held against their number; the time is printed, because it is the machine's, too."""


@dataclass
class Pages:
    vms: int
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.made: dict[str, list[str]] = {
            "instances": [json.dumps(machine(n)) for n in range(self.vms)],
            "disks": [json.dumps(disk(n)) for n in range(self.vms)],
        }

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        asked = urlsplit(path)
        kind = asked.path.rpartition("/")[2]
        self.calls[kind] += 1
        if kind == "token":
            return 200, {}, b'{"access_token": "ya29.x", "expires_in": 3599, "token_type": "Bearer"}'
        if kind == PROJECT:
            return 200, {}, json.dumps({"name": PROJECT, "id": NUMBER}).encode()
        if kind == "addresses":
            return 200, {}, b"{}"
        query = dict(parse_qsl(asked.query))
        start, size = int(query.get("pageToken", 0)), int(query["maxResults"])
        more = f', "nextPageToken": "{start + size}"' if start + size < self.vms else ""
        page = ", ".join(self.made[kind][start : start + size])
        return 200, {}, f'{{"items": {{"zones/{HOME}-b": {{"{kind}": [{page}]}}}}{more}}}'.encode()


@FLEETS
def test_thousands_of_vms_are_listed_by_full_pages(vms: int, tmp_path: Path) -> None:
    pages = Pages(vms)
    with serving(pages.answer) as port:
        cloud = GoogleCloud("test", write_settings(tmp_path / "google.yaml", GoogleFake(port=port)))
        started, began = time.process_time(), time.perf_counter()
        listing = cloud.list_place(PLACE)
        seconds, passed = time.process_time() - started, time.perf_counter() - began
    print(f"{vms} VMs and as many disks in {seconds:.1f} s of the processor, {passed:.1f} s by the clock")
    assert pages.calls == {"token": 1, PROJECT: 1, "instances": vms / 500, "disks": vms / 500, "addresses": 1}
    assert len({i.id for i in listing.instances}) == vms
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)

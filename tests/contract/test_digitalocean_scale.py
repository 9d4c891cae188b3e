"""Thousands of Droplets through the real SDK, against a small server that only knows how DigitalOcean gives pages."""

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
from providers.digitalocean.cloud import DigitaloceanCloud
from providers.digitalocean.inventory import PAGE
from providers.digitalocean.tags import tag
from tests.fakes.clouds.digitalocean import TEAM, TOKEN
from tests.fakes.clouds.digitalocean_http import Answer, serving
from tests.fakes.clouds.digitalocean_shapes import VPC, account, droplet_of, region

PLACE = Place("digitalocean", "nyc3", "production")
CLUSTERS = 500


def owner(number: int) -> dict[str, str]:
    return {
        "kedge-installation": "test",
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
        "kedge-zone": "nyc3-a",
    }


def machine(number: int) -> dict[str, Any]:
    own = owner(number) | {
        "kedge-cluster-name": f"orders-{number % CLUSTERS}",
        "kedge-generation": "3",
        "kedge-intent": f"intent-{number}",
        "kedge-shape": "small",
        "kedge-image": "4.2.0",
    }
    words = [tag(key, value) for key, value in own.items()]
    made = droplet_of(number, {"name": f"b-{number}", "size": "g-2vcpu-8gb", "region": "nyc3", "image": 1}, words)
    return made | {"status": "active", "volume_ids": [f"volume-{number}"]}


def disk(number: int) -> dict[str, Any]:
    own = owner(number) | {"kedge-volume": f"brokers-{number // CLUSTERS}.data.v1"}
    return {
        "id": f"volume-{number}",
        "name": f"k-{number}",
        "size_gigabytes": 1000,
        "region": region("nyc3"),
        "droplet_ids": [number],
        "tags": [tag(key, value) for key, value in own.items()],
    }


FLEETS = pytest.mark.parametrize("vms", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
"""The calls are held against their number; the time is printed, because it is the machine's, too."""


@dataclass
class Pages:
    vms: int
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.made: dict[str, list[dict[str, Any]]] = {
            "droplets": [machine(n) for n in range(self.vms)],
            "volumes": [disk(n) for n in range(self.vms)],
        }

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        part, asked = urlsplit(target).path.removeprefix("/v2/"), dict(parse_qsl(urlsplit(target).query))
        self.calls[part] += 1
        if part == "account":
            return 200, {}, {"account": account(TEAM)}
        items, size, number = self.made[part], int(asked["per_page"]), int(asked["page"])
        assert asked.get("tag_name") == "kedge-installation:test" or asked.get("region") == "nyc3"
        pages = {"next": f"http://next/?page={number + 1}"} if number * size < len(items) else {}
        page = items[(number - 1) * size : number * size]
        return 200, {}, {part: page, "links": {"pages": pages}, "meta": {"total": len(items)}}


@FLEETS
def test_thousands_of_droplets_are_listed_by_full_pages(
    vms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", TOKEN)
    section = {"vpc": VPC, "firewall_tag": "kedge-network:test", "racks": ["nyc3-a"]}
    pages = Pages(vms)
    with serving(pages.answer) as port:
        file = tmp_path / "digitalocean.yaml"
        accounts = {"production": {"id": TEAM, "regions": {"nyc3": section}}}
        file.write_text(yaml.safe_dump({"accounts": accounts, "endpoint_url": f"http://127.0.0.1:{port}"}))
        cloud = DigitaloceanCloud("test", file)
        started = time.perf_counter()
        listing = cloud.list_place(PLACE)
        seconds = time.perf_counter() - started
    print(f"{vms} VMs and as many volumes in {seconds:.1f} s")
    assert pages.calls == {"account": 1, "droplets": vms / PAGE, "volumes": vms / PAGE}
    assert len({i.id for i in listing.instances}) == vms
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)

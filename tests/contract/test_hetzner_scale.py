"""Thousands of VMs through the real SDK, against a small server that only knows how Hetzner gives pages."""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from providers.base import Place
from providers.hetzner.cloud import HetznerCloud
from tests.fakes.clouds.hetzner import TOKEN, FakeHetzner, serving
from tests.fakes.clouds.hetzner_hands import write_settings
from tests.fakes.clouds.hetzner_objects import location

PLACE = Place("hetzner", "eu-central", "production")
CLUSTERS, PAGE = 500, 50


def owner(number: int) -> dict[str, str]:
    return {
        "kedge-installation": "test",
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-cluster-name": f"orders-{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
    }


def machine(number: int, template: dict[str, Any]) -> dict[str, Any]:
    own = {"kedge-generation": "3", "kedge-intent": f"intent-{number}", "kedge-shape": "small", "kedge-image": "4.2.0"}
    return {**template, "id": 1 + number, "labels": owner(number) | own, "volumes": [100_000 + number]}


def disk(number: int, template: dict[str, Any]) -> dict[str, Any]:
    own = {"kedge-dir": "data", "kedge-version": "1", "kedge-zone": "fsn1"}
    return {**template, "id": 100_000 + number, "labels": owner(number) | own, "server": 1 + number}


def templates(fake: FakeHetzner) -> tuple[dict[str, Any], dict[str, Any]]:
    """A server and a volume with all the fields they have, so that answers are as large as real ones."""
    project = fake.project
    body = {
        "name": "n",
        "server_type": "ccx13",
        "image": project.make_image("4.2.0"),
        "location": "fsn1",
        "networks": [min(project.networks)],
    }
    server = (project.act("POST", ["servers"], {}, body)[1] or {})["server"]
    volume = (project.act("POST", ["volumes"], {}, {"name": "v", "size": 100, "location": "fsn1"})[1] or {})["volume"]
    assert server["location"] == location("fsn1")
    return server, volume


FLEETS = pytest.mark.parametrize("vms", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
"""The calls are held against their number; the time is printed, because it is the machine's, too."""


@dataclass
class Pages:
    """Every page as text, made once: what is measured is the client, not the making."""

    vms: int
    fake: FakeHetzner
    calls: Counter[str] = field(default_factory=Counter)
    made: dict[tuple[str, int], bytes] = field(default_factory=dict)

    def fill(self) -> None:
        server, volume = templates(self.fake)
        for kind, items in {
            "servers": [machine(n, server) for n in range(self.vms)],
            "volumes": [disk(n, volume) for n in range(self.vms)],
        }.items():
            last = len(items) // PAGE
            for page in range(1, last + 1):
                pagination = {"page": page, "next_page": page + 1 if page < last else None, "total_entries": self.vms}
                told = {kind: items[(page - 1) * PAGE : page * PAGE], "meta": {"pagination": pagination}}
                self.made[kind, page] = json.dumps(told).encode()

    def answer(self, method: str, path: str, token: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        url = urlsplit(path)
        kind = url.path.removeprefix("/v1/")
        if kind not in ("servers", "volumes"):
            return self.fake.answer(method, path, token, body)
        self.calls[kind] += 1
        query = parse_qs(url.query)
        assert query["per_page"] == [str(PAGE)]
        return 200, {}, self.made[kind, int(query["page"][0])]


@FLEETS
def test_thousands_of_vms_are_listed_by_full_pages(vms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    fake = FakeHetzner()
    pages = Pages(vms, fake)
    with serving(pages.answer) as fake.port:
        file = write_settings(tmp_path / "hetzner.yaml", fake)
        pages.fill()
        cloud = HetznerCloud("test", file)
        started, worked = time.perf_counter(), time.process_time()
        listing = cloud.list_place(PLACE)
        # Of the processor, the server's part with it: what is left waits for whoever else is on the machine.
        seconds = time.process_time() - worked
    print(f"{vms} VMs and as many volumes in {seconds:.1f} s of work, {time.perf_counter() - started:.1f} s in all")
    assert pages.calls == {"servers": vms / PAGE, "volumes": vms / PAGE}
    assert len({i.id for i in listing.instances}) == vms
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)

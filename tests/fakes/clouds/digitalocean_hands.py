"""Hands in a fake DigitalOcean: what Terraform, the module and fate do there, for tests without Terraform."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.base import Place, Resources
from providers.catalog import EPHEMERAL
from providers.digitalocean.cloud import DigitaloceanCloud
from providers.digitalocean.tags import VOLUME, ZONE, tag, tags_of
from providers.errors import RateLimited
from providers.tags import CLUSTER_UID, GENERATION, INSTALLATION, NODE
from tests.fakes.clouds.digitalocean import (
    TEAM,
    TOKEN,
    DigitaloceanFake,
    RefusedError,
    digitalocean_cloud,
)
from tests.fakes.clouds.digitalocean_shapes import VPC
from tests.fakes.clouds.faults import Fault, Faults

REGION, SECOND_REGION = "nyc3", "fra1"
PLACE = Place("digitalocean", REGION, "production")
SECOND_PLACE = Place("digitalocean", SECOND_REGION, "production")
FIREWALL_TAG = "kedge-network:test-nyc3"


def write_settings(
    path: Path, fake: DigitaloceanFake, *, team: str = TEAM, plugins: Path | None = None, port: int | None = None
) -> Path:
    """A `digitalocean.yaml` for that fake."""
    regions = {
        region: {
            "vpc": VPC,
            "firewall_tag": FIREWALL_TAG,
            "racks": [f"{region}-{letter}" for letter in "abc"],
            "images": {"4.1.1": 163663980, "4.2.0": 163663981},
        }
        for region in (REGION, SECOND_REGION)
    }
    file: dict[str, Any] = {
        "accounts": {"production": {"id": team, "ssh_keys": [289794], "regions": regions}},
        "endpoint_url": f"http://127.0.0.1:{port or fake.port}",
    }
    if plugins is not None:
        # A cluster's whole life in half a minute takes more calls than DigitalOcean allows in two.
        file |= {"plugins": str(plugins), "calls": {"burst": 5_000, "per_s": 500.0}}
    path.write_text(yaml.safe_dump(file))
    return path


@dataclass
class DigitaloceanHarness:
    """See the harness of tests/contract/test_cloud_provider.py. No node owns an address here, so none is made."""

    cloud: DigitaloceanCloud
    fake: DigitaloceanFake
    place: Place = PLACE
    second: Place = SECOND_PLACE

    def zone(self, letter: str) -> str:
        return f"{REGION}-{letter}"

    def id_of(self, key: str, uid: str = "") -> str:
        """The newest instance of that key, of that cluster where one is named; a test's own look, which no fault or lag
        changes."""
        return str(self._droplets(key, uid)[-1]["id"])

    def here(self, wanted: Resources) -> Resources:
        """The rendered set of a test, in this cloud's place and racks, without addresses of nodes."""
        return replace(
            wanted,
            place=self.place,
            instances=tuple(replace(i, zone=self.zone(i.zone)) for i in wanted.instances),
            volumes=tuple(replace(v, zone=self.zone(v.zone)) for v in wanted.volumes),
            addresses=(),
            bindings=(),
        )

    def create(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        owner = [tag(INSTALLATION, made["installation_id"]), tag(CLUSTER_UID, made["cluster_uid"])]
        for key, v in made["volumes"].items():
            if _meant(f"volume/{key}", only) and v["kind"] != EPHEMERAL:
                words = [*owner, tag(VOLUME, key), tag(NODE, v["node"]), tag(ZONE, v["zone"])]
                name = f"k-{made['cluster_uid']}-{key}".replace(".", "-")
                self.ask(
                    "POST", "volumes", name=name, region=self.place.region, size_gigabytes=v["size_gib"], tags=words
                )
        for key, i in made["instances"].items():
            if _meant(f"instance/{key}", only):
                words = [*(f"{k}:{v}" for k, v in i["tags"].items()), tag(ZONE, i["zone"])]
                self.ask(
                    "POST",
                    "droplets",
                    name=f"orders-{key}",
                    region=self.place.region,
                    size=i["shape"],
                    image=int(i["image"]),
                    user_data=i["boot_data"],
                    ipv6=i.get("ipv6", False),
                    tags=words,
                )
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._act("attach", t, wanted.cluster_uid)

    def delete(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._act("detach", t, wanted.cluster_uid)
        for key in made["instances"]:
            if _meant(f"instance/{key}", only):
                for droplet in self._droplets(key, wanted.cluster_uid)[-1:]:
                    self.ask("DELETE", f"droplets/{droplet['id']}")

    def discard(self, wanted: Resources, target: str) -> None:
        """Deletes a volume, which outlives VMs; no node owns an address here."""
        self.ask("DELETE", f"volumes/{self._volume(target.partition('/')[2], wanted.cluster_uid)}")

    def power_cut(self, vm_id: str) -> None:
        """A VM that somebody destroyed: DigitalOcean itself keeps the VM of a host that died."""
        self.fake.power_cut(int(vm_id))

    def fail_once(self, error: type[Exception]) -> None:
        limited = error is RateLimited
        throttle = Fault("*", "too_many_requests", 429, headers={"retry-after": "1"})
        self.fake.faults.append(throttle if limited else Fault("*", "server_error"))

    def lag(self, listings: int) -> None:
        self.fake.faults.lag = listings

    def ignore_one_destroy(self) -> None:
        self.fake.ignored_deletions = 1

    def other_installation(self) -> "DigitaloceanHarness":
        return replace(self, cloud=DigitaloceanCloud("other", self.cloud.settings_file, attempts=1))

    def ask(self, method: str, path: str, **given: Any) -> Any:
        """A call of a test's own hands. Raises `RefusedError` on an answer of 400 or above."""
        kept, self.fake.faults = self.fake.faults, Faults()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        status, _, told = self.fake.answer(method, f"/v2/{path}", headers, json.dumps(given).encode())
        self.fake.faults = kept
        self.fake.settle()
        if status >= 400:
            raise RefusedError(status, str(told))
        return told

    def _act(self, kind: str, tie: dict[str, str], uid: str) -> None:
        volume = self._volume(tie["volume"], uid)
        self.ask("POST", f"volumes/{volume}/actions", type=kind, droplet_id=int(self.id_of(tie["instance"], uid)))

    def _droplets(self, key: str, uid: str) -> list[dict[str, Any]]:
        found = [(d, tags_of(d["tags"])) for d in self.fake.droplets.values()]
        found = [(d, t) for d, t in found if uid in ("", t.get(CLUSTER_UID))]
        return [d for d, t in found if f"{t.get(NODE)}.g{t.get(GENERATION)}" == key]

    def _volume(self, key: str, uid: str) -> str:
        found = [(v, tags_of(v["tags"])) for v in self.fake.volumes.values()]
        return next(str(v["id"]) for v, t in found if (t.get(VOLUME), t.get(CLUSTER_UID)) == (key, uid))


def _meant(target: str, only: tuple[str, ...]) -> bool:
    return not only or target in only


@contextmanager
def digitalocean_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DigitaloceanHarness]:
    """An empty team and its hands."""
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", TOKEN)
    with digitalocean_cloud() as fake:
        settings = write_settings(tmp_path / "digitalocean.yaml", fake)
        yield DigitaloceanHarness(DigitaloceanCloud("test", settings, attempts=1), fake)

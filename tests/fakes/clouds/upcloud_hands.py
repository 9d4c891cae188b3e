"""Hands in a fake UpCloud: what Terraform, the module and fate do there, for tests without Terraform."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers import tags
from providers.base import Place, Resources
from providers.catalog import EPHEMERAL
from providers.errors import RateLimited
from providers.upcloud.cloud import UpcloudCloud
from providers.upcloud.tags import ADDRESS, REGION, VOLUME, ZONE, labels_of
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.upcloud import TOKEN, USERNAME, UpcloudServer, upcloud_cloud
from tests.fakes.clouds.upcloud_things import Body

HOME, SECOND_HOME = "fi-hel1", "de-fra1"
PLACE = Place("upcloud", HOME, "production")
SECOND_PLACE = Place("upcloud", SECOND_HOME, "production")
NETWORK, NODE_ADDRESSES = "10.20.0.0/20", "10.20.8.0/21"


def write_settings(
    path: Path, upcloud: UpcloudServer, *, username: str = USERNAME, plugins: Path | None = None
) -> Path:
    """An `upcloud.yaml` for networks, templates and server groups that are made in the fake now."""
    regions = {region: region_settings(upcloud, region) for region in (HOME, SECOND_HOME)}
    file: dict[str, Any] = {
        "accounts": {"production": {"username": username, "regions": regions}},
        "endpoint_url": upcloud.url,
    }
    if plugins is not None:
        file["plugins"] = str(plugins)
    path.write_text(yaml.safe_dump(file))
    return path


def region_settings(upcloud: UpcloudServer, region: str) -> dict[str, Any]:
    """The section of one region, and what it names."""
    things = upcloud.things
    ranges = {"ip_network": [{"address": NETWORK, "dhcp": "yes", "family": "IPv4"}]}
    network = things.create_network({"name": "kedge", "zone": region, "ip_networks": ranges})
    group = f"0b00000a-0000-4000-8000-{len(things.groups):012d}"
    things.groups[group] = {
        "uuid": group,
        "title": "kedge",
        "anti_affinity": "yes",
        "labels": {"label": []},
        "servers": {"server": []},
    }
    return {
        "network": network["uuid"],
        "network_range": NETWORK,
        "node_addresses": NODE_ADDRESSES,
        "zones": [f"{region}-{letter}" for letter in "abc"],
        "server_group": group,
        "images": {version: things.add_template(f"kafka-{version}", region) for version in ("4.1.1", "4.2.0")},
    }


@dataclass
class UpcloudHarness:
    """See the harness of tests/contract/test_cloud_provider.py. Zones `a`, `b`, `c` of a test are racks of `HOME`.

    As in the module, a server gets its disks and its address when it is made, and loses them when it is deleted.
    """

    cloud: UpcloudCloud
    upcloud: UpcloudServer
    place: Place = PLACE
    second: Place = SECOND_PLACE

    def zone(self, letter: str) -> str:
        return f"{HOME}-{letter}"

    def id_of(self, key: str, uid: str = "") -> str:
        """The newest instance of that key, of that cluster where one is named; a test's own look, which no fault or lag
        changes."""
        return [uuid for uuid, s in self.upcloud.things.servers.items() if _is(labels_of(s), key, uid)][-1]

    def here(self, wanted: Resources) -> Resources:
        """The rendered set of a test, in this cloud's place and zones."""
        return replace(
            wanted,
            place=self.place,
            instances=tuple(replace(i, zone=self.zone(i.zone)) for i in wanted.instances),
            volumes=tuple(replace(v, zone=self.zone(v.zone)) for v in wanted.volumes),
            addresses=tuple(replace(a, zone=self.zone(a.zone)) for a in wanted.addresses),
        )

    def create(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        for key, v in made["volumes"].items():
            if _meant(f"volume/{key}", only) and v["kind"] != EPHEMERAL:
                self.upcloud.things.create_storage(_storage(made, key, v))
        for key, i in made["instances"].items():
            if _meant(f"instance/{key}", only):
                held = [
                    self.volume_id(t["volume"], wanted.cluster_uid)
                    for name, t in made["attachments"].items()
                    if t["instance"] == key
                    and _meant(f"attachment/{name}", only)
                    and made["volumes"][t["volume"]]["kind"] != EPHEMERAL
                ]
                bound = [b["node"] for k, b in made["bindings"].items() if k == key and _meant(f"binding/{k}", only)]
                address = made["addresses"][bound[0]]["address"] if bound else None
                self.upcloud.things.create_server(_server(made, key, i, held, address))

    def delete(self, wanted: Resources, *only: str) -> None:
        """What hangs on a VM goes with it; without it, an attachment and a binding are names, and nothing is done."""
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        for key in made["instances"]:
            if _meant(f"instance/{key}", only) and self._there(key, wanted.cluster_uid):
                self._delete_server(self.id_of(key, wanted.cluster_uid))

    def discard(self, wanted: Resources, target: str) -> None:
        """Deletes a volume, which outlives VMs; a node's address is a name, and nothing is done."""
        word, _, key = target.partition("/")
        if word == "volume":
            self.upcloud.things.delete_storage(self.volume_id(key, wanted.cluster_uid))

    def power_cut(self, vm_id: str) -> None:
        """What is left of a VM that somebody deleted: nothing. UpCloud itself starts one whose host died elsewhere."""
        self.upcloud.things.drop_server(vm_id)

    def fail_once(self, error: type[Exception]) -> None:
        limited = error is RateLimited
        code, status = ("TOO_MANY_REQUESTS", 429) if limited else ("SERVICE_ERROR", 500)
        self.upcloud.faults.append(Fault("*", code, status))

    def lag(self, listings: int) -> None:
        self.upcloud.faults.lag = listings

    def ignore_one_destroy(self) -> None:
        self.upcloud.ignored_terminations = 1

    def other_installation(self) -> "UpcloudHarness":
        return replace(self, cloud=UpcloudCloud("other", self.cloud.settings_file, attempts=1, sleep=no_sleep))

    def _there(self, key: str, uid: str) -> bool:
        return any(_is(labels_of(s), key, uid) for s in self.upcloud.things.servers.values())

    def _delete_server(self, uuid: str) -> None:
        if self.upcloud.ignored_terminations > 0:
            self.upcloud.ignored_terminations -= 1
            return
        things = self.upcloud.things
        things.server(uuid)
        things.stop_server(uuid)
        things.server(uuid)
        things.delete_server(uuid)

    def volume_id(self, key: str, uid: str) -> str:
        found = ((uuid, labels_of(s)) for uuid, s in self.upcloud.things.storages.items())
        return next(u for u, own in found if (own.get(VOLUME), own.get(tags.CLUSTER_UID)) == (key, uid))


@contextmanager
def upcloud_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UpcloudHarness]:
    """An empty account, and the cloud that looks at it; over when the block ends."""
    monkeypatch.setenv("UPCLOUD_TOKEN", TOKEN)
    with upcloud_cloud() as upcloud:
        file = write_settings(tmp_path / "upcloud.yaml", upcloud)
        yield UpcloudHarness(UpcloudCloud("test", file, attempts=1, sleep=no_sleep), upcloud)


def no_sleep(_: float) -> None:
    """For clouds of a test: the fake needs no time."""


def _storage(made: dict[str, Any], key: str, v: dict[str, Any]) -> Body:
    owned = made["addresses"].get(v["node"])
    own = {
        tags.INSTALLATION: made["installation_id"],
        tags.CLUSTER_UID: made["cluster_uid"],
        tags.NODE: v["node"],
        VOLUME: key,
        ZONE: v["zone"],
        REGION: made["region"],
        **({ADDRESS: owned["address"]} if owned else {}),
    }
    return {"title": key, "size": v["size_gib"], "tier": "maxiops", "zone": made["region"], "labels": _listed(own)}


def _server(made: dict[str, Any], key: str, i: dict[str, Any], held: list[str], address: str | None) -> Body:
    root = {"action": "clone", "storage": i["image"], "title": f"{key}-root", "size": 25, "tier": "maxiops"}
    asked = {"family": "IPv4", **({"address": address} if address else {})}
    interface = {
        "type": "private",
        "network": made["cloud"]["network"],
        "ip_addresses": {"ip_address": [asked]},
    }
    anyone = {"type": "public", "ip_addresses": {"ip_address": [{"family": "IPv4"}]}}
    public = [anyone] if i.get("public_address") else []
    return {
        "hostname": key,
        "title": key,
        "zone": made["region"],
        "plan": i["shape"],
        "server_group": made["cloud"]["server_group"],
        "labels": {"label": _listed(i["tags"] | ({ADDRESS: address} if address else {}))},
        "storage_devices": {"storage_device": [root, *({"action": "attach", "storage": s} for s in held)]},
        "networking": {"interfaces": {"interface": [interface, *public]}},
        "user_data": i["boot_data"],
    }


def _listed(given: dict[str, str]) -> list[Body]:
    return [{"key": k, "value": v} for k, v in given.items()]


def _meant(target: str, only: tuple[str, ...]) -> bool:
    return not only or target in only


def _is(own: dict[str, str], key: str, uid: str) -> bool:
    return f"{own.get(tags.NODE)}.g{own.get(tags.GENERATION)}" == key and uid in ("", own.get(tags.CLUSTER_UID))

"""Hands in a fake Azure: what Terraform, the module and fate do there, by plain calls, for tests without Terraform."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers import tags
from providers.azure.cloud import AzureCloud
from providers.azure.tags import VOLUME, ZONE
from providers.base import Place, Resources
from providers.catalog import EPHEMERAL
from providers.errors import RateLimited
from tests.fakes.clouds.azure import ACCOUNT, TENANT, AzureCloudFake, azure_cloud
from tests.fakes.clouds.faults import Fault

REGION, SECOND_REGION = "westeurope", "northeurope"
PLACE = Place("azure", REGION, "production")
SECOND_PLACE = Place("azure", SECOND_REGION, "production")
SECRET = "canary-secret"
CLIENT = "cccccccc-1111-2222-3333-444444444444"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample ops"
GROUP = f"/subscriptions/{ACCOUNT}/resourceGroups/kedge"
NETWORK = f"{GROUP}/providers/Microsoft.Network"
IMAGES = f"{GROUP}/providers/Microsoft.Compute/galleries/kedge/images/kafka/versions"

_PLACES = {"a": "1", "b": "2", "c": "3"}


def write_settings(path: Path, azure: AzureCloudFake, *, plugins: Path | None = None, **more: Any) -> Path:
    """An `azure.yaml`, and the group, the network and a subnet per zone that it names. `more` goes into the account."""
    regions: dict[str, Any] = {}
    azure.by_hand("PUT", GROUP, {"location": REGION})
    for number, region in enumerate((REGION, SECOND_REGION)):
        network = f"{NETWORK}/virtualNetworks/{region}"
        azure.by_hand("PUT", network, {"location": region, "properties": {}})
        zones = {}
        for letter, place in _PLACES.items():
            subnet = f"{network}/subnets/{letter}"
            prefix = f"10.{20 + number}.{place}.0/24"
            azure.by_hand("PUT", subnet, {"properties": {"addressPrefix": prefix}})
            zones[f"{region}-{place}"] = {"place": place, "subnet": subnet}
        images = {version: {"x86_64": f"{IMAGES}/{version}"} for version in ("4.1.1", "4.2.0")}
        regions[region] = {"resource_group": "kedge", "zones": zones, "images": images}
    account = {"id": ACCOUNT, "tenant_id": TENANT, "client_id": CLIENT, "ssh_key": KEY, "regions": regions, **more}
    file: dict[str, Any] = {"accounts": {"production": account}, "endpoint_url": azure.url}
    if plugins is not None:
        file["plugins"] = str(plugins)
    path.write_text(yaml.safe_dump(file))
    return path


@dataclass
class AzureHarness:
    """See the harness of tests/contract/test_cloud_provider.py. Zones `a`, `b`, `c` are 1, 2, 3 of a region."""

    cloud: AzureCloud
    azure: AzureCloudFake
    place: Place = PLACE
    second: Place = SECOND_PLACE

    def zone(self, letter: str) -> str:
        return f"{REGION}-{_PLACES[letter]}"

    def id_of(self, key: str, uid: str = "") -> str:
        """The VM of that key, of that cluster where one is named; a test's own look, which no fault or lag changes."""
        found = [t for t in self.azure.things.by_id.values() if t["type"].endswith("virtualmachines")]
        return next(str(t["id"]) for t in found if _is(t.get("tags", {}), key, uid))

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
        uid = wanted.cluster_uid
        owner = {tags.INSTALLATION: made["installation_id"], tags.CLUSTER_UID: uid}
        for key, a in made["addresses"].items():
            if _meant(f"address/{key}", only):
                self._interface(uid, key, made["cloud"][f"subnet_{a['zone']}"], owner | {tags.NODE: key})
        for key, v in made["volumes"].items():
            if _meant(f"volume/{key}", only) and v["kind"] != EPHEMERAL:
                self._put(
                    _disk(uid, key),
                    {"diskSizeGB": v["size_gib"], "creationData": {"createOption": "Empty"}},
                    tags=owner | {VOLUME: key, tags.NODE: v["node"], ZONE: v["zone"]},
                    zones=[made["cloud"][f"zone_{v['zone']}"]],
                )
        ties = made["bindings"].values()
        bound = {b["instance"]: b["node"] for b in ties if _meant(f"binding/{b['instance']}", only)}
        for key, i in made["instances"].items():
            if _meant(f"instance/{key}", only):
                if key not in bound:
                    public = _public(uid, key) if i.get("public_address") else ""
                    if public:
                        told = {"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"}
                        self._put(public, told, tags=owner, sku={"name": "Standard"})
                    subnet = made["cloud"][f"subnet_{i['zone']}"]
                    self._interface(uid, key, subnet, owner, ipv6=i.get("ipv6", False), public=public)
                self._machine(uid, key, i, made["cloud"], bound.get(key, key))
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._disks(_machine(uid, t["instance"]), add=_disk(uid, t["volume"]))

    def delete(self, wanted: Resources, *only: str) -> None:
        made: dict[str, Any] = self.cloud.variables(self.here(wanted))
        uid = wanted.cluster_uid
        gone = {key for key in made["instances"] if _meant(f"instance/{key}", only)}
        for key, t in made["attachments"].items():
            if _meant(f"attachment/{key}", only) and made["volumes"][t["volume"]]["kind"] != EPHEMERAL:
                self._disks(_machine(uid, t["instance"]), remove=_disk(uid, t["volume"]))
        for key in gone:
            self.azure.by_hand("DELETE", _machine(uid, key))
            if _machine(uid, key).lower() not in self.azure.things.by_id:
                self.azure.by_hand("DELETE", _nic(uid, key))
                self.azure.by_hand("DELETE", _public(uid, key))
                self.azure.by_hand("DELETE", _disk(uid, f"{key}-os"))

    def discard(self, wanted: Resources, target: str) -> None:
        """Deletes a volume or a node's address: what outlives VMs."""
        word, _, key = target.partition("/")
        self.azure.by_hand("DELETE", (_disk if word == "volume" else _nic)(wanted.cluster_uid, key))

    def power_cut(self, vm_id: str) -> None:
        """Somebody deletes a VM: a host that dies takes none with it in Azure, its VM is started elsewhere."""
        self.azure.things.delete(vm_id.lower())

    def fail_once(self, error: type[Exception]) -> None:
        limited = error is RateLimited
        code, status = ("TooManyRequests", 429) if limited else ("InternalServerError", 500)
        self.azure.faults.append(Fault("*", code, status))

    def lag(self, listings: int) -> None:
        self.azure.faults.lag = listings

    def ignore_one_destroy(self) -> None:
        self.azure.ignored_terminations = 1

    def other_installation(self) -> "AzureHarness":
        return replace(self, cloud=AzureCloud("other", self.cloud.settings_file, attempts=1))

    def _machine(self, uid: str, key: str, told: dict[str, Any], cloud: dict[str, str], nic: str) -> None:
        ssh = {"publicKeys": [{"path": "/home/kedge/.ssh/authorized_keys", "keyData": KEY}]}
        self._put(
            _machine(uid, key),
            {
                "hardwareProfile": {"vmSize": told["shape"]},
                "storageProfile": {
                    "imageReference": {"id": told["image"]},
                    "osDisk": {"name": _disk(uid, f"{key}-os").rpartition("/")[2], "createOption": "FromImage"},
                },
                "osProfile": {"computerName": "kedge", "adminUsername": "kedge", "linuxConfiguration": {"ssh": ssh}},
                "networkProfile": {"networkInterfaces": [{"id": _nic(uid, nic)}]},
                **({"priority": "Spot", "evictionPolicy": "Delete"} if told.get("spot") else {}),
            },
            tags=told["tags"],
            zones=[cloud[f"zone_{told['zone']}"]],
        )

    def _interface(
        self, uid: str, key: str, subnet: str, own: dict[str, str], *, ipv6: bool = False, public: str = ""
    ) -> None:
        address = {"subnet": {"id": subnet}, "privateIPAllocationMethod": "Dynamic"}
        called = {"publicIPAddress": {"id": public}} if public else {}
        told: list[dict[str, Any]] = [{"name": "own", "properties": {**address, **called}}]
        if ipv6:
            told.append({"name": "ipv6", "properties": {**address, "privateIPAddressVersion": "IPv6"}})
        self._put(_nic(uid, key), {"ipConfigurations": told}, tags=own)

    def _disks(self, machine: str, *, add: str = "", remove: str = "") -> None:
        told = self.azure.by_hand("GET", machine)
        there = told["properties"]["storageProfile"]["dataDisks"]
        kept = [d for d in there if d["managedDisk"]["id"] != remove]
        free = next(n for n in range(64) if n not in {d["lun"] for d in kept})
        new = [{"lun": free, "createOption": "Attach", "managedDisk": {"id": add}}] if add else []
        told["properties"]["storageProfile"]["dataDisks"] = kept + new
        self.azure.by_hand("PUT", machine, told)

    def _put(self, arm_id: str, properties: dict[str, Any], **more: Any) -> None:
        self.azure.by_hand("PUT", arm_id, {"location": self.place.region, "properties": properties, **more})


@contextmanager
def azure_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureHarness]:
    """A cloud on an empty fake, with one try a call."""
    monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
    with azure_cloud() as azure:
        yield AzureHarness(AzureCloud("test", write_settings(tmp_path / "azure.yaml", azure), attempts=1), azure)


def _meant(target: str, only: tuple[str, ...]) -> bool:
    return not only or target in only


def _is(own: dict[str, str], key: str, uid: str) -> bool:
    return f"{own.get(tags.NODE)}.g{own.get(tags.GENERATION)}" == key and uid in ("", own.get(tags.CLUSTER_UID))


def _machine(uid: str, key: str) -> str:
    return f"{GROUP}/providers/Microsoft.Compute/virtualMachines/" + f"{uid}-{key}".replace(".", "-")


def _nic(uid: str, key: str) -> str:
    return f"{NETWORK}/networkInterfaces/" + f"{uid}-{key}".replace(".", "-")


def _public(uid: str, key: str) -> str:
    return f"{NETWORK}/publicIPAddresses/" + f"{uid}-{key}".replace(".", "-")


def _disk(uid: str, key: str) -> str:
    return f"{GROUP}/providers/Microsoft.Compute/disks/" + f"{uid}-{key}".replace(".", "-")

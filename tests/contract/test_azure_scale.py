"""Thousands of VMs through the real SDK, against a small server that only knows how Azure gives pages."""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from providers.azure.cloud import AzureCloud
from tests.fakes.clouds.azure import ACCOUNT, TENANT
from tests.fakes.clouds.azure_hands import CLIENT, GROUP, IMAGES, KEY, NETWORK, PLACE, REGION, SECRET
from tests.fakes.clouds.loopback import serving

CLUSTERS = 500
PAGE = 1000
COMPUTE = f"{GROUP}/providers/Microsoft.Compute"


def own(number: int) -> dict[str, str]:
    return {
        "kedge-installation": "test",
        "kedge-cluster-uid": f"uid{number % CLUSTERS}",
        "kedge-cluster-name": f"orders-{number % CLUSTERS}",
        "kedge-node": f"brokers-{number // CLUSTERS}",
        "kedge-zone": f"{REGION}-1",
    }


def thing(arm_id: str, tags: dict[str, str], properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": arm_id, "location": REGION, "tags": tags, "properties": properties, **more}


def machine(n: int) -> dict[str, Any]:
    more = {"kedge-generation": "3", "kedge-intent": f"intent-{n}", "kedge-shape": "small", "kedge-image": "4.2.0"}
    properties = {
        "provisioningState": "Succeeded",
        "vmId": f"{n}",
        "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
        "storageProfile": {
            "imageReference": {"id": f"{IMAGES}/4.2.0"},
            "osDisk": {"osType": "Linux", "managedDisk": {"id": f"{COMPUTE}/disks/os-{n}"}},
            "dataDisks": [{"lun": 0, "createOption": "Attach", "managedDisk": {"id": f"{COMPUTE}/disks/data-{n}"}}],
        },
        "networkProfile": {"networkInterfaces": [{"id": f"{NETWORK}/networkInterfaces/nic-{n}"}]},
    }
    return thing(f"{COMPUTE}/virtualMachines/vm-{n}", own(n) | more, properties, zones=["1"])


def status(n: int) -> dict[str, Any]:
    view = {"statuses": [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/running"}]}
    return thing(f"{COMPUTE}/virtualMachines/vm-{n}", {}, {"instanceView": view})


def disk(n: int) -> dict[str, Any]:
    key = {"kedge-volume": f"brokers-{n // CLUSTERS}.data.v1"}
    holder = f"{COMPUTE}/virtualMachines/vm-{n}"
    return thing(f"{COMPUTE}/disks/data-{n}", own(n) | key, {"diskSizeGB": 1000}, managedBy=holder)


def interface(n: int) -> dict[str, Any]:
    address = f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"
    tags = {name: value for name, value in own(n).items() if name != "kedge-node"}
    configurations = [{"name": "own", "properties": {"privateIPAddress": address}}]
    return thing(f"{NETWORK}/networkInterfaces/nic-{n}", tags, {"ipConfigurations": configurations})


FLEETS = pytest.mark.parametrize("vms", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
"""The calls are held against their number; the time is printed, because it is the machine's, too."""


@dataclass
class Pages:
    vms: int
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.made: dict[str, list[dict[str, Any]]] = {
            "virtualMachines": [machine(n) for n in range(self.vms)],
            "statuses": [status(n) for n in range(self.vms)],
            "disks": [disk(n) for n in range(self.vms)],
            "networkInterfaces": [interface(n) for n in range(self.vms)],
        }

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        url = urlsplit(path)
        query = parse_qs(url.query)
        kind = "statuses" if "statusOnly" in query else url.path.rpartition("/")[2]
        told: dict[str, Any] = {"subscriptionId": ACCOUNT, "tenantId": TENANT, "state": "Enabled"}
        if kind in self.made:
            start = int(query.get("$skiptoken", ["0"])[0])
            told = {"value": self.made[kind][start : start + PAGE]}
            if start + PAGE < self.vms:
                only = "&statusOnly=true" if kind == "statuses" else ""
                told["nextLink"] = f"http://{headers['Host']}{url.path}?api-version=1{only}&$skiptoken={start + PAGE}"
        self.calls[kind] += 1
        return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()


@FLEETS
def test_thousands_of_vms_are_listed_by_full_pages(vms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
    subnet = f"{NETWORK}/virtualNetworks/n/subnets/a"
    region = {"resource_group": "kedge", "zones": {f"{REGION}-1": {"place": "1", "subnet": subnet}}}
    account = {"id": ACCOUNT, "tenant_id": TENANT, "client_id": CLIENT, "ssh_key": KEY, "regions": {REGION: region}}
    pages = Pages(vms)
    with serving(pages.answer) as port:
        file = tmp_path / "azure.yaml"
        file.write_text(
            yaml.safe_dump({"accounts": {"production": account}, "endpoint_url": f"http://127.0.0.1:{port}"})
        )
        cloud = AzureCloud("test", file)
        started = time.perf_counter()
        listing = cloud.list_place(PLACE)
        seconds = time.perf_counter() - started
    print(f"{vms} VMs with their states, as many volumes and interfaces in {seconds:.1f} s")
    kinds = ("virtualMachines", "statuses", "disks", "networkInterfaces")
    assert pages.calls == {ACCOUNT: 1, **dict.fromkeys(kinds, vms / PAGE)}
    assert len({i.id for i in listing.instances}) == vms
    assert len({i.cluster_uid for i in listing.instances}) == CLUSTERS
    assert len({i.address for i in listing.instances}) == vms
    assert all(i.volumes == (f"{i.node}.data.v1",) for i in listing.instances)
    assert all(re.fullmatch(r"brokers-\d+\.g3", v.attached_to or "") for v in listing.volumes)
    assert dict(listing.node_addresses) == {}

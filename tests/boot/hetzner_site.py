"""A company with a project at Hetzner: its networks there, and outside of them Kedge's server, clients and strangers.

Two servers of its own stand in the private network and pass packets on, as a VPN's would: one for the network of the
server, one for the network where clients are.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from providers.software import Software
from tests.boot import namespaces
from tests.boot.cloud_network import Card
from tests.boot.debian_vm import ran
from tests.boot.living_hetzner import LivingHetzner
from tests.fakes.clouds.hetzner import fake_hetzner
from tests.fakes.clouds.hetzner_objects import Project

SERVER, CLIENT, STRANGER = "192.168.50.5", "192.168.60.7", "192.168.70.9"
CLIENTS = "192.168.60.0/24"
NETWORK, NODE_NETWORK = "10.20.0.0/16", "10.21.0.0/16"
SUBNETS = {"fsn1": "10.20.0.0/24", "hel1": "10.20.1.0/24", "nbg1": "10.20.2.0/24"}
MEMBER_RANGE, NODE_RANGE = "10.21.0.0/24", "10.21.1.0/24"
_VPN, _OFFICE = "10.20.255.2", "10.20.255.3"


@dataclass
class HetznerSite:
    """`server` is the namespace of Kedge's server and of the mirror, `outside` that of clients and strangers."""

    living: LivingHetzner
    server: str = f"kedge-{os.getpid()}-srv"
    outside: str = f"kedge-{os.getpid()}-out"
    _ids: dict[str, int] = field(default_factory=dict)

    def open(self) -> "HetznerSite":
        project = self.living.hetzner.project
        subnets = [*SUBNETS.values(), "10.20.255.0/24"]
        self._ids = {
            "network": _network(project, "company", NETWORK, subnets),
            "node_network": _network(project, "company-nodes", NODE_NETWORK, [MEMBER_RANGE, NODE_RANGE]),
            "image": project.make_image("debian-12"),
        }
        self.living.open()
        ran("ip", "-n", self.outside, "address", "add", f"{STRANGER}/32", "dev", "lo")
        network = self.living.networks[self._ids["network"]]
        network.join(Card(self.server, "vpn0", _VPN), own=SERVER)
        network.join(Card(self.outside, "office0", _OFFICE), own=CLIENT, default=True)
        for destination, gateway in ((f"{SERVER}/32", _VPN), ("0.0.0.0/0", _OFFICE)):
            route = {"destination": destination, "gateway": gateway}
            project.act("POST", ["networks", str(self._ids["network"]), "actions", "add_route"], {}, route)
        self.living.follow()
        return self

    def close(self) -> None:
        self.living.close()

    def write_settings(self, path: Path, plugins: Path, software: Software, *, clients: str = CLIENTS) -> None:
        """`hetzner.yaml` of a server there."""
        region = {
            "network": self._ids["network"],
            "subnets": SUBNETS,
            "node_network": self._ids["node_network"],
            "member_range": MEMBER_RANGE,
            "node_range": NODE_RANGE,
            "clients": [clients],
            "servers": [f"{SERVER}/32"],
            "images": {"any": {"x86_64": self._ids["image"]}},
        }
        told = {
            "accounts": {"production": {"regions": {"eu-central": region}}},
            "endpoint_url": self.living.hetzner.url,
            "plugins": str(plugins),
            "software": software.model_dump(mode="json", exclude_none=True),
        }
        path.write_text(yaml.safe_dump(told))


@contextmanager
def a_site(debian: Path, folder: Path) -> Iterator[HetznerSite]:
    """It stands while the block runs, and this thread is where Kedge's server is."""
    places = [namespaces.make(name) for name in (HetznerSite.server, HetznerSite.outside)]
    try:
        with namespaces.living_in(HetznerSite.server), fake_hetzner() as hetzner:
            site = HetznerSite(LivingHetzner(hetzner, debian, folder))
            try:
                yield site.open()
            finally:
                site.close()
    finally:
        for name in places:
            namespaces.remove(name)


def _network(project: Project, name: str, whole: str, ranges: list[str]) -> int:
    subnets = [{"type": "cloud", "network_zone": "eu-central", "ip_range": one} for one in ranges]
    told = project.act("POST", ["networks"], {}, {"name": name, "ip_range": whole, "subnets": subnets})[1] or {}
    return int(told["network"]["id"])

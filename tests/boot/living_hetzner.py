"""The servers of the fake Hetzner live: what its API keeps is what is switched on, plugged in and attached here.

After each call that changes something the project is looked at as a whole, and what differs is done.
"""

import os
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.boot import hetzner_metadata
from tests.boot.cloud_network import Card, CloudNetwork
from tests.boot.cloud_vm import CloudVm
from tests.boot.debian_vm import LoopDisk
from tests.fakes.clouds.hetzner import FakeHetzner
from tests.fakes.clouds.hetzner_objects import Project
from tests.fakes.clouds.loopback import Answer


@dataclass
class LivingHetzner:
    """What stands behind the first project of a fake. `debian`: the root that snapshots are made from."""

    hetzner: FakeHetzner
    debian: Path
    folder: Path
    networks: dict[int, CloudNetwork] = field(default_factory=dict)
    servers: dict[int, CloudVm] = field(default_factory=dict)
    cards: dict[tuple[int, int], Card] = field(default_factory=dict)
    """By server and network."""
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> "LivingHetzner":
        self.hetzner.answering = self._answer
        self.follow()
        return self

    def close(self) -> None:
        """Everything that was made goes."""
        self.hetzner.answering = None
        for number in list(self.servers):
            self._lose(number)
        for network in self.networks.values():
            network.close()
        shutil.rmtree(self.folder / "volumes", ignore_errors=True)

    def follow(self) -> None:
        """What is, becomes what the project says."""
        project = self.hetzner.project
        with self._turn:
            for number, network in list(project.networks.items()):
                if number not in self.networks:
                    self.networks[number] = self._network(number, network)
                for route in network["routes"]:
                    self.networks[number].route(route["destination"], route["gateway"])
            for number in self.servers.keys() - project.servers.keys():
                self._lose(number)
            for number, server in list(project.servers.items()):
                self._server(project, number, server)

    def vm(self, name_part: str) -> CloudVm:
        """The only server with that in its name."""
        servers = self.hetzner.project.servers.items()
        (number,) = [number for number, server in servers if name_part in server["name"]]
        return self.servers[number]

    def address(self, name_part: str) -> str:
        """Where agents and clients see that server: its address in the first network."""
        (server,) = [s for s in self.hetzner.project.servers.values() if name_part in s["name"]]
        return str(server["private_net"][0]["ip"])

    def words(self) -> str:
        """The last of what all consoles showed."""
        return "\n".join(f"--- {vm.name}\n{vm.machine.words()}" for vm in self.servers.values())

    def _answer(self, method: str, path: str, token: str, body: bytes) -> Answer:
        told = self.hetzner.answer(method, path, token, body)
        if method != "GET":
            self.follow()
        return told

    def _network(self, number: int, network: dict[str, Any]) -> CloudNetwork:
        name = f"kedge-{os.getpid()}-n{number}"
        return CloudNetwork(name, network["ip_range"], lambda who, path: self._metadata(number, who, path)).open()

    def _metadata(self, network: int, address: str, path: str) -> str | None:
        project = self.hetzner.project
        for server in list(project.servers.values()):
            if any((net["network"], net["ip"]) == (network, address) for net in server["private_net"]):
                user_data = project.user_data[server["id"]]
                return hetzner_metadata.told(path, server, user_data, project.networks)
        return None

    def _server(self, project: Project, number: int, server: dict[str, Any]) -> None:
        if number not in self.servers:
            name = f"kedge-{os.getpid()}-s{number}"
            vm = CloudVm(self.debian, self.folder / name, name, vendor="Hetzner", serial=str(number))
            self.servers[number] = vm.make()
        vm = self.servers[number]
        wanted = {net["network"]: net for net in server["private_net"]}
        for network in [n for s, n in self.cards if s == number and n not in wanted]:
            self.networks[network].unplug(self.cards.pop((number, network)).address)
        for place, (network, net) in enumerate(wanted.items()):
            if (number, network) not in self.cards:
                card = Card(vm.name, f"enp{7 + place}s0", net["ip"], net["mac_address"])
                self.networks[network].plug(card)
                self.cards[number, network] = card
        if server["status"] == "running" and not vm.machine.is_on:
            vm.boot()
        self._volumes(project, vm, set(server["volumes"]))

    def _volumes(self, project: Project, vm: CloudVm, wanted: set[int]) -> None:
        there = {f"scsi-0HC_Volume_{number}": number for number in wanted}
        for name in vm.disks.keys() - there.keys():
            vm.detach(name)
        for name in there.keys() - vm.disks.keys() if vm.machine.is_on else ():
            number = there[name]
            image = self.folder / "volumes" / f"{number}.img"
            image.parent.mkdir(exist_ok=True)
            vm.attach(name, LoopDisk(image, project.volumes[number]["size"]))

    def _lose(self, number: int) -> None:
        for network in [n for s, n in self.cards if s == number]:
            self.networks[network].unplug(self.cards.pop((number, network)).address)
        self.servers.pop(number).lose()

"""Addresses that belong to a node rather than to one of its VMs, and interfaces as a VM's agent sees them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from providers.errors import ResourceConflict
from providers.local.layout import Layout
from providers.local.network import network_of
from providers.local.record import Record, read_record, write_record, write_text


@dataclass(frozen=True, slots=True)
class NodeAddresses:
    """Addresses owned by nodes in one region: recorded, bound to one VM at a time. Callers hold the cluster's lock."""

    layout: Layout

    def create(self, cluster_uid: str, node: str, address: str, installation_id: str) -> None:
        there = self.read(cluster_uid, node)
        if there is not None and there["address"] != address:
            raise ResourceConflict(f"node {node} owns address {there['address']}, asked for {address}")
        if there is None:
            self._write(cluster_uid, node, {"address": address, "installation_id": installation_id, "bound_to": None})

    def destroy(self, cluster_uid: str, node: str) -> None:
        """Forget the node's address; the record keeps it, so nobody else ever gets it."""
        there = self.read(cluster_uid, node)
        if there is not None and there["bound_to"] is not None:
            raise ResourceConflict(
                f"address {there['address']} of {node} is bound to {there['bound_to']}: unbind it first"
            )
        self.layout.address_record(cluster_uid, node).unlink(missing_ok=True)

    def bind(self, cluster_uid: str, node: str, instance: str, *, holder_alive: bool) -> None:
        """Show the address in a VM. A holder that is dead has lost it; a living one keeps it (`ResourceConflict`)."""
        there = self.read(cluster_uid, node)
        if there is None:
            raise ResourceConflict(f"node {node} owns no address, so none can be bound to {instance}")
        holder = there["bound_to"]
        if holder not in (None, instance):
            if holder_alive:
                raise ResourceConflict(f"address {there['address']} of {node} is bound to {holder}, which is alive")
            self.unbind(cluster_uid, node, holder)
        self._write(cluster_uid, node, {**there, "bound_to": instance})
        vm_dir = self.layout.vm(cluster_uid, instance)
        network_of(there["address"]).add(vm_dir, there["address"])
        show(vm_dir, there["address"], f"node {node}")

    def unbind(self, cluster_uid: str, node: str, instance: str) -> None:
        there = self.read(cluster_uid, node)
        if there is None:
            return
        vm_dir = self.layout.vm(cluster_uid, instance)
        hide(vm_dir, there["address"])
        network_of(there["address"]).remove(vm_dir, there["address"])
        if there["bound_to"] == instance:
            self._write(cluster_uid, node, {**there, "bound_to": None})

    def release_all(self, cluster_uid: str, instance: str) -> None:
        """The VM is gone: what was bound to it is free again."""
        for path in (self.layout.addresses / cluster_uid).glob("*.json"):
            if (read_record(path) or {}).get("bound_to") == instance:
                self.unbind(cluster_uid, path.stem, instance)

    def list_all(self) -> Iterator[tuple[str, str, Record]]:
        """(cluster uid, node, record) of every node address of the region."""
        for path in sorted(self.layout.addresses.glob("*/*.json")):
            if record := read_record(path):
                yield path.parent.name, path.stem, record

    def read(self, cluster_uid: str, node: str) -> Record | None:
        return read_record(self.layout.address_record(cluster_uid, node))

    def _write(self, cluster_uid: str, node: str, record: Record) -> None:
        write_record(self.layout.address_record(cluster_uid, node), record)


def show(vm_dir: Path, address: str, owner: str) -> None:
    """An interface of the VM, as its agent sees it: a file named like the address.

    Every name in that folder is an address to the agent, so the file is made outside and moved in.
    """
    made = vm_dir / f".interface-{address}"
    write_text(made, f"{owner}\n")
    (vm_dir / "interfaces").mkdir(exist_ok=True)
    made.rename(vm_dir / "interfaces" / address)


def hide(vm_dir: Path, address: str) -> None:
    (vm_dir / "interfaces" / address).unlink(missing_ok=True)


def bound_addresses(vm_dir: Path) -> tuple[str, ...]:
    """Addresses of nodes that are bound to the VM (its own is not among them)."""
    interfaces = (vm_dir / "interfaces").glob("[0-9]*")
    return tuple(sorted(path.name for path in interfaces if path.read_text().startswith("node ")))

"""What Terraform's provisioners do: one verb per create and destroy of each resource of
`terraform/modules/local`.

A request is the `input` of the resource, as JSON. Every verb may be repeated: after a crash Terraform runs it
again.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from providers import tags
from providers.errors import ResourceConflict
from providers.local import address, config, layout, machine
from providers.local.disk import DiskRecord, DiskRecords
from providers.local.record import locked, read_record

Request = dict[str, Any]

REQUEST = "KEDGE_LOCAL_REQUEST"
"""Environment variable that carries a provisioner's request, and so tells which cloud it works on."""


def perform(verb: str, request: Request) -> None:
    """Do it. Raises a `ProviderError` that says why not."""
    VERBS[verb](request)


def create_instance(request: Request) -> None:
    _machines(request).create(request)


def destroy_instance(request: Request) -> None:
    _machines(request).destroy(request)


def create_volume(request: Request) -> None:
    disk = DiskRecord(
        installation_id=request["installation_id"],
        cluster_uid=request["cluster_uid"],
        key=request["key"],
        zone=request["zone"],
        kind=request["kind"],
        size_gib=int(request["size_gib"]),
    )
    with _locked(request):
        _disks(request).create(disk)


def destroy_volume(request: Request) -> None:
    uid, machines = request["cluster_uid"], _machines(request)
    with _locked(request):
        _disks(request).destroy(uid, request["key"], alive=lambda key: machines.is_alive(uid, key))


def attach(request: Request) -> None:
    uid, instance, machines = request["cluster_uid"], request["instance"], _machines(request)
    with _locked(request):
        _disks(request).attach(
            uid,
            request["volume"],
            instance,
            zone=_living(request)["zone"],
            alive=lambda key: machines.is_alive(uid, key),
        )


def detach(request: Request) -> None:
    with _locked(request):
        _disks(request).detach(request["cluster_uid"], request["volume"], request["instance"])


def create_address(request: Request) -> None:
    with _locked(request):
        address.NodeAddresses(_layout(request)).create(
            request["cluster_uid"], request["node"], request["address"], request["installation_id"]
        )


def destroy_address(request: Request) -> None:
    with _locked(request):
        address.NodeAddresses(_layout(request)).destroy(request["cluster_uid"], request["node"])


def bind(request: Request) -> None:
    uid, node, addresses = request["cluster_uid"], request["node"], address.NodeAddresses(_layout(request))
    with _locked(request):
        _living(request)
        holder = (addresses.read(uid, node) or {}).get("bound_to")
        alive = holder is not None and _machines(request).is_alive(uid, holder)
        addresses.bind(uid, node, request["instance"], holder_alive=alive)


def unbind(request: Request) -> None:
    with _locked(request):
        address.NodeAddresses(_layout(request)).unbind(request["cluster_uid"], request["node"], request["instance"])


VERBS: Mapping[str, Callable[[Request], None]] = {
    "create-instance": create_instance,
    "destroy-instance": destroy_instance,
    "create-volume": create_volume,
    "destroy-volume": destroy_volume,
    "attach": attach,
    "detach": detach,
    "create-address": create_address,
    "destroy-address": destroy_address,
    "bind": bind,
    "unbind": unbind,
}


def _living(request: Request) -> dict[str, Any]:
    """Record of the instance something is to be attached to. Raises `ResourceConflict` unless it is alive."""
    uid, key = request["cluster_uid"], request["instance"]
    record = read_record(_layout(request).vm(uid, key) / "vm.json")
    if record is None or not _machines(request).is_alive(uid, key):
        raise ResourceConflict(f"instance {key} is not alive: nothing can be attached to it")
    if not tags.owned_by(record["tags"], request["installation_id"]):
        raise ResourceConflict(f"instance {key} belongs to installation {record['tags'][tags.INSTALLATION]}")
    return record


def _layout(request: Request) -> layout.Layout:
    return layout.Layout(Path(request["root"]), request["region"])


def _config(request: Request) -> config.Config:
    return config.read_config(Path(request["root"])) or config.Config(python=request["python"])


def _machines(request: Request) -> machine.Machines:
    return machine.Machines(_layout(request), _config(request))


def _disks(request: Request) -> DiskRecords:
    return DiskRecords(_layout(request), _config(request).enforce_disk)


def _locked(request: Request) -> Any:
    return locked(_layout(request).lock(request["cluster_uid"]))

"""Small rendered sets of the module contract, for tests of providers and of whoever renders them."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from providers.base import (
    AddressBinding,
    AddressResource,
    Attachment,
    InstanceResource,
    Place,
    Resources,
    RunKind,
    TerraformRun,
    VolumeResource,
)

PLACE = Place(cloud="local", region="local-1")
UID = "c0ffee"


def instance(
    node: str,
    generation: int = 1,
    *,
    zone: str = "a",
    intent: str = "",
    address: str | None = None,
    spot: bool = False,
    ipv6: bool = False,
    public_address: bool = False,
) -> InstanceResource:
    key = f"{node}.g{generation}"
    return InstanceResource(
        node=node,
        generation=generation,
        zone=zone,
        shape="small",
        image="4.1.1",
        intent_id=intent or f"intent-{key}",
        # Looks like a template on purpose: boot data must arrive as it was.
        boot_data=json.dumps({"node": node, "generation": generation, "odd": "${x} %{if} 'quote' \"$(id)\""}),
        address=address,
        spot=spot,
        ipv6=ipv6,
        public_address=public_address,
    )


def volume(node: str, dir_name: str = "data", *, zone: str = "a", kind: str = "persistent") -> VolumeResource:
    return VolumeResource(node=node, dir=dir_name, version=1, zone=zone, kind=kind, size_gib=1)


def attachment(instance_key: str, volume_key: str) -> Attachment:
    return Attachment(instance=instance_key, volume=volume_key)


def address(node: str, *, zone: str = "a") -> AddressResource:
    return AddressResource(node=node, zone=zone)


def binding(node: str, instance_key: str) -> AddressBinding:
    return AddressBinding(node=node, instance=instance_key)


def resources(
    *parts: InstanceResource | VolumeResource | Attachment | AddressResource | AddressBinding,
    uid: str = UID,
    place: Place = PLACE,
    installation_id: str = "test",
) -> Resources:
    """A rendered set of the parts, sorted into their fields."""
    return Resources(
        installation_id=installation_id,
        cluster_uid=uid,
        cluster_name="orders",
        place=place,
        instances=tuple(p for p in parts if isinstance(p, InstanceResource)),
        volumes=tuple(p for p in parts if isinstance(p, VolumeResource)),
        attachments=tuple(p for p in parts if isinstance(p, Attachment)),
        addresses=tuple(p for p in parts if isinstance(p, AddressResource)),
        bindings=tuple(p for p in parts if isinstance(p, AddressBinding)),
    )


def targets(rendered: Resources) -> frozenset[str]:
    """`<resource>/<key>` of everything in a rendered set."""
    return frozenset(
        f"{word}/{item.key}"
        for word, items in (
            ("instance", rendered.instances),
            ("volume", rendered.volumes),
            ("attachment", rendered.attachments),
            ("address", rendered.addresses),
            ("binding", rendered.bindings),
        )
        for item in items
    )


def run(
    kind: RunKind,
    rendered: Resources,
    *,
    creates: frozenset[str] | set[str] = frozenset(),
    deletes: frozenset[str] | set[str] = frozenset(),
    forget: frozenset[str] | set[str] = frozenset(),
    intent: str = "run-1",
) -> TerraformRun:
    return TerraformRun(
        intent_id=intent,
        kind=kind,
        resources=rendered,
        creates=frozenset(creates),
        deletes=frozenset(deletes),
        forget=frozenset(forget),
    )


def surge(rendered: Resources, *, only: frozenset[str] | None = None, intent: str = "run-1") -> TerraformRun:
    """A surge that creates the whole set, or only some of it."""
    return run(RunKind.SURGE, rendered, creates=targets(rendered) if only is None else only, intent=intent)


def own(run: TerraformRun, folder: Path) -> TerraformRun:
    """The run under an id that only tests with this folder have: processes are found by it on the machine, and killed.

    The same run in the same folder has the same id, in other processes too.
    """
    mark = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    return replace(run, intent_id=f"{mark}-{run.intent_id}")

"""Where moto 5.2 is not AWS and a test would meet it: each difference has a name and a reason."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from moto.core.responses import ActionResult
from moto.ec2.models.elastic_block_store import EBSBackend, Volume, VolumeAttachment
from moto.ec2.models.elastic_network_interfaces import Attachment, NetworkInterface, NetworkInterfaceBackend
from moto.ec2.models.instances import Instance, InstanceBackend
from moto.ec2.models.security_groups import SecurityGroupRule
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses.instances import InstanceResponse
from moto.servicequotas.models import ServiceQuotasBackend

_terminate = Instance.terminate
_prep_nics = Instance.prep_nics
_statuses = InstanceBackend.describe_instance_status
_detach = Instance.detach_eni
_validate = InstanceResponse._validate_block_device_mapping
_service_quota = ServiceQuotasBackend.get_service_quota
_detach_volume = EBSBackend.detach_volume
_interfaces = NetworkInterfaceBackend.get_all_network_interfaces

_IMAGE_GIB = 8
_TYPES_A_PAGE = 100


_VCPU_LIMITS = {
    "L-1216C47A": ("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 1_000_000.0),
    "L-34B43A08": ("All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", 1_000_000.0),
}


@contextmanager
def patched(vcpu_limits: Mapping[str, float]) -> Iterator[None]:
    """All patches of this file, for as long as the block runs. `vcpu_limits`: see `ec2_has_quotas`."""
    backend = NetworkInterfaceBackend
    with ExitStack() as stack:
        for owner, name, instead in (
            (InstanceResponse, "_validate_block_device_mapping", root_disk_sized_by_its_image),
            (InstanceBackend, "describe_instance_status", scheduled_events_are_told),
            (Instance, "terminate", terminated_vm_lets_go_of_interfaces_and_volumes),
            (EBSBackend, "detach_volume", mounted_volume_stays_busy),
            (Instance, "detach_eni", detached_interface_remembers),
            (SecurityGroupRule, "description", property(rule_for_a_group_keeps_its_description)),
            (Subnet, "ipv6_cidr_block_association_set", property(subnet_tells_whether_its_ipv6_range_is_associated)),
            (ServiceQuotasBackend, "get_service_quota", ec2_has_quotas(vcpu_limits)),
            (Instance, "prep_nics", vm_is_as_its_first_interface_says),
            (InstanceResponse, "describe_instance_types", types_come_in_pages),
            (backend, "get_all_network_interfaces", detached_attachment_is_told_as_detached),
        ):
            stack.enter_context(patch.object(owner, name, instead))
        yield


def types_come_in_pages(self: InstanceResponse) -> ActionResult:
    """EC2 gives at most a hundred types to an answer, and where the next one begins; moto all of them at once."""
    ids, filters = self._get_param("InstanceTypes", []), self._filters_from_querystring()
    found = self.ec2_backend.describe_instance_types(ids, filters)
    begin = int(self._get_param("NextToken") or 0)
    more = {"NextToken": str(begin + _TYPES_A_PAGE)} if begin + _TYPES_A_PAGE < len(found) else {}
    return ActionResult({"InstanceTypes": found[begin : begin + _TYPES_A_PAGE], **more})


def root_disk_sized_by_its_image(self: InstanceResponse, mapping: dict[str, Any]) -> None:
    """EC2 takes the size of a root disk from the image where none is given; moto refuses the call."""
    disk = mapping.get("Ebs", {})
    if "VolumeSize" not in disk and "SnapshotId" not in disk:
        mapping["Ebs"] = {**disk, "VolumeSize": _IMAGE_GIB}
    _validate(mapping)


def scheduled_events_are_told(self: InstanceBackend, ids: list[str], include_all: bool, filters: Any) -> list[Any]:
    """EC2 lists scheduled events and filters by their code; moto knows neither. Tests put them on `announced`."""
    codes = next((f["values"] for f in filters or () if f["name"] == "event.code"), None)
    rest = [f for f in filters or () if f["name"] != "event.code"]
    found = _statuses(self, ids, include_all, rest or None)
    if codes is None:
        return found
    told = [(i, [e for e in getattr(i, "announced", ()) if e["Code"] in codes]) for i in found]
    return [{"InstanceId": i.id, "Events": events} for i, events in told if events]


def terminated_vm_lets_go_of_interfaces_and_volumes(self: Instance) -> Any:
    """EC2 detaches from a terminated VM the interfaces that outlive it, in moto they stay in use for ever; and its
    volumes, mounted or not: a guest that is gone has none mounted."""
    for device in list(self.block_device_mapping.values()):
        unmount(self.ec2_backend.volumes.get(device.volume_id))
    before = _terminate(self)
    for index, interface in list(self.nics.items()):
        if index > 0 and not interface.delete_on_termination:
            self.detach_eni(interface)
    return before


def ec2_has_quotas(limits: Mapping[str, float]) -> Callable[[ServiceQuotasBackend, str, str], dict[str, Any]]:
    """Service Quotas tells EC2's limits, in vCPUs; moto knows those of VPC alone. A new account has 5 of each: here
    there is room for whatever a test makes, unless it says otherwise by code."""

    def told(self: ServiceQuotasBackend, service_code: str, quota_code: str) -> dict[str, Any]:
        if service_code != "ec2" or quota_code not in _VCPU_LIMITS:
            return _service_quota(self, service_code, quota_code)
        name, usual = _VCPU_LIMITS[quota_code]
        value = limits.get(quota_code, usual)
        return {"ServiceCode": "ec2", "QuotaCode": quota_code, "QuotaName": name, "Value": value, "Unit": "None"}

    return told


def mount(volume: Volume) -> None:
    """By the hands of a test: the guest of its VM has it mounted. See `mounted_volume_stays_busy`."""
    volume.is_mounted = True  # type: ignore[attr-defined]


def unmount(volume: Volume | None) -> None:
    """The guest lets go; a detachment that was asked for is done now."""
    if volume is None or not getattr(volume, "is_mounted", False):
        return
    volume.is_mounted = False  # type: ignore[attr-defined]
    tie = volume.attachment
    if tie is not None and tie.status == "busy":
        _detach_volume(volume.ec2_backend, volume.id, tie.instance.id, tie.device)


def mounted_volume_stays_busy(self: EBSBackend, volume_id: str, instance_id: str, device_path: str) -> VolumeAttachment:
    """EC2 answers 200 and keeps a volume that a running guest has mounted `busy` until it is unmounted, or the VM has
    stopped ("DetachVolume", EC2 API Reference; `VolumeAttachmentState`). moto detaches it at once.

    It is `detaching` for some seconds first, which is left out: Terraform's provider asks after ten.
    """
    volume = self.get_volume(volume_id)
    tie = volume.attachment
    if tie is None or not getattr(volume, "is_mounted", False) or tie.instance.state != "running":
        return _detach_volume(self, volume_id, instance_id, device_path)
    tie.status = "busy"
    return tie


def vm_is_as_its_first_interface_says(self: Instance, interfaces: list[dict[str, Any]], **told: Any) -> None:
    """EC2 gives a VM the IPv6 addresses its interface asks for, and tells the interface's groups as the VM's own.

    moto gives those that a VM without interfaces asks for, and tells no groups. Terraform's provider describes an
    interface wherever it is said whether the VM is to have a public IPv4 address.
    """
    described: dict[str, Any] = next((i for i in interfaces if int(i["DeviceIndex"]) == 0), {})
    asked = told.get("ipv6_address_count") or described.get("Ipv6AddressCount")
    _prep_nics(self, interfaces, **{**told, "ipv6_address_count": int(asked or 0)})
    first = self.nics.get(0)
    if first is not None and not self.security_groups:
        self.security_groups = list(first.group_set)


def rule_for_a_group_keeps_its_description(self: SecurityGroupRule) -> str | None:
    """EC2 gives back the description of every rule; moto only that of rules for addresses."""
    told: str | None = (self.ip_range or {}).get("Description") or (self.source_group or {}).get("Description")
    return told


def subnet_tells_whether_its_ipv6_range_is_associated(self: Subnet) -> list[dict[str, Any]]:
    """EC2 tells a state of the range, for which Terraform's provider waits; moto wraps it into another, as if none."""
    return [
        copy.deepcopy(association)
        for association in self.ipv6_cidr_block_associations.values()
        if association["ipv6CidrBlockState"]["State"] == "associated"
    ]


def detached_interface_remembers(self: Instance, interface: NetworkInterface) -> None:
    """See `detached_attachment_is_told_as_detached`."""
    attachment = interface.attachment
    if attachment is not None:
        attachment.status = "detached"
    _detach(self, interface)
    interface.last_attachment = attachment  # type: ignore[attr-defined]


def detached_attachment_is_told_as_detached(
    self: NetworkInterfaceBackend, eni_ids: list[str] | None = None, filters: Any = None
) -> list[NetworkInterface]:
    """EC2 has a state `detached` (AttachmentStatus in its model), for which Terraform's provider waits.

    moto forgets an attachment at once, and the provider then counts 20 "not found", about 150 s, before it believes it.
    """
    found = _interfaces(self, eni_ids, filters)
    asked = (filters or {}).get("attachment.attachment-id", ())
    if found or not asked:
        return found
    return [_as_detached(each) for each in self.enis.values() if _was(each) in asked]


class _Detached(NetworkInterface):
    @property
    def attachment(self) -> Attachment | None:
        last: Attachment | None = self.last_attachment  # type: ignore[attr-defined]
        return last


def _as_detached(interface: NetworkInterface) -> NetworkInterface:
    told = copy.copy(interface)
    told.__class__ = _Detached  # type: ignore[type-abstract]  # moto names no method abstract that is called here
    return told


def _was(interface: NetworkInterface) -> str | None:
    last: Attachment | None = getattr(interface, "last_attachment", None)
    return last.attachment_id if last else None

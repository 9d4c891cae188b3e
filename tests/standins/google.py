"""A stand-in for hashicorp/google: the calls its current version was seen and read to make, one after the other.

An interrupted wait forgets what is being made, as the vendor's does: its resource "didn't actually create".
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.standins.kind import Kind, Rules, StandIn, TroubleError, Values
from tests.standins.rest import AnsweredError, NoAnswerError, Rest, waited

_COMPUTE = "https://compute.googleapis.com/compute/v1/"
_POLL_S = 0.05
"""The vendor's polls at once, then after 2, 4, 8 seconds."""

RULES: dict[str, Rules] = {
    "google_compute_instance": Rules(replaces=frozenset({"name", "zone", "boot_disk", "network_interface"})),
    "google_compute_disk": Rules(replaces=frozenset({"name", "zone", "type"})),
    "google_compute_attached_disk": Rules(replaces=frozenset({"disk", "instance", "device_name", "mode"})),
    "google_compute_address": Rules(replaces=frozenset({"name", "region", "address", "subnetwork", "description"})),
}


def open_stand_in(config: Mapping[str, Any], stopping: threading.Event) -> StandIn:
    """Terraform configured the provider: a token, a project, an endpoint."""
    token = config.get("access_token") or os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN")
    if not token:
        raise TroubleError(
            "Attempted to load application default credentials since neither `credentials` nor `access_token` was set "
            "in the provider block.  No credentials loaded. To use your gcloud credentials, run 'gcloud auth "
            "application-default login'."
        )
    base = config.get("compute_custom_endpoint") or os.environ.get("GOOGLE_COMPUTE_CUSTOM_ENDPOINT") or _COMPUTE
    rest = Rest(base, {"Authorization": f"Bearer {token}"}, retries=2, stopping=stopping)
    api = Api(rest, str(config.get("project")), str(config.get("region")), stopping)
    return StandIn(
        {
            "google_compute_instance": Instance(api),
            "google_compute_disk": Disk(api),
            "google_compute_attached_disk": AttachedDisk(api),
            "google_compute_address": Address(api),
            "google_compute_network": Network(api),
            "google_compute_subnetwork": Subnetwork(api),
            "google_compute_firewall": Firewall(api),
        },
        stopping,
    )


@dataclass(frozen=True)
class Api:
    """Compute Engine of one project, in the words of the vendor's provider where it is in trouble."""

    rest: Rest
    project: str
    region: str
    stopping: threading.Event

    def make(self, parent: str, kind: str, what: str, body: Values) -> Values:
        """Insert, wait, and read."""
        path = f"projects/{self.project}/{parent}/{kind}"
        self.write("POST", path, f"Error creating {what}", f"Error waiting to create {what}", body)
        made = self.find(f"{path}/{body['name']}")
        if made is None:
            raise TroubleError(f"Error reading {what}: it is gone right after it was made")
        return made

    def unmake(self, path: str, what: str) -> None:
        """Delete and wait. What is gone already is no trouble."""
        if self.find(path) is not None:
            self.write("DELETE", path, f"Error deleting {what}", f"Error waiting for Deleting {what}")

    def find(self, path: str) -> Values | None:
        """What is at a path, None when the API says that nothing is."""
        try:
            return dict(self.rest.call("GET", path).body)
        except AnsweredError as error:
            if error.answer.status == 404:
                return None
            raise TroubleError(f"Error when reading or editing {path}: {_said(error)}") from error

    def write(self, method: str, path: str, refused: str, failed: str, body: Values | None = None) -> None:
        """One call and its operation."""
        try:
            operation = self.rest.call(method, path, body).body
            link = operation["selfLink"]
            self._wait(link[link.index("projects/") :], failed)
        except AnsweredError as error:
            raise TroubleError(f"{refused}: {_said(error)}") from error
        except NoAnswerError as error:
            raise TroubleError(f"{refused}: {error}") from error

    def _wait(self, path: str, failed: str) -> None:
        last: Values = {}

        def is_done() -> bool:
            last.update(self.rest.call("GET", path).body)
            return bool(last["status"] == "DONE")

        if not waited(is_done, stopping=self.stopping, timeout_s=300.0, every_s=_POLL_S):
            raise TroubleError(f"{failed}: unable to finish polling, context has been cancelled")
        errors = last.get("error", {}).get("errors", [])
        if errors:
            raise TroubleError(f"{failed}: {errors[0]['message']}\n")


@dataclass(frozen=True)
class Instance(Kind):
    """google_compute_instance."""

    api: Api

    def create(self, wanted: Values) -> Values:
        zone, (boot,), (nic,) = wanted["zone"], wanted["boot_disk"], wanted["network_interface"]
        (image,) = boot["initialize_params"]
        self._known(f"projects/{self.api.project}/zones/{zone}", f"Error loading zone '{zone}'")
        self._known(image["image"], f"Error resolving image name '{image['image']}': Could not find image or family")
        (shield,) = wanted.get("shielded_instance_config") or [None]
        body = {
            "name": wanted["name"],
            "machineType": f"projects/{self.api.project}/zones/{zone}/machineTypes/{wanted['machine_type']}",
            "labels": wanted.get("labels") or {},
            "tags": {"items": sorted(wanted.get("tags") or [])},
            "metadata": {"items": [{"key": k, "value": v} for k, v in sorted((wanted.get("metadata") or {}).items())]},
            "canIpForward": bool(wanted.get("can_ip_forward")),
            "deletionProtection": False,
            "scheduling": _scheduling(wanted.get("scheduling") or []),
            "disks": [
                {
                    "boot": True,
                    "autoDelete": boot.get("auto_delete") is not False,
                    "mode": "READ_WRITE",
                    "initializeParams": {
                        "sourceImage": image["image"],
                        "diskType": f"projects/{self.api.project}/zones/{zone}/diskTypes/{image['type']}",
                        "labels": image.get("labels") or {},
                    },
                }
            ],
            "networkInterfaces": [_interface(nic)],
            **({"shieldedInstanceConfig": _shielded(shield)} if shield else {}),
        }
        return self._facts(self.api.make(f"zones/{zone}", "instances", "instance", body))

    def read(self, state: Values) -> Values | None:
        found = self.api.find(state["id"])
        return None if found is None else self._facts(found)

    def delete(self, state: Values) -> None:
        self.api.unmake(state["id"], "instance")

    def update(self, state: Values, wanted: Values) -> Values:
        _set_labels(self.api, state["id"], wanted)
        return self.read(state) or {}

    def imported(self, given: str) -> Values:
        _, project, _, zone, _, name = given.split("/")
        return {"id": given, "project": project, "zone": zone, "name": name}

    def _known(self, path: str, words: str) -> None:
        if self.api.find(path) is None:
            raise TroubleError(f"{words} googleapi: Error 404: The resource '{path}' was not found, notFound")

    def _facts(self, told: Values) -> Values:
        nic, boot = told["networkInterfaces"][0], told["disks"][0]
        return {
            **_common(told),
            "instance_id": told["id"],
            "zone": _last(told["zone"]),
            "machine_type": _last(told["machineType"]),
            "current_status": told["status"],
            "cpu_platform": told["cpuPlatform"],
            "tags": told["tags"].get("items", []),
            "tags_fingerprint": told["tags"]["fingerprint"],
            "metadata": {i["key"]: i["value"] for i in told["metadata"].get("items", [])},
            "metadata_fingerprint": told["metadata"]["fingerprint"],
            "network_interface": [
                {
                    "network_ip": nic["networkIP"],
                    "subnetwork": _path(nic["subnetwork"]),
                    "name": "nic0",
                    **_sixth(nic),
                }
            ],
            "boot_disk": [{"source": _path(boot["source"]), "device_name": boot["deviceName"], "mode": "READ_WRITE"}],
        }


_FIGURES = {"provisioned_iops": "provisionedIops", "provisioned_throughput": "provisionedThroughput"}


@dataclass(frozen=True)
class Disk(Kind):
    """google_compute_disk."""

    api: Api

    def create(self, wanted: Values) -> Values:
        zone = wanted["zone"]
        body = {
            "name": wanted["name"],
            "type": f"projects/{self.api.project}/zones/{zone}/diskTypes/{wanted['type']}",
            "sizeGb": str(int(wanted["size"])),
            "labels": wanted.get("labels") or {},
        }
        for attribute, field in _FIGURES.items():
            if wanted.get(attribute) is not None:
                body[field] = str(int(wanted[attribute]))
        for key in wanted.get("disk_encryption_key") or []:
            body["diskEncryptionKey"] = {"kmsKeyName": key["kms_key_self_link"]}
        return self._facts(self.api.make(f"zones/{zone}", "disks", "Disk", body))

    def read(self, state: Values) -> Values | None:
        found = self.api.find(state["id"])
        return None if found is None else self._facts(found)

    def delete(self, state: Values) -> None:
        found = self.api.find(state["id"])
        for user in (found or {}).get("users", []):
            _detach(self.api, _path(user), state["id"])
        self.api.unmake(state["id"], "Disk")

    def update(self, state: Values, wanted: Values) -> Values:
        _set_labels(self.api, state["id"], wanted)
        return self.read(state) or {}

    def imported(self, given: str) -> Values:
        _, project, _, zone, _, name = given.split("/")
        return {"id": given, "project": project, "zone": zone, "name": name}

    def _facts(self, told: Values) -> Values:
        return {
            **_common(told),
            "disk_id": told["id"],
            "zone": _last(told["zone"]),
            "type": _last(told["type"]),
            "size": int(told["sizeGb"]),
            "users": told.get("users", []),
            **{attribute: int(told[field]) for attribute, field in _FIGURES.items() if field in told},
        }


@dataclass(frozen=True)
class AttachedDisk(Kind):
    """google_compute_attached_disk: a call to the instance, and a look at the instance."""

    api: Api

    def create(self, wanted: Values) -> Values:
        instance, disk = wanted["instance"], wanted["disk"]
        body = {"source": disk, "mode": wanted.get("mode") or "READ_WRITE", "deviceName": wanted["device_name"]}
        self.api.write(
            "POST", f"{instance}/attachDisk", "Error attaching disk", "Error waiting for disk to attach", body
        )
        made = self.read({"instance": instance, "disk": disk, "id": f"{instance}/{_last(disk)}"})
        if made is None:
            raise TroubleError("Error reading AttachedDisk: it is gone right after it was made")
        return made

    def read(self, state: Values) -> Values | None:
        found = self.api.find(state["instance"])
        told = next((d for d in (found or {}).get("disks", []) if _last(d["source"]) == _last(state["disk"])), None)
        if told is None:
            return None
        return {"id": state["id"], "device_name": told["deviceName"], "mode": told["mode"], "zone": _zone(state["id"])}

    def delete(self, state: Values) -> None:
        _detach(self.api, state["instance"], state["disk"])

    def imported(self, given: str) -> Values:
        instance, _, disk = given.rpartition("/")
        zone = "/".join(given.split("/")[:4])
        return {"id": given, "instance": instance, "disk": f"{zone}/disks/{disk}"}


@dataclass(frozen=True)
class Address(Kind):
    """google_compute_address; labels would need a second call, and no module of this project gives any."""

    api: Api

    def create(self, wanted: Values) -> Values:
        region = wanted.get("region") or self.api.region
        body = {
            "name": wanted["name"],
            "addressType": wanted.get("address_type") or "EXTERNAL",
            "purpose": wanted["purpose"],
            "subnetwork": wanted["subnetwork"],
            "description": wanted.get("description") or "",
            **({"address": wanted["address"]} if isinstance(wanted.get("address"), str) else {}),
        }
        return self._facts(self.api.make(f"regions/{region}", "addresses", "Address", body))

    def read(self, state: Values) -> Values | None:
        found = self.api.find(state["id"])
        return None if found is None else self._facts(found)

    def delete(self, state: Values) -> None:
        self.api.unmake(state["id"], "Address")

    def imported(self, given: str) -> Values:
        _, project, _, region, _, name = given.split("/")
        return {"id": given, "project": project, "region": region, "name": name}

    def _facts(self, told: Values) -> Values:
        return {
            **_common(told),
            "region": _last(told["region"]),
            "address": told["address"],
            "address_type": told["addressType"],
            "purpose": told["purpose"],
            "description": told["description"],
            "users": told.get("users", []),
        }


@dataclass(frozen=True)
class Network(Kind):
    """google_compute_network."""

    api: Api

    def create(self, wanted: Values) -> Values:
        body = {
            "name": wanted["name"],
            "description": wanted.get("description") or "",
            "autoCreateSubnetworks": wanted.get("auto_create_subnetworks") is not False,
            "routingConfig": {"routingMode": wanted.get("routing_mode") or "REGIONAL"},
        }
        return _common(self.api.make("global", "networks", "Network", body))

    def read(self, state: Values) -> Values | None:
        return _read(self.api, state, lambda told: {"description": told["description"]})

    def delete(self, state: Values) -> None:
        self.api.unmake(state["id"], "Network")


@dataclass(frozen=True)
class Subnetwork(Kind):
    """google_compute_subnetwork."""

    api: Api

    def create(self, wanted: Values) -> Values:
        region = wanted.get("region") or self.api.region
        body = {
            "name": wanted["name"],
            "description": wanted.get("description") or "",
            "network": wanted["network"],
            "ipCidrRange": wanted["ip_cidr_range"],
            **{
                there: wanted[own]
                for own, there in (("stack_type", "stackType"), ("ipv6_access_type", "ipv6AccessType"))
                if isinstance(wanted.get(own), str)
            },
        }
        made = self.api.make(f"regions/{region}", "subnetworks", "Subnetwork", body)
        return _common(made) | {"region": region, "gateway_address": made.get("gatewayAddress")}

    def read(self, state: Values) -> Values | None:
        return _read(self.api, state, lambda told: {"ip_cidr_range": told["ipCidrRange"]})

    def delete(self, state: Values) -> None:
        self.api.unmake(state["id"], "Subnetwork")


@dataclass(frozen=True)
class Firewall(Kind):
    """google_compute_firewall."""

    api: Api

    def create(self, wanted: Values) -> Values:
        parts = {
            "sourceTags": wanted.get("source_tags"),
            "targetTags": wanted.get("target_tags"),
            "sourceRanges": wanted.get("source_ranges"),
        }
        body = {
            "name": wanted["name"],
            "description": wanted.get("description") or "",
            "network": wanted["network"],
            "direction": wanted.get("direction") or "INGRESS",
            "allowed": [{"IPProtocol": a["protocol"], "ports": a["ports"]} for a in wanted["allow"]],
            **{k: sorted(v) for k, v in parts.items() if v},
        }
        return _common(self.api.make("global", "firewalls", "Firewall", body))

    def read(self, state: Values) -> Values | None:
        return _read(self.api, state, lambda told: {"source_ranges": told.get("sourceRanges", [])})

    def update(self, state: Values, wanted: Values) -> Values:
        """Whom it lets in, and nothing else."""
        body = {"sourceRanges": sorted(wanted.get("source_ranges") or [])}
        self.api.write("PATCH", state["id"], "Error updating Firewall", "Error waiting to update Firewall", body)
        return self.read(state) or {}

    def delete(self, state: Values) -> None:
        self.api.unmake(state["id"], "Firewall")


def _interface(nic: Values) -> Values:
    sixth = [{"type": "DIRECT_IPV6", "networkTier": c["network_tier"]} for c in nic.get("ipv6_access_config") or []]
    public = [{"type": "ONE_TO_ONE_NAT", "networkTier": c["network_tier"]} for c in nic.get("access_config") or []]
    told = {
        "subnetwork": nic["subnetwork"],
        "networkIP": nic.get("network_ip"),
        "stackType": nic.get("stack_type"),
        "ipv6AccessConfigs": sixth,
        "accessConfigs": public,
    }
    return {k: v for k, v in told.items() if v and (isinstance(v, str) or v is sixth or v is public)}


def _sixth(nic: Values) -> Values:
    """Facts of an interface that has IPv6 or a public address; of any other nothing more is known than before."""
    configs = nic.get("ipv6AccessConfigs", [])
    told = [{"network_tier": c["networkTier"], "external_ipv6": c["externalIpv6"]} for c in configs]
    public = [{"network_tier": c["networkTier"], "nat_ip": c["natIP"]} for c in nic.get("accessConfigs", [])]
    return {
        **({"stack_type": nic["stackType"], "ipv6_access_config": told} if told else {}),
        **({"access_config": public} if public else {}),
    }


def _set_labels(api: Api, path: str, wanted: Values) -> None:
    """Labels alone, with the fingerprint of those there are."""
    there = api.find(path) or {}
    body = {"labels": wanted["labels"] or {}, "labelFingerprint": there.get("labelFingerprint")}
    api.write("POST", f"{path}/setLabels", "Error updating labels", "Error waiting for labels to update", body)


def _common(told: Values) -> Values:
    labels = told.get("labels", {})
    return {
        "id": _path(told["selfLink"]),
        "name": told["name"],
        "self_link": told["selfLink"],
        "project": _path(told["selfLink"]).split("/")[1],
        "creation_timestamp": told["creationTimestamp"],
        "labels": labels,
        "terraform_labels": labels,
        "effective_labels": labels,
    }


def _read(api: Api, state: Values, more: Callable[[Values], Values]) -> Values | None:
    found = api.find(state["id"])
    return None if found is None else {k: v for k, v in _common(found).items() if "label" not in k} | more(found)


def _detach(api: Api, instance: str, disk: str) -> None:
    found = api.find(instance)
    told = next((d for d in (found or {}).get("disks", []) if _last(d["source"]) == _last(disk)), None)
    if told is not None:
        path = f"{instance}/detachDisk?deviceName={told['deviceName']}"
        api.write("POST", path, "Error detaching disk", f"Error waiting for Detaching disk from {_last(instance)}")


def _scheduling(blocks: list[Values]) -> Values:
    """What the provider sends without a block, else the block."""
    if not blocks:
        return {"automaticRestart": True}
    (block,) = blocks
    return {
        "automaticRestart": block.get("automatic_restart") is not False,
        "preemptible": bool(block.get("preemptible")),
        "onHostMaintenance": block["on_host_maintenance"],
        "provisioningModel": block["provisioning_model"],
        "instanceTerminationAction": block["instance_termination_action"],
    }


def _shielded(given: Values) -> Values:
    return {
        "enableSecureBoot": bool(given.get("enable_secure_boot")),
        "enableVtpm": bool(given.get("enable_vtpm")),
        "enableIntegrityMonitoring": bool(given.get("enable_integrity_monitoring")),
    }


def _said(error: AnsweredError) -> str:
    """As Go's googleapi prints an error."""
    told = error.answer.body.get("error", {}) if isinstance(error.answer.body, dict) else {}
    reason = next((e["reason"] for e in told.get("errors", [])), "")
    message = told.get("message", error.answer.body)
    return f"googleapi: Error {error.answer.status}: {message}" + (f", {reason}" if reason else "")


def _path(link: str) -> str:
    return link[link.index("projects/") :]


def _last(link: str) -> str:
    return link.rpartition("/")[2]


def _zone(path: str) -> str:
    return path.split("/")[3]

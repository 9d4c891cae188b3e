"""A stand-in for UpCloudLtd/upcloud: the calls 5.41.0 makes by its source (internal/service/*), one after the other.

A stop is hard here at once; the vendor's waits two minutes for a soft one. An interrupted wait leaves a server that the
state does not know, as the vendor's does.
"""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.standins.kind import Kind, Rules, StandIn, TroubleError, Values
from tests.standins.rest import AnsweredError, NoAnswerError, Rest, waited

_API = "https://api.upcloud.com"
_LOGINS, _LOGIN_PAUSE_S = 10, 0.05
"""Tries of the vendor's at its start, which pauses half a second between."""

_WAIT_S = 300.0

RULES: dict[str, Rules] = {
    "upcloud_server": Rules(replaces=frozenset({"zone", "user_data"})),
    "upcloud_storage": Rules(replaces=frozenset({"zone", "tier", "encrypt"})),
    "upcloud_network": Rules(replaces=frozenset({"zone"})),
}


def open_stand_in(config: Mapping[str, Any], stopping: threading.Event) -> StandIn:
    """Terraform configured the provider: it logs in before anything else."""
    token = config.get("token") or os.environ.get("UPCLOUD_TOKEN")
    if not token:
        raise TroubleError("No credentials defined", "Credentials not found.")
    base = os.environ.get("UPCLOUD_DEBUG_API_BASE_URL") or _API
    # No retries: 5.41.0 configures a client that has some, and uses the plain one inside it (upcloud/provider.go).
    rest = Rest(f"{base}/1.3", {"Authorization": f"Bearer {token}"}, stopping=stopping)
    _log_in(rest)
    api = Api(rest, stopping)
    return StandIn(
        {
            "upcloud_server": Server(api),
            "upcloud_storage": Storage(api),
            "upcloud_network": Network(api),
            "upcloud_router": Router(api),
            "upcloud_server_group": ServerGroup(api),
        },
        stopping,
    )


@dataclass(frozen=True)
class Api:
    """UpCloud's API, in the words of the vendor's provider where it is in trouble."""

    rest: Rest
    stopping: threading.Event

    def call(self, trouble: str, method: str, path: str, body: Values | None = None) -> Any:
        """The answer's JSON. Raises `TroubleError` with what could not be done, and UpCloud's own words."""
        try:
            return self.rest.call(method, path, body).body
        except AnsweredError as error:
            raise TroubleError(trouble, f"Error: {_problem(error)}") from error
        except NoAnswerError as error:
            raise TroubleError(trouble, f"Error: {error}") from error

    def find(self, trouble: str, path: str) -> Any:
        """What is at a path, None when UpCloud says that nothing is."""
        try:
            return self.rest.call("GET", path).body
        except AnsweredError as error:
            if error.answer.status == 404:
                return None
            raise TroubleError(trouble, f"Error: {_problem(error)}") from error
        except NoAnswerError as error:
            raise TroubleError(trouble, f"Error: {error}") from error

    def wait(self, trouble: str, path: str, word: str, state: str) -> Values:
        """What is at a path, once it is in that state."""
        last: Values = {}

        def is_there() -> bool:
            last.update(self.call(trouble, "GET", path)[word])
            return bool(last["state"] == state)

        if not waited(is_there, stopping=self.stopping, timeout_s=_WAIT_S):
            raise TroubleError(trouble, "Error: context canceled")
        return last


@dataclass(frozen=True)
class Server(Kind):
    """upcloud_server. Deleting one deletes the disk of its template too, and no other."""

    api: Api

    def create(self, wanted: Values) -> Values:
        template = (wanted["template"] or [{}])[0]
        root = {
            "action": "clone",
            "storage": template.get("storage"),
            "title": template.get("title") or f"terraform-{wanted['hostname']}-disk",
            "size": template.get("size"),
            "tier": template.get("tier"),
            "encrypted": _yes(template.get("encrypt")),
            **_at(template),
        }
        devices = [{"action": "attach", **_set(d, "storage", "type"), **_at(d)} for d in wanted["storage_devices"]]
        body = {
            "hostname": wanted["hostname"],
            "title": wanted["title"] or f"{wanted['hostname']} (managed by terraform)",
            "zone": wanted["zone"],
            **_set(wanted, "plan", "server_group", "user_data"),
            "metadata": _yes(wanted["metadata"]),
            "labels": {"label": _labels(wanted["labels"])},
            "networking": {"interfaces": {"interface": [_interface(i) for i in wanted["network_interface"]]}},
            "storage_devices": {"storage_device": [_without_none(root), *devices]},
        }
        made = self.api.call("Unable to create server", "POST", "/server", {"server": body})["server"]
        trouble = "Error while waiting for server to be in started state"
        return _server_facts(
            self.api.wait(trouble, f"/server/{made['uuid']}", "server", "started"),
            root=made["storage_devices"]["storage_device"][0]["storage"] if wanted["template"] else None,
        )

    def read(self, state: Values) -> Values | None:
        found = self.api.find("Unable to read server details", f"/server/{state['id']}")
        templates = state["template"] or [{}]
        return None if found is None else _server_facts(found["server"], root=templates[0].get("id"))

    def delete(self, state: Values) -> None:
        path = f"/server/{state['id']}"
        found = self.api.find("Unable to stop server", path)
        if found is not None:
            if found["server"]["state"] != "stopped":
                stop = {"stop_server": {"stop_type": "hard"}}
                self.api.call("Unable to stop server", "POST", f"{path}/stop", stop)
                self.api.wait("Unable to stop server", path, "server", "stopped")
            self.api.call("Unable to delete server", "DELETE", path)
        for template in state["template"] or ():
            if template["id"] and self.api.find("Unable to delete server root disk", f"/storage/{template['id']}"):
                self.api.call("Unable to delete server root disk", "DELETE", f"/storage/{template['id']}")

    def update(self, state: Values, wanted: Values) -> Values:
        """What the provider sends of a server that runs on: the whole of it, as it is, with its labels."""
        body = {
            **_set(wanted, "hostname", "title", "plan", "timezone", "nic_model", "video_model"),
            "core_number": str(int(state["cpu"])),
            "memory_amount": str(int(state["mem"])),
            "metadata": _yes(wanted["metadata"]),
            "labels": {"label": _labels(wanted["labels"])},
        }
        self.api.call("Unable to modify server", "PUT", f"/server/{state['id']}", {"server": body})
        return self.read(state) or {}


@dataclass(frozen=True)
class Storage(Kind):
    """upcloud_storage."""

    api: Api

    def create(self, wanted: Values) -> Values:
        body = {
            **_set(wanted, "title", "zone", "tier"),
            "size": str(int(wanted["size"])),
            "encrypted": _yes(wanted["encrypt"]),
            "labels": _labels(wanted["labels"]),
        }
        made = self.api.call("Unable to create storage", "POST", "/storage", {"storage": body})["storage"]
        trouble = "Storage did not reach online state"
        return self._facts(self.api.wait(trouble, f"/storage/{made['uuid']}", "storage", "online"))

    def read(self, state: Values) -> Values | None:
        found = self.api.find("Unable to read storage details", f"/storage/{state['id']}")
        return None if found is None else self._facts(found["storage"])

    def delete(self, state: Values) -> None:
        if self.api.find("Unable to delete storage", f"/storage/{state['id']}") is not None:
            self.api.call("Unable to delete storage", "DELETE", f"/storage/{state['id']}")

    def update(self, state: Values, wanted: Values) -> Values:
        body = {**_set(wanted, "title"), "size": str(int(state["size"])), "labels": _labels(wanted["labels"])}
        self.api.call("Unable to modify storage", "PUT", f"/storage/{state['id']}", {"storage": body})
        return self.read(state) or {}

    def _facts(self, found: Values) -> Values:
        return {
            "id": found["uuid"],
            **_set(found, "title", "zone", "tier", "type", "size"),
            "encrypt": found["encrypted"] == "yes",
            "labels": {label["key"]: label["value"] for label in found["labels"]},
            "system_labels": {},
            "filesystem_autoresize": False,
            "delete_autoresize_backup": False,
        }


@dataclass(frozen=True)
class Network(Kind):
    """upcloud_network."""

    api: Api

    def create(self, wanted: Values) -> Values:
        (range_,) = wanted["ip_network"]
        body = {
            **_set(wanted, "name", "zone", "router"),
            "labels": _labels(wanted["labels"]),
            "ip_networks": {
                "ip_network": [
                    {
                        **_set(range_, "address", "family", "gateway"),
                        "dhcp": _yes(range_["dhcp"]),
                        "dhcp_default_route": _yes(range_["dhcp_default_route"]),
                    }
                ]
            },
        }
        return _network_facts(
            self.api.call("Unable to create network", "POST", "/network", {"network": body})["network"]
        )

    def read(self, state: Values) -> Values | None:
        found = self.api.find("Unable to read network details", f"/network/{state['id']}")
        return None if found is None else _network_facts(found["network"])

    def delete(self, state: Values) -> None:
        self.api.call("Unable to delete network", "DELETE", f"/network/{state['id']}")


@dataclass(frozen=True)
class Router(Kind):
    """upcloud_router."""

    api: Api

    def create(self, wanted: Values) -> Values:
        body = {"name": wanted["name"], "labels": _labels(wanted["labels"])}
        return _plain(self.api.call("Unable to create router", "POST", "/router", {"router": body})["router"], "name")

    def read(self, state: Values) -> Values | None:
        found = self.api.find("Unable to read router details", f"/router/{state['id']}")
        return None if found is None else _plain(found["router"], "name")

    def delete(self, state: Values) -> None:
        self.api.call("Unable to delete router", "DELETE", f"/router/{state['id']}")


@dataclass(frozen=True)
class ServerGroup(Kind):
    """upcloud_server_group, whose members this project never tracks."""

    api: Api

    def create(self, wanted: Values) -> Values:
        body = {
            "title": wanted["title"],
            "anti_affinity": wanted["anti_affinity_policy"] or "no",
            "labels": {"label": _labels(wanted["labels"])},
        }
        made = self.api.call("Unable to create server group", "POST", "/server-group", {"server_group": body})
        return self._facts(made["server_group"])

    def read(self, state: Values) -> Values | None:
        found = self.api.find("Unable to read server group details", f"/server-group/{state['id']}")
        return None if found is None else self._facts(found["server_group"])

    def delete(self, state: Values) -> None:
        self.api.call("Unable to delete server group", "DELETE", f"/server-group/{state['id']}")

    def _facts(self, found: Values) -> Values:
        labels = {label["key"]: label["value"] for label in found["labels"]["label"]}
        more = {"anti_affinity_policy": found["anti_affinity"], "labels": labels, "members": []}
        return {"id": found["uuid"], "title": found["title"], **more}


def _server_facts(found: Values, *, root: str | None) -> Values:
    """`root` is the disk of the template. Of a server that was imported it is a disk like the others."""
    devices = found["storage_devices"]["storage_device"]
    return {
        "id": found["uuid"],
        **_set(
            found, "hostname", "title", "zone", "plan", "host", "boot_order", "timezone", "nic_model", "video_model"
        ),
        "cpu": int(found["core_number"]),
        "mem": int(found["memory_amount"]),
        "labels": {label["key"]: label["value"] for label in found["labels"]["label"]},
        "firewall": found["firewall"] == "on",
        "hot_resize": False,
        "template": [_template_facts(d) for d in devices if d["storage"] == root],
        "storage_devices": [
            {"storage": d["storage"], "type": d["type"], **_place(d)} for d in devices if d["storage"] != root
        ],
        "network_interface": [_interface_facts(i) for i in found["networking"]["interfaces"]["interface"]],
    }


def _template_facts(device: Values) -> Values:
    return {
        "id": device["storage"],
        "title": device["storage_title"],
        "size": device["storage_size"],
        "tier": device["storage_tier"],
        "encrypt": device["storage_encrypted"] == "yes",
        **_place(device),
        "filesystem_autoresize": False,
        "delete_autoresize_backup": False,
    }


def _interface_facts(found: Values) -> Values:
    address = found["ip_addresses"]["ip_address"][0]
    return {
        **_set(found, "index", "network", "type"),
        "ip_address": address["address"],
        "ip_address_family": address["family"],
        "ip_address_floating": address["floating"] == "yes",
        "mac_address": found["mac"],
        "bootable": found["bootable"] == "yes",
        "source_ip_filtering": found["source_ip_filtering"] == "yes",
    }


def _at(given: Values) -> Values:
    """A bus, and a position on it where one is asked for."""
    bus, position = given.get("address"), given.get("address_position")
    return {"address": f"{bus}:{position}" if position else bus} if bus else {}


def _place(device: Values) -> Values:
    bus, _, position = device["address"].partition(":")
    return {"address": bus, "address_position": position}


def _log_in(rest: Rest) -> None:
    for tried in range(1, _LOGINS + 1):
        try:
            rest.call("GET", "/account")
            return
        except AnsweredError as error:
            if error.answer.status == 401:
                code, title = _said(error)
                words = f"Failed to get account, error was {code}: {title}"
                raise TroubleError("Failed to authenticate to UpCloud API with given credentials", words) from error
            if tried == _LOGINS:
                raise TroubleError(
                    "Failed to authenticate to UpCloud API with given credentials", f"Error: {_problem(error)}"
                ) from error
        except NoAnswerError as error:
            if tried == _LOGINS:
                raise TroubleError(
                    "Failed to authenticate to UpCloud API with given credentials", str(error)
                ) from error
        time.sleep(_LOGIN_PAUSE_S)


def _problem(error: AnsweredError) -> str:
    """As upcloud-go-api prints one (upcloud/problem.go)."""
    code, title = _said(error)
    return f"{title} (type={code}, status={error.answer.status})"


def _said(error: AnsweredError) -> tuple[str, str]:
    body = error.answer.body if isinstance(error.answer.body, dict) else {}
    legacy = body.get("error") or {}
    return legacy.get("error_code") or body.get("type", ""), legacy.get("error_message") or body.get("title", "")


def _network_facts(found: Values) -> Values:
    (range_,) = found["ip_networks"]["ip_network"]
    given = {
        "address": range_["address"],
        "family": range_["family"],
        "dhcp": range_["dhcp"] == "yes",
        "dhcp_default_route": range_.get("dhcp_default_route") == "yes",
        "gateway": range_.get("gateway") or range_["address"].rpartition(".")[0] + ".1",
        "dhcp_dns": [],
        "dhcp_routes": [],
    }
    return {**_plain(found, "name", "zone"), "router": found.get("router"), "ip_network": [given]}


def _plain(found: Values, *names: str) -> Values:
    labels = {label["key"]: label["value"] for label in found["labels"]}
    return {"id": found["uuid"], "type": found["type"], "labels": labels, **{n: found[n] for n in names}}


def _interface(given: Values) -> Values:
    address = {"family": given["ip_address_family"] or "IPv4", **_without_none({"address": given["ip_address"]})}
    return {
        "type": given["type"],
        **_set(given, "network", "index"),
        "ip_addresses": {"ip_address": [address]},
        "source_ip_filtering": _yes(given["source_ip_filtering"] is not False),
        "bootable": _yes(given["bootable"]),
    }


def _labels(given: Mapping[str, str] | None) -> list[Values]:
    return [{"key": key, "value": value} for key, value in (given or {}).items()]


def _set(given: Values, *names: str) -> Values:
    return {name: given[name] for name in names if given.get(name) is not None}


def _without_none(given: Values) -> Values:
    return {key: value for key, value in given.items() if value is not None}


def _yes(given: object) -> str:
    return "yes" if given else "no"

"""DigitalOcean over its API, in the calls and the words of digitalocean/digitalocean 2.99 (its own sources).

What it does not have of the real provider: its waits of 10 s, its checks of what a person wrote, defaults.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.standins.kind import Kind, Rules, StandIn, TroubleError, Values
from tests.standins.rest import AnsweredError, NoAnswerError, Rest, waited

RULES = {
    "digitalocean_droplet": Rules(replaces=frozenset({"image", "region", "user_data", "vpc_uuid", "ssh_keys"})),
    "digitalocean_volume": Rules(replaces=frozenset({"region", "name", "description", "snapshot_id"})),
    "digitalocean_volume_attachment": Rules(replaces=frozenset({"droplet_id", "volume_id"})),
    "digitalocean_vpc": Rules(replaces=frozenset({"region", "ip_range"})),
    "digitalocean_tag": Rules(replaces=frozenset({"name"})),
}
"""`ForceNew` of the provider's schema, for the attributes our modules set."""

_BUSY = "Droplet already has a pending event."
_WAIT_S = 60.0


def open_stand_in(config: Values, stopping: threading.Event) -> StandIn:
    """Token and endpoint where the provider looks for them. Raises `TroubleError` without a token."""
    token = config.get("token") or os.environ.get("DIGITALOCEAN_TOKEN") or os.environ.get("DIGITALOCEAN_ACCESS_TOKEN")
    if not token:
        raise TroubleError("Missing DigitalOcean API token: set token or DIGITALOCEAN_TOKEN")
    base = config.get("api_endpoint") or os.environ.get("DIGITALOCEAN_API_URL") or "https://api.digitalocean.com"
    api = Api(Rest(base.rstrip("/"), {"Authorization": f"Bearer {token}"}, retries=4, stopping=stopping), stopping)
    return StandIn(
        {
            "digitalocean_droplet": Droplet(api),
            "digitalocean_volume": Volume(api),
            "digitalocean_volume_attachment": Attachment(api),
            "digitalocean_vpc": Vpc(api),
            "digitalocean_tag": Tag(api),
            "digitalocean_firewall": Firewall(api),
        },
        stopping,
    )


@dataclass(frozen=True)
class Api:
    """Calls, with an answer one did not want in godo's words."""

    rest: Rest
    stopping: threading.Event

    def call(self, what: str, method: str, path: str, body: object = None) -> Any:
        """The answer's body. Raises `TroubleError`, `what` before it."""
        try:
            return self.rest.call(method, path, body).body
        except AnsweredError as error:
            raise TroubleError(f"{what}: {godo_words(error)}") from error
        except NoAnswerError as error:
            raise TroubleError(f"{what}: {error}") from error

    def found(self, what: str, path: str) -> Any:
        """The answer's body, None for a 404."""
        try:
            return self.rest.call("GET", path).body
        except AnsweredError as error:
            if error.answer.status == 404:
                return None
            raise TroubleError(f"{what}: {godo_words(error)}") from error
        except NoAnswerError as error:
            raise TroubleError(f"{what}: {error}") from error

    def wait(self, until: Callable[[], bool]) -> bool:
        return waited(until, stopping=self.stopping, timeout_s=_WAIT_S)

    def act(self, what: str, path: str, body: object) -> None:
        """An action, asked for again while the Droplet has another one, and waited for."""

        def asked() -> bool:
            try:
                told.append(self.rest.call("POST", path, body).body["action"])
            except AnsweredError as error:
                if error.answer.status == 422 and _BUSY in str(error.answer.body):
                    return False
                raise TroubleError(f"{what}: {godo_words(error)}") from error
            except NoAnswerError as error:
                raise TroubleError(f"{what}: {error}") from error
            return True

        def done() -> bool:
            action = self.call(what, "GET", f"/v2/actions/{told[0]['id']}")["action"]
            if action["status"] == "errored":
                raise TroubleError(f"{what}: action {action['id']} errored")
            return bool(action["status"] == "completed")

        told: list[dict[str, Any]] = []
        if not (self.wait(asked) and (told[0]["status"] == "completed" or self.wait(done))):
            raise TroubleError(f"{what}: timeout while waiting for state to become 'completed'")


@dataclass
class Droplet(Kind):
    api: Api

    def create(self, wanted: Values) -> Values:
        image = wanted["image"]
        body = {
            "name": wanted["name"],
            "region": wanted["region"],
            "size": wanted["size"],
            "image": int(image) if image.isdecimal() else image,
            "ssh_keys": [int(k) if k.isdecimal() else k for k in wanted["ssh_keys"] or ()],
            "user_data": wanted["user_data"] or "",
            "tags": wanted["tags"] or [],
            "vpc_uuid": wanted["vpc_uuid"],
            "ipv6": bool(wanted["ipv6"]),
            "with_droplet_agent": wanted["droplet_agent"],
        }
        droplet = self.api.call("Error creating droplet", "POST", "/v2/droplets", body)["droplet"]
        number = droplet["id"]

        def active() -> bool:
            what = f"Error waiting for droplet ({number}) to become ready"
            droplet.update(self.api.call(what, "GET", f"/v2/droplets/{number}")["droplet"])
            return bool(droplet["status"] == "active")

        try:
            if not self.api.wait(active):
                raise TroubleError(f"Error waiting for droplet ({number}) to become ready: timeout")
        except TroubleError as error:
            raise TroubleError(error.summary, error.detail, made=_droplet_facts(droplet)) from error
        return _droplet_facts(droplet)

    def read(self, state: Values) -> Values | None:
        told = self.api.found("Error retrieving droplet", f"/v2/droplets/{state['id']}")
        if told is None:
            return None
        image = told["droplet"]["image"]
        known = {} if state["image"] else {"image": image.get("slug") or str(image["id"])}
        return _droplet_facts(told["droplet"]) | known

    def delete(self, state: Values) -> None:
        path = f"/v2/droplets/{state['id']}"
        if self.api.found("Error retrieving droplet", path) is None:
            return
        self.api.call("Error deleting droplet", "DELETE", path)
        if not self.api.wait(lambda: self.api.found("Error deleting droplet", path) is None):
            raise TroubleError(f"Error deleting droplet: droplet ({state['id']}) is still there")

    def update(self, state: Values, wanted: Values) -> Values:
        """Tags alone, in the calls of the provider's `SetTags`."""
        _tag(self.api, state, wanted, "droplet")
        return self.read(state) or {}


def _tag(api: Api, state: Values, wanted: Values, kind: str) -> None:
    before, after = set(state["tags"] or ()), set(wanted["tags"] or ())
    body = {"resources": [{"resource_id": str(state["id"]), "resource_type": kind}]}
    for word in sorted(before - after):
        api.call("Error updating tags", "DELETE", f"/v2/tags/{word}/resources", body)
    for word in sorted(after - before):
        made = api.call("Error updating tags", "POST", "/v2/tags", {"name": word})["tag"]["name"]
        api.call("Error updating tags", "POST", f"/v2/tags/{made}/resources", body)


def _droplet_facts(droplet: dict[str, Any]) -> Values:
    addresses = {n["type"]: n["ip_address"] for n in droplet["networks"]["v4"]}
    return {
        "id": str(droplet["id"]),
        "urn": f"do:droplet:{droplet['id']}",
        "name": droplet["name"],
        "region": droplet["region"]["slug"],
        "size": droplet["size"]["slug"],
        "price_hourly": droplet["size"]["price_hourly"],
        "price_monthly": droplet["size"]["price_monthly"],
        "disk": droplet["disk"],
        "vcpus": droplet["vcpus"],
        "memory": droplet["memory"],
        "status": droplet["status"],
        "locked": droplet["locked"],
        "created_at": droplet["created_at"],
        "vpc_uuid": droplet["vpc_uuid"],
        "ipv4_address": addresses.get("public", ""),
        "ipv4_address_private": addresses.get("private", ""),
        "ipv6": "ipv6" in droplet["features"],
        "ipv6_address": next((n["ip_address"] for n in droplet["networks"]["v6"]), ""),
        "private_networking": "private_networking" in droplet["features"],
        "volume_ids": droplet["volume_ids"],
        "tags": droplet["tags"],
    }


@dataclass
class Volume(Kind):
    api: Api

    def create(self, wanted: Values) -> Values:
        body = {
            "name": wanted["name"],
            "region": wanted["region"],
            "size_gigabytes": wanted["size"],
            "description": wanted["description"] or "",
            "tags": wanted["tags"] or [],
        }
        return _volume_facts(self.api.call("Error creating Volume", "POST", "/v2/volumes", body)["volume"])

    def read(self, state: Values) -> Values | None:
        told = self.api.found("Error retrieving volume", f"/v2/volumes/{state['id']}")
        return None if told is None else _volume_facts(told["volume"])

    def delete(self, state: Values) -> None:
        self.api.call("Error deleting volume", "DELETE", f"/v2/volumes/{state['id']}")

    def update(self, state: Values, wanted: Values) -> Values:
        _tag(self.api, state, wanted, "volume")
        return self.read(state) or {}


def _volume_facts(volume: dict[str, Any]) -> Values:
    return {
        "id": volume["id"],
        "urn": f"do:volume:{volume['id']}",
        "name": volume["name"],
        "region": volume["region"]["slug"],
        "size": volume["size_gigabytes"],
        "tags": volume["tags"],
        "droplet_ids": volume["droplet_ids"],
    }


@dataclass
class Attachment(Kind):
    api: Api

    def create(self, wanted: Values) -> Values:
        droplet, volume = int(wanted["droplet_id"]), wanted["volume_id"]
        holders = self.api.call("Error retrieving volume", "GET", f"/v2/volumes/{volume}")["volume"]["droplet_ids"]
        if droplet not in holders:
            what = f"[WARN] Error attaching volume ({volume}) to Droplet ({droplet})"
            self.api.act(what, f"/v2/volumes/{volume}/actions", {"type": "attach", "droplet_id": droplet})
        return {"id": f"{droplet}-{volume}-1"}

    def read(self, state: Values) -> Values | None:
        told = self.api.found("Error retrieving volume", f"/v2/volumes/{state['volume_id']}")
        return {} if told is not None and int(state["droplet_id"]) in told["volume"]["droplet_ids"] else None

    def delete(self, state: Values) -> None:
        droplet, volume = int(state["droplet_id"]), state["volume_id"]
        what = f"[WARN] Error detaching volume ({volume}) from Droplet ({droplet})"
        self.api.act(what, f"/v2/volumes/{volume}/actions", {"type": "detach", "droplet_id": droplet})

    def imported(self, given: str) -> Values:
        droplet, comma, volume = given.partition(",")
        if not (comma and droplet.isdecimal()):
            raise TroubleError(f"expected import ID in the format 'droplet_id,volume_id', got: \"{given}\"")
        return {"id": volume, "droplet_id": int(droplet), "volume_id": volume}


@dataclass
class Vpc(Kind):
    api: Api

    def create(self, wanted: Values) -> Values:
        body = {k: wanted[k] for k in ("name", "region", "ip_range", "description") if wanted[k]}
        return self._facts(self.api.call("Error creating VPC", "POST", "/v2/vpcs", body)["vpc"])

    def read(self, state: Values) -> Values | None:
        told = self.api.found("Error reading VPC", f"/v2/vpcs/{state['id']}")
        return None if told is None else self._facts(told["vpc"])

    def delete(self, state: Values) -> None:
        self.api.call("Error deleting VPC", "DELETE", f"/v2/vpcs/{state['id']}")

    def _facts(self, vpc: dict[str, Any]) -> Values:
        told = {k: vpc.get(k) for k in ("id", "name", "region", "ip_range", "description", "created_at")}
        return told | {"urn": f"do:vpc:{vpc['id']}", "default": vpc.get("default", False)}


@dataclass
class Tag(Kind):
    api: Api

    def create(self, wanted: Values) -> Values:
        return self._facts(self.api.call("Error creating tag", "POST", "/v2/tags", {"name": wanted["name"]})["tag"])

    def read(self, state: Values) -> Values | None:
        told = self.api.found("Error retrieving tag", f"/v2/tags/{state['id']}")
        return None if told is None else self._facts(told["tag"])

    def delete(self, state: Values) -> None:
        self.api.call("Error deleting tag", "DELETE", f"/v2/tags/{state['id']}")

    def _facts(self, tag: dict[str, Any]) -> Values:
        counts = {f"{kind}_count": tag["resources"][kind]["count"] for kind in ("droplets", "images", "volumes")}
        return {"id": tag["name"], "name": tag["name"], **counts}


@dataclass
class Firewall(Kind):
    api: Api

    def create(self, wanted: Values) -> Values:
        told = self.api.call("Error creating firewall", "POST", "/v2/firewalls", _firewall(wanted))["firewall"]
        return self._facts(told)

    def read(self, state: Values) -> Values | None:
        told = self.api.found("Error retrieving firewall", f"/v2/firewalls/{state['id']}")
        return None if told is None else self._facts(told["firewall"])

    def update(self, state: Values, wanted: Values) -> Values:
        path = f"/v2/firewalls/{state['id']}"
        return self._facts(self.api.call("Error updating firewall", "PUT", path, _firewall(wanted))["firewall"])

    def delete(self, state: Values) -> None:
        self.api.call("Error deleting firewall", "DELETE", f"/v2/firewalls/{state['id']}")

    def _facts(self, firewall: dict[str, Any]) -> Values:
        return {
            "id": firewall["id"],
            "name": firewall["name"],
            "tags": firewall["tags"],
            "created_at": firewall["created_at"],
            "status": firewall.get("status", "succeeded"),
            "inbound_rule": [_rule(r, "source") for r in firewall["inbound_rules"]],
            "outbound_rule": [_rule(r, "destination") for r in firewall["outbound_rules"]],
        }


def _firewall(wanted: Values) -> dict[str, Any]:
    return {
        "name": wanted["name"],
        "tags": wanted["tags"] or [],
        "inbound_rules": [_sent(r, "source") for r in wanted["inbound_rule"]],
        "outbound_rules": [_sent(r, "destination") for r in wanted["outbound_rule"]],
    }


def _sent(rule: Values, end: str) -> dict[str, Any]:
    ends = {word: rule[f"{end}_{word}"] for word in ("addresses", "tags") if rule[f"{end}_{word}"]}
    return {"protocol": rule["protocol"], "ports": rule["port_range"] or "0", f"{end}s": ends}


def _rule(told: dict[str, Any], end: str) -> Values:
    ends = {f"{end}_{word}": values for word, values in told[f"{end}s"].items()}
    return {"protocol": told["protocol"], "port_range": None if told["ports"] == "0" else told["ports"], **ends}


def godo_words(error: AnsweredError) -> str:
    """`METHOD URL: STATUS (request "ID") MESSAGE`, as godo's `ErrorResponse` says it."""
    body = error.answer.body if isinstance(error.answer.body, dict) else {}
    request = f'(request "{body["request_id"]}") ' if body.get("request_id") else ""
    return f"{error.method} {error.url}: {error.answer.status} {request}{body.get('message', '')}"

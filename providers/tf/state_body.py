"""What a Terraform state says of itself (format 4): serial, lineage, resources. Read from its bytes, without Terraform.

`lineage` is made once for a state's whole life, `serial` goes up with each version of it.
"""

import json
from typing import Any

from providers.errors import ProviderError
from providers.tf.address import target_of


class StateRefused(ProviderError):
    """What was to be written is no later version of the state that is kept. Nothing was written."""

    what_next = "The state that is kept stays. Look at which run wrote the other one before anything is forced."


def is_state(body: bytes) -> bool:
    """Whether these bytes are a whole state: half of one, as a kill leaves it, is none."""
    return "lineage" in _read(body)


def serial_of(body: bytes) -> int:
    """-1 for what is no state."""
    serial = _read(body).get("serial")
    return serial if isinstance(serial, int) else -1


def lineage_of(body: bytes) -> str:
    """Empty for what is no state."""
    return str(_read(body).get("lineage", ""))


def targets_in(body: bytes | None) -> frozenset[str]:
    """What the state holds, as `<resource>/<key>`; empty for a state that was never written."""
    return frozenset(
        target_of(address=str(resource.get("name")), name=str(resource.get("name")), key=key)
        for resource, key in _managed(body)
    )


def addresses_in(body: bytes | None) -> frozenset[str]:
    """What the state holds, by Terraform's own addresses, as `module.kedge.aws_instance.instance["b-0.g1"]`."""
    return frozenset(
        ".".join(filter(None, (resource.get("module"), str(resource.get("type")), str(resource.get("name")))))
        + (f"[{json.dumps(key)}]" if key is not None else "")
        for resource, key in _managed(body)
    )


def instance_ids_in(body: bytes | None) -> dict[str, str]:
    """Instance key -> cloud id, by the output `instances` of the module contract; of the last run that changed any."""
    outputs = _read(body or b"").get("outputs")
    value = outputs.get("instances", {}).get("value", {}) if isinstance(outputs, dict) else {}
    return {key: str(told["id"]) for key, told in value.items() if isinstance(told, dict) and told.get("id")}


def output_in(body: bytes | None, name: str) -> Any:
    """The value of an output of the root module, None where there is none."""
    outputs = _read(body or b"").get("outputs")
    told = outputs.get(name) if isinstance(outputs, dict) else None
    return told.get("value") if isinstance(told, dict) else None


def refuse_unless_later(body: bytes, *, serial: int, lineage: str) -> None:
    """Raises StateRefused unless `body` may follow a version with that serial and lineage.

    The same serial with other bytes is refused, too: two runs that both began from the version before wrote it.
    """
    if lineage_of(body) != lineage:
        raise StateRefused(
            f"the state that is kept has lineage {lineage}, the one that was sent {lineage_of(body)}: it is another "
            "state altogether"
        )
    if serial_of(body) <= serial:
        raise StateRefused(f"the state that is kept has serial {serial}, the one that was sent {serial_of(body)}")


def refuse_unless_state(body: bytes) -> None:
    """Raises StateRefused for bytes that are no whole state."""
    if not is_state(body) or serial_of(body) < 0:
        raise StateRefused(f"what was sent ({len(body)} bytes) is not a Terraform state: it has no lineage and serial")


def _managed(body: bytes | None) -> list[tuple[dict[str, Any], Any]]:
    """(resource, key of one of its instances)"""
    found = _read(body or b"").get("resources")
    resources = [r for r in found if isinstance(r, dict)] if isinstance(found, list) else []
    return [(r, i.get("index_key")) for r in resources if r.get("mode") == "managed" for i in r.get("instances", [])]


def _read(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

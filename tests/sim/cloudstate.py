"""What a modelled Terraform remembers: the state it pushed last, in the shape the real code reads (format 4).

It knows of each module only what its files say: which resources stand for which word of the contract.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from providers.base import InstanceState, Listing, Resources
from providers.tf.imports import in_module
from providers.tf.plan import StateResource

_MODULES = Path(__file__).parents[2] / "terraform/modules"
_RESOURCE = re.compile(r'^resource "(?P<type>\w+)" "(?P<name>\w+)"', re.MULTILINE)

NAME_ONLY = "terraform_data"


@cache
def parts_of(cloud: str, word: str) -> tuple[tuple[str, str], ...]:
    """(type, name) of the resources of a word in the cloud's module, but for those of a VM's own disk."""
    text = "".join(path.read_text() for path in sorted((_MODULES / cloud).glob("*.tf")))
    found = [(m["type"], m["name"]) for m in _RESOURCE.finditer(text)]
    return tuple((t, n) for t, n in found if n.partition("_")[0] == word and not n.endswith("_own"))


def is_name_only(cloud: str, target: str) -> bool:
    """Whether the resource stands for nothing that could be gone."""
    return all(kind == NAME_ONLY for kind, _ in parts_of(cloud, target.partition("/")[0]))


@dataclass(frozen=True, slots=True)
class ModelState:
    """Terraform's addresses by what they stand for. Frozen: whoever pushes puts another one in its place."""

    cloud: str
    held: dict[str, frozenset[str]] = field(default_factory=dict)
    """Target -> Terraform's addresses."""
    ids: dict[str, str] = field(default_factory=dict)
    """Instance key -> the cloud's id."""
    tainted: frozenset[str] = frozenset()
    serial: int = 0

    def with_made(self, target: str, resources: Resources, *, made_id: str = "", tainted: bool = False) -> "ModelState":
        """After a create of it."""
        word, _, key = target.partition("/")
        bound = any(b.instance == key for b in resources.bindings)
        parts = [(t, n) for t, n in parts_of(self.cloud, word) if not (n.endswith("_nic") and bound)]
        addresses = frozenset(in_module(f"{kind}.{name}", key) for kind, name in parts)
        ids = self.ids | {key: made_id} if word == "instance" else self.ids
        marks = self.tainted | {target} if tainted else self.tainted
        return replace(self, held=self.held | {target: addresses}, ids=ids, tainted=marks, serial=self.serial + 1)

    def without(self, targets: Iterable[str]) -> "ModelState":
        """After a delete of them, or a `state rm`."""
        gone = set(targets)
        held = {t: a for t, a in self.held.items() if t not in gone}
        ids = {k: i for k, i in self.ids.items() if f"instance/{k}" not in gone}
        return replace(self, held=held, ids=ids, tainted=self.tainted - gone, serial=self.serial + 1)

    def untainted(self, addresses: Iterable[str]) -> "ModelState":
        marked = {t for t in self.tainted if not self.held[t] & set(addresses)}
        return replace(self, tainted=frozenset(marked), serial=self.serial + 1)

    def refreshed(self, truth: Listing, resources: Resources, there: frozenset[str]) -> "ModelState":
        """What a plan reads again by its ids: what is not there any more is in it no more."""
        alive = {i.id for i in truth.instances if i.state is not InstanceState.GONE}
        gone = [
            target
            for target in self.held
            if not is_name_only(self.cloud, target)
            and (target not in there or self.ids.get(target.removeprefix("instance/"), "") not in {"", *alive})
        ]
        return self.without(gone) if gone else self

    def resources(self) -> tuple[StateResource, ...]:
        return tuple(StateResource(a, t, t in self.tainted) for t, found in self.held.items() for a in sorted(found))

    def body(self) -> bytes:
        """As the real code reads a state."""
        resources = [
            {
                "module": "module.kedge",
                "mode": "managed",
                "type": address.split(".")[2],
                "name": address.split(".")[3].partition("[")[0],
                "instances": [{"index_key": target.partition("/")[2]}],
            }
            for target, addresses in sorted(self.held.items())
            for address in sorted(addresses)
        ]
        outputs = {"instances": {"value": {key: {"id": one} for key, one in self.ids.items()}}}
        told = {"version": 4, "serial": self.serial, "lineage": "sim", "resources": resources, "outputs": outputs}
        return json.dumps(told).encode()

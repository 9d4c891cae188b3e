"""What plans of topics and of users share: the digest that pins one, and the refusal where it moved. Pure."""

import json
from collections.abc import Mapping

from controlplane.cluster.commands import CommandRefused
from controlplane.commands.previews.plan import moved_parts, short_digest


def kept_digest(wanted: object, in_force: object) -> str:
    """Of what the documents mean, and of what is in force of them, as plain data."""
    return "-".join(short_digest(json.dumps(part, sort_keys=True, default=dict)) for part in (wanted, in_force))


def refuse_moved(cluster: str, noun: str, pinned: str, now: str) -> None:
    """Raises CommandRefused where what is to be declared only as it was shown has moved, and says which part of it.
    `pinned`, `now`: of `kept_digest`."""
    parts = (f"the documents of its {noun}", f"what is in force of these {noun}")
    if moved := moved_parts(pinned, now, parts):
        changed = f"{' and '.join(moved)} changed since it was made"
        message = f"the plan of {noun} of {cluster} is not what it was: {changed}"
        raise CommandRefused("plan-moved", message, "Plan again, and look at what it says now.")


def pairs(labels: Mapping[str, str]) -> str:
    """`team=payments,env=prod`, `-` for none."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "-"

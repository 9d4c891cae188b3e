"""The fields of the self-service form as a spec file, and problems of that file as problems of the fields. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import ALLOWS, Verb
from events.spec.model import API_VERSION, KIND
from events.spec.problems import Problem
from events.spec.topic_model import TOPIC_KIND

_TEAM = "team:"

CLUSTER_PRESETS: Mapping[str, Mapping[str, str]] = {
    "scratch": {"controllers": "1", "brokers": "1", "machine": "small", "disk": "20"},
    "standard": {"controllers": "3", "brokers": "3", "machine": "medium", "disk": "100"},
    "critical": {"controllers": "3", "brokers": "6", "machine": "large", "disk": "500"},
}
TOPIC_PRESETS: Mapping[str, Mapping[str, str]] = {
    "scratch": {"partitions": "1", "retention": "24"},
    "standard": {"partitions": "6", "retention": "72"},
    "critical": {"partitions": "12", "retention": "168"},
}

_CLUSTER_FIELDS = (
    ("metadata.name", "name"),
    ("metadata.owner", "owner"),
    ("metadata.labels", "owner"),
    ("spec.kafka.version", "version"),
    ("spec.pools[0].size", "controllers"),
    ("spec.pools[1].size", "brokers"),
    ("spec.pools[0].machine", "machine"),
    ("spec.pools[1].machine", "machine"),
    ("spec.pools[1].disk", "disk"),
    ("spec.pools[0].place.cloud", "cloud"),
    ("spec.pools[1].place.cloud", "cloud"),
    ("spec.pools[0].place.region", "region"),
    ("spec.pools[1].place.region", "region"),
    ("spec.pools[0].place.zones", "zones"),
    ("spec.pools[1].place.zones", "zones"),
)
_TOPIC_FIELDS = (
    ("metadata.name", "name"),
    ("metadata.owner", "owner"),
    ("spec.cluster", "cluster"),
    ("spec.partitions", "partitions"),
    ("spec.replicas", "tier"),
    ("spec.tier", "tier"),
    ("spec.config", "retention"),
)


def cluster_text(fields: Mapping[str, str]) -> str:
    """The file of a cluster. Values stand as they were typed: the rules of specs judge them."""
    zones = [zone for zone in fields["zones"].replace(",", " ").split() if zone]
    place = {"cloud": fields["cloud"], "region": fields["region"], "zones": zones}

    def pool(name: str, service: str, size: str, machine: str, disk: str) -> dict[str, Any]:
        return {
            "name": name,
            "services": [service],
            "size": number_or_text(size),
            "machine": machine,
            "disk": {"kind": "persistent", "sizeGib": number_or_text(disk)},
            "place": place,
        }

    metadata: dict[str, Any] = {"name": fields["name"]}
    if fields["owner"]:
        metadata["owner"] = fields["owner"]
    metadata["labels"] = {"tier": fields["tier"]}
    pools = [
        pool("controllers", "controller", fields["controllers"], "small", "10"),
        pool("brokers", "broker", fields["brokers"], fields["machine"], fields["disk"]),
    ]
    return _dumped(KIND, metadata, {"kafka": {"version": fields["version"]}, "pools": pools})


def topic_text(fields: Mapping[str, str]) -> str:
    """The file of a topic."""
    metadata = {"name": fields["name"]} | ({"owner": fields["owner"]} if fields["owner"] else {})
    hours = number_or_text(fields["retention"])
    config = {"retention.ms": hours * 3_600_000 if isinstance(hours, int) else hours}
    spec = {
        "cluster": fields["cluster"],
        "partitions": number_or_text(fields["partitions"]),
        "tier": fields["tier"],
        "config": config if fields["retention"] else {},
    }
    return _dumped(TOPIC_KIND, metadata, spec)


def on_fields(problems: Iterable[Problem], *, is_topic: bool) -> tuple[dict[str, list[Problem]], list[Problem]]:
    """Problems by the field they are about, and those about none of them."""
    return placed_by(problems, _TOPIC_FIELDS if is_topic else _CLUSTER_FIELDS)


def placed_by(
    problems: Iterable[Problem], table: Sequence[tuple[str, str]]
) -> tuple[dict[str, list[Problem]], list[Problem]]:
    """The same by a table of paths in the spec and the fields they belong to."""
    placed: dict[str, list[Problem]] = {}
    others = []
    for problem in problems:
        field = next((name for path, name in table if problem.path.startswith(path)), "")
        if field:
            placed.setdefault(field, []).append(problem)
        else:
            others.append(problem)
    return placed, others


def teams_of(rights: Rights) -> tuple[Sequence[str], bool]:
    """Teams the caller may declare for, and whether they may name any other."""
    scopes = [b.scope for b in rights.bindings if Verb.DECLARE in ALLOWS[b.role]]
    teams = sorted({scope.removeprefix(_TEAM) for scope in scopes if scope.startswith(_TEAM)})
    return teams, any(not scope.startswith(_TEAM) for scope in scopes)


def number_or_text(text: str) -> int | str:
    """A whole number where it is one; anything else as it was typed."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else text


def _dumped(kind: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    return text_of({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec})


def text_of(whole: Mapping[str, Any]) -> str:
    """A document as a file."""
    return yaml.dump(dict(whole), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)


class _Plain(yaml.SafeDumper):
    """Without anchors: specs take none."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

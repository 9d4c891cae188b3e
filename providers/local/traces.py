"""What the local cloud's directory remembers beyond its listing: see `providers.traces`. Reads, and changes nothing."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from providers import tags
from providers.local.layout import Layout, instance_id
from providers.local.record import Record, read_record
from providers.traces import AgentTrace


def read_agent_traces(layout: Layout, installation_id: str) -> Mapping[str, AgentTrace]:
    """By cloud id. The agent keeps its document as `{"etag": ..., "document": {...}}` (agent/records.py)."""
    return {
        instance_id(record["tags"][tags.CLUSTER_UID], vm_dir.name): AgentTrace(
            _text(vm_dir / "boot.json"), _document(vm_dir / "agent" / "records" / "document.json")
        )
        for vm_dir, record in _vms(layout)
        if tags.owned_by(record["tags"], installation_id)
    }


def read_spent_generations(layout: Layout) -> Mapping[tuple[str, str], int]:
    """From VMs and tombstones."""
    highest: dict[tuple[str, str], int] = {}
    buried = layout.instances.parent.glob("tombstones/*/*.json")
    keys = [(path.parent.name, path.name.removesuffix(".json")) for path in buried]
    keys += [(vm_dir.parent.name, vm_dir.name) for vm_dir, _ in _vms(layout)]
    for uid, key in keys:
        node, _, generation = key.rpartition(".g")
        if node and generation.isdecimal():
            highest[uid, node] = max(highest.get((uid, node), 0), int(generation))
    return highest


def count_foreign_vms(layout: Layout, installation_id: str) -> Mapping[str, int]:
    """VMs by installation, ours left out."""
    owners = (str(record["tags"].get(tags.INSTALLATION, "")) for _, record in _vms(layout))
    return dict(sorted(Counter(owner for owner in owners if owner != installation_id).items()))


def _vms(layout: Layout) -> Iterator[tuple[Path, Record]]:
    for path in sorted(layout.instances.glob("*/*/vm.json")):
        record = read_record(path)
        if record and not layout.tombstone(path.parent.parent.name, path.parent.name).exists():
            yield path.parent, record


def _document(path: Path) -> str:
    try:
        return json.dumps(json.loads(_text(path))["document"])
    except (ValueError, KeyError, TypeError):
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""

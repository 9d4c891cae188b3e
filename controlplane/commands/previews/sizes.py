"""What new VMs are started with where their machine decides it, in a plan's words."""

import re
from collections.abc import Iterable

from planner.rollout.desired import DesiredNode
from planner.rollout.diff import Change, NodeChange
from planner.rollout.machine_sizes import ServiceSize


def size_lines(changes: Iterable[NodeChange]) -> tuple[str, ...]:
    """A line for each pool that gets VMs: the figures of its machine, and what follows from them."""
    made = (c.desired for c in changes if c.change in (Change.CREATE, Change.REPLACE) and c.desired is not None)
    found = {node.pool: _line(node, node.size) for node in made if node.size is not None}
    return tuple(found[pool] for pool in sorted(found))


def _line(node: DesiredNode, size: ServiceSize) -> str:
    machine = size.machine
    words = [f"heap {size.heap_mib} MiB ({_collector((*size.jvm, *node.jvm.options))})"]
    words += [f"ZooKeeper's heap {size.member_heap_mib} MiB"] if size.member_heap_mib else []
    words += [
        f"{word} {node.settings[name]}"
        for name, word in (
            ("num.io.threads", "I/O threads"),
            ("num.network.threads", "network threads"),
            ("num.replica.fetchers", "fetchers"),
            ("offsets.topic.num.partitions", "partitions of internal topics"),
        )
        if name in size.properties
    ]
    return f"{node.pool}: {machine.vcpus} CPUs and {machine.memory_mib} MiB: {', '.join(words)}"


def _collector(jvm: tuple[str, ...]) -> str:
    """The last one named: the spec's goes before the machine's."""
    named = [found[1] for option in jvm if (found := _COLLECTOR.fullmatch(option))]
    return _NAMES.get(named[-1], f"{named[-1]} collector") if named else "Java's own collector"


_COLLECTOR = re.compile(r"-XX:\+Use(\w+)GC")
_NAMES = {"G1": "G1", "Z": "ZGC", "Serial": "serial collector", "Parallel": "parallel collector"}

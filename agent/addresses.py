"""The addresses of a real VM's network interfaces, from iproute2."""

import json

from agent.host_port import plain_host
from agent.tools import Tool, ToolFailed, output_of


def bound_addresses(run: Tool) -> frozenset[str]:
    """Addresses that are bound and not link-local, as text; empty when they cannot be read: then nothing starts."""
    try:
        listed = json.loads(output_of(run, ("ip", "-json", "address", "show")))
        return frozenset(
            plain_host(str(one["local"]))
            for link in listed
            for one in link.get("addr_info", ())
            if one.get("scope") != "link"
        )
    except (ToolFailed, ValueError, KeyError, TypeError):
        return frozenset()

"""Hetzner's metadata service as a server asks it: what cloud-init's `DataSourceHetzner` and the documents name.

docs.hetzner.cloud, "Server Metadata"; cloudinit/sources/DataSourceHetzner.py.
"""

from collections.abc import Mapping
from typing import Any

import yaml

ADDRESS = "169.254.169.254"
_ROOT = "/hetzner/v1/"


def told(path: str, server: Mapping[str, Any], user_data: str, networks: Mapping[int, Mapping[str, Any]]) -> str | None:
    """What that server is told at a path; None where there is nothing."""
    if not path.startswith(_ROOT):
        return None
    wanted = path.removeprefix(_ROOT).strip("/")
    if wanted == "userdata":
        return user_data
    data = metadata(server, networks)
    if wanted == "metadata":
        return yaml.safe_dump(data)
    found = data.get(wanted.removeprefix("metadata/"))
    return None if found is None else found if isinstance(found, str) else yaml.safe_dump(found)


def metadata(server: Mapping[str, Any], networks: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """All of it. The first card is what cloud-init is to configure: where no address is public, a private one."""
    nets = server["private_net"]
    first = [
        {"type": "physical", "name": "enp7s0", "mac_address": net["mac_address"], "subnets": [_BY_DHCP]}
        for net in nets[:1]
    ]
    return {
        "availability-zone": f"{server['location']['name']}-dc1",
        "hostname": server["name"],
        "instance-id": str(server["id"]),
        "region": server["location"]["network_zone"],
        "public-keys": [],
        "network-config": {"version": 1, "config": first},
        "private-networks": [
            {
                "ip": net["ip"],
                "alias_ips": net["alias_ips"],
                "interface_num": number,
                "mac_address": net["mac_address"],
                "network_id": net["network"],
                "network": networks[net["network"]]["ip_range"],
                "gateway": networks[net["network"]]["subnets"][0]["gateway"],
            }
            for number, net in enumerate(nets, 1)
        ],
    }


_BY_DHCP = {"ipv4": True, "type": "dhcp"}

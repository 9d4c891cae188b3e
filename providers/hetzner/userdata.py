"""What a server is born with, for cloud-init: the agent's boot data as a file, and a packet filter.

cloud-init runs `bootcmd` at each boot before it starts SSH, and writes files at the first one.
"""

import json

from providers.hetzner.nftables import rules
from providers.hetzner.settings import HetznerRegion

BOOT_FILE = "/var/lib/kedge-agent/boot.json"
"""Where the agent reads its boot data (agent/layout.py)."""

_HEADER = "#cloud-config\n"


def user_data(boot_data: str, region: HetznerRegion) -> str:
    """Text of the user data. Pure: the same settings and boot data give the same bytes.

    Members are all networks Kedge has there. JSON is YAML too, which is what cloud-init reads.
    """
    members = (*region.subnets.values(), region.member_range, region.node_range)
    config = {
        "bootcmd": [["nft", rules(members, region.clients)]],
        "ssh_pwauth": False,
        "write_files": [{"path": BOOT_FILE, "permissions": "0600", "content": boot_data}],
    }
    return _HEADER + json.dumps(config, sort_keys=True, separators=(",", ":"))

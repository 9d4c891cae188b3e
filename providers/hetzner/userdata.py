"""What a server is born with: as on every cloud, and a packet filter, since Hetzner's filters no private network.

cloud-init runs `bootcmd` at each boot before it starts SSH.
"""

from collections.abc import Sequence

from providers.base import InstanceResource
from providers.cloudinit import born_with
from providers.hetzner.nftables import rules
from providers.hetzner.settings import HetznerRegion
from providers.software import Software


def user_data(
    instance: InstanceResource, region: HetznerRegion, software: Software | None, ssh_keys: Sequence[str] = ()
) -> str:
    """Text of the user data. Pure: the same settings and boot data give the same bytes.

    Members are all networks Kedge has there.
    """
    members = (*region.subnets.values(), region.member_range, region.node_range)
    commands = [("nft", rules(members, region.clients, region.ports))]
    # A server has the one disk it boots from: looked for as a device, its own would never be found.
    return born_with(instance, software, own_disks="root", commands=commands, ssh_keys=ssh_keys)

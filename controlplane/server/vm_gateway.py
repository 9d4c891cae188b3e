"""Where agents of VMs with a network of their own reach this server: the machine's address on their bridge.

Inside a VM the loopback address its agent was told leads to the same port here. Nobody else comes this way: answers to
those addresses go over the bridge alone.
"""

import socket

from agent.host_port import HostPort
from controlplane.runtime.listen_addresses import CannotListen, tcp_socket
from controlplane.server.settings import Settings
from providers.local.ranges import GATEWAY

_IP_FREEBIND = 15
"""ip(7): an address that nobody has yet; the bridge comes with the first VM."""


def gateway_door(settings: Settings, port: int) -> socket.socket | None:
    """Listening, None where VMs share the loopback device. Raises CannotListen."""
    if settings.clouds.vm_network != "namespaces":
        return None
    door = tcp_socket(socket.AF_INET)
    door.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
    try:
        door.bind((GATEWAY, port))
        door.listen(128)
    except OSError as error:
        door.close()
        where = HostPort(GATEWAY, port)
        message = f"cannot listen on {where} for VMs: {error.strerror}. KEDGE_PROCESS__PORT names another port."
        raise CannotListen(message, is_taken=False) from error
    return door

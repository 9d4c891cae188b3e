"""This machine's own loopback, by name or address. It loads nothing: the command line asks it, too."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own loopback."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""Whether this VM can have an overlay at all: its tools, its kernel."""

from pathlib import Path

from agent.tools import Tool, ToolFailed

_TOOLS = (("wg", "--version"), ("ip", "-Version"), ("nft", "--version"))
_OWN_WIREGUARD = (("modprobe", "--dry-run", "--quiet", "wireguard"), ("wireguard-go", "--version"))
"""Of the kernel, built into it or a module, else of a program."""


def inability(run: Tool, ipv6: Path = Path("/proc/sys/net/ipv6/conf")) -> str:
    """Why it cannot, and what to do; "" where nothing speaks against it. `ipv6`: the kernel's switches."""
    for tool in _TOOLS:
        if not _works(run, tool):
            return f"{tool[0]} is not on this VM, or does not run: an image of Kedge has it"
    for interface in ("all", "lo"):
        try:
            is_off = (ipv6 / interface / "disable_ipv6").read_text().strip() != "0"
        except OSError:
            return "its kernel has no IPv6 (ipv6.disable=1, or built without): start it with IPv6"
        if is_off:
            return f"IPv6 is off: set net.ipv6.conf.{interface}.disable_ipv6 to 0"
    if not any(_works(run, words) for words in _OWN_WIREGUARD):
        return "its kernel has no WireGuard, and there is no wireguard-go in its place: an image of Kedge has either"
    return ""


def _works(run: Tool, words: tuple[str, ...]) -> bool:
    try:
        return run(words).code == 0
    except ToolFailed:
        return False

"""An IPv6 address has colons of its own: a host and its port are joined and split by `agent.host_port` alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("agent", "controlplane", "events", "planner", "providers", "spark")
ARGUED = {
    ("agent/host_port.py", 'f"{bracketed(self.host)}:{self.port}"'): "the one place",
    ("agent/host_port.py", 'host, _, port = text.rpartition(":")'): "the one place",
    (
        "controlplane/server/assembly/core.py",
        'f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"',
    ): "a process, nothing that is dialled",
    (
        "controlplane/background/git_sync/environment.py",
        'f"[{host}]:{port}"',
    ): "known_hosts of OpenSSH has brackets around names, too (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)",
}
"""Source of a bare join or split -> why it is one."""

_LIKELY = re.compile(r"""\}\]?:[{\d"']|partition\(":"|split\(":"|":"\.join|%s:%d""")
"""What a file has that is worth parsing: most have none of it."""
_PORT = re.compile(r"port|PORT")
_HOST = re.compile(r"(?i)address|host|\bdns\b")


def test_hosts_and_ports_are_joined_and_split_in_one_place() -> None:
    found = {
        (str(path.relative_to(ROOT)), text)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for text in bare(path.read_text())
    }
    new = [f"{file}: {text}" for file, text in sorted(found - ARGUED.keys())]
    assert not new, "use `agent.host_port.HostPort`, or argue it in ARGUED: " + "\n".join(new)
    assert not ARGUED.keys() - found, "argued, and there no more"


@pytest.mark.parametrize(
    "text",
    [
        'f"{host}:{port}"',
        'f"http://{s.address}:{PORTS[name]}/x"',
        'f"{x}:{x.port}"',
        'f"[{host}]:{port}"',
        'f"{v.id}@{v.host}:{v.port}:{v.directory}"',
        'f"{address}:9092"',
        'f"{host}:" + str(port)',
        'log("at %s:%d", host, port)',
        '"{}:{}".format(host, port)',
        'host, _, port = text.rpartition(":")',
        'host, port = text.rsplit(":", 1)',
        'port = text.split(":")[1]',
        '":".join((host, str(port)))',
    ],
)
def test_a_bare_join_or_split_is_found(text: str) -> None:
    assert [*bare(text)] != []


@pytest.mark.parametrize(
    "text",
    [
        'f"{topic}:{partition}"',
        'f"{HostPort(host, port)}:{directory}"',
        'f"{listener} port {port}: {why}"',
        'f"{host}: nobody answers"',
        'kind, _, name = actor.partition(":")',
        '":".join(groups)',
    ],
)
def test_what_is_no_address_is_left_alone(text: str) -> None:
    assert [*bare(text)] == []


def bare(source: str) -> Iterator[str]:
    """The source of each join and split of a host and its port."""
    if not _LIKELY.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.JoinedStr():
                found = _joins(node)
            case ast.Call():
                found = _is_call(node)
            case ast.Assign():
                found = _splits(node)
            case _:
                continue
        if found:
            yield ast.get_source_segment(source, node) or ""


def _joins(node: ast.JoinedStr) -> bool:
    """Whether a value, a colon and a port follow each other, by hand-made brackets or without."""
    for before, text, after in zip(node.values, node.values[1:], [*node.values[2:], None], strict=False):
        if not (isinstance(before, ast.FormattedValue) and isinstance(text, ast.Constant)):
            continue
        words = str(text.value).removeprefix("]")
        if words[:1] != ":" or (of := ast.unparse(before.value)).startswith("HostPort("):
            continue
        if words == ":" and isinstance(after, ast.FormattedValue) and _PORT.search(ast.unparse(after.value)):
            return True
        if _HOST.search(of) and (re.match(r":\d", words) or words == ":"):
            return True
    return False


def _is_call(node: ast.Call) -> bool:
    match node.func:
        case ast.Attribute(value=ast.Constant(value=":"), attr="join"):
            return bool(_PORT.search(ast.unparse(node)))
        case ast.Attribute(value=ast.Constant(value=str(text)), attr="format"):
            return "}:{" in text and bool(_PORT.search(ast.unparse(node)))
    return any(isinstance(one, ast.Constant) and "%s:%d" in str(one.value) for one in node.args)


def _splits(node: ast.Assign) -> bool:
    """Whether something is cut at a colon, and a part is called a port."""
    is_cut = any(_cuts(call) for call in ast.walk(node.value))
    names = {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return is_cut and any(_PORT.search(name) for name in names)


def _cuts(call: ast.AST) -> bool:
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("split", "rsplit", "partition", "rpartition")
        and bool(call.args)
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value == ":"
    )

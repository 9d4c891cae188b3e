"""The configuration of a ZooKeeper server: a static `zoo.cfg`, and the membership, which ZooKeeper keeps itself.

Both are on the volume, since the membership goes where the data goes. With every change of the ensemble ZooKeeper
writes `zoo.cfg.dynamic.<version in hex>` beside `zoo.cfg` (QuorumPeer.setQuorumVerifier); a start takes the newest.
"""

import re
from pathlib import Path

from agent.durable import write_durably
from agent.host_port import HostPort
from agent.services.zoo_tls import names_plaintext, secured, speaks_tls_alone
from agent.wire import EnsembleMember, ServiceDocument

FOUR_LETTER_WORDS = ("ruok", "srvr", "mntr", "conf")
"""What anybody on the cluster's network may ask. The others list sessions, or reset counters."""

_FIRST = "zoo.cfg.dynamic"
_VERSIONED = re.compile(r"zoo\.cfg\.dynamic\.([0-9a-f]+)")
_DEFAULTS = {
    "tickTime": "1000",  # sessions last 2 to 20 ticks; Kafka asks for 18 s
    "initLimit": "30",
    "syncLimit": "10",
    "autopurge.snapRetainCount": "3",  # ZooKeeper's own default never purges, until the disk is full
    "autopurge.purgeInterval": "1",
}
_OWNED_NEVER_RENDERED = {
    "clientPort",  # it is in the membership, with the address
    "clientPortAddress",
    "dataLogDir",
    "peerType",
    "portUnification",  # would take plaintext at a port of TLS
    "secureClientPort",
    "secureClientPortAddress",
    "serverCnxnFactory",
    "skipACL",  # would let everybody change everything
    "sslQuorum",
    "sslQuorumReloadCertFiles",
}
_OWNED_PREFIXES = ("authProvider.", "group.", "server.", "ssl.", "weight.")


def static_config(service: ServiceDocument, directory: Path, membership: Path, *, tls_dir: Path | None = None) -> str:
    """`zoo.cfg` of a server whose volume holds `directory`; `membership` is the file its members are read from, and
    `tls_dir` has the certificates of one that speaks TLS, which is not rendered without."""
    owned = _owned(directory, membership)
    if service.tls is not None:
        if tls_dir is None:
            raise ValueError(f"{service.name}: it speaks TLS, and nobody says where its certificates are")
        owned |= secured(service, tls_dir)
    settings = {k: v for k, v in service.settings.items() if not _is_owned(k, owned)}
    values = {**_DEFAULTS, **dict(sorted(settings.items())), **owned}
    return "".join(f"{key}={_one_line(value)}\n" for key, value in values.items())


def ignored_zookeeper_settings(service: ServiceDocument) -> tuple[str, ...]:
    """Keys of the document's settings that Kedge owns: they are not rendered, and reported."""
    owned = _owned(Path(), Path())
    return tuple(sorted(key for key in service.settings if _is_owned(key, owned)))


def member_line(member: EnsembleMember, role: str, *, has_plaintext: bool) -> str:
    """As ZooKeeper writes it: `server.1=10.0.0.1:2888:3888:participant;10.0.0.1:2181`. What is behind the `;` is opened
    in plaintext, and left out where nothing is to be."""
    peers = f"server.{member.id}={HostPort(member.address, member.peer_port)}:{member.election_port}:{role}"
    return f"{peers};{HostPort(member.address, member.port)}" if has_plaintext else peers


def first_membership(service: ServiceDocument) -> str:
    """A founder takes part at once. Any other knows the members, and itself as an observer: it is let in by a change
    of the ensemble once it has caught up, never by its own word."""
    own_role = "participant" if service.founder else "observer"
    own = next((m for m in service.ensemble if m.id == service.node_id), None)
    port = service.tls.plain_port if service.tls is not None and service.tls.step is not None else service.port
    own = own or EnsembleMember(id=service.node_id, address=service.address, port=port)
    roles = [*((m, "participant") for m in service.ensemble if m.id != own.id), (own, own_role)]
    return "".join(f"{member_line(m, role, has_plaintext=names_plaintext(service))}\n" for m, role in roles)


def write_first_configuration(service: ServiceDocument, directory: Path) -> None:
    """Into a directory that is being made: the membership, and the server's id where ZooKeeper looks for it."""
    (directory / "data").mkdir()
    write_durably(directory / "data" / "myid", f"{service.node_id}\n".encode("ascii"))
    write_durably(directory / _FIRST, first_membership(service).encode("ascii"))


def write_configuration(service: ServiceDocument, directory: Path, *, tls_dir: Path | None = None) -> Path:
    """Renders `zoo.cfg` anew over the newest membership; returns its path. `tls_dir` as of `static_config`. Raises
    `OSError`.

    A server that was shown an ensemble without itself (it waits to be let in, or was removed) refuses to start on that
    file ("not in the peer list"): it begins again as an observer of the members the document names.
    """
    membership = newest_membership(directory)
    if not names_server(membership, service.node_id):
        observer = service.model_copy(update={"founder": False})
        membership = directory / _FIRST
        write_durably(membership, first_membership(observer).encode("ascii"))
    if speaks_tls_alone(service):
        _forget_plaintext(membership)
    config = directory / "zoo.cfg"
    write_durably(config, static_config(service, directory, membership, tls_dir=tls_dir).encode("ascii"))
    return config


def _forget_plaintext(membership: Path) -> None:
    """A server that was away while the membership of all others lost its ports in plaintext would open its own once
    more: it has the file of before until it has found them."""
    text = membership.read_text("ascii")
    bare = "".join(f"{line.partition(';')[0]}\n" for line in text.splitlines())
    if bare != text:
        write_durably(membership, bare.encode("ascii"))


def newest_membership(directory: Path) -> Path:
    """The membership of the highest version; the first one while there is no other."""
    versions = {int(m[1], 16): path for path in directory.iterdir() if (m := _VERSIONED.fullmatch(path.name))}
    return versions[max(versions)] if versions else directory / _FIRST


def names_server(membership: Path, server: int) -> bool:
    lines = membership.read_text(encoding="ascii").splitlines()
    return any(line.startswith(f"server.{server}=") for line in lines)


def _owned(directory: Path, membership: Path) -> dict[str, str]:
    return {
        "dataDir": str(directory / "data"),
        "dynamicConfigFile": str(membership),
        "reconfigEnabled": "true",
        "standaloneEnabled": "false",  # else an ensemble cannot grow from one server or shrink to one
        "admin.enableServer": "false",  # an HTTP server on port 8080 that nobody asked for
        "quorumListenOnAllIPs": "false",
        "4lw.commands.whitelist": ",".join(FOUR_LETTER_WORDS),
    }


def _is_owned(key: str, owned: dict[str, str]) -> bool:
    return key in owned or key in _OWNED_NEVER_RENDERED or key.startswith(_OWNED_PREFIXES)


def _one_line(value: str) -> str:
    """java.util.Properties syntax, as in server.properties."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{escaped}" if escaped.startswith((" ", "\t")) else escaped

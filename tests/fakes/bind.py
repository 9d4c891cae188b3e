"""A real BIND on a loopback port with one zone that takes signed updates. Ended by its process id."""

import secrets
import shutil
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dns.message
import dns.query

_CONF = """\
options {{
  directory "{folder}";
  pid-file none;
  session-keyfile none;
  listen-on port {port} {{ 127.0.0.1; }};
  listen-on-v6 {{ none; }};
  recursion no;
  dnssec-validation no;
  allow-transfer {{ none; }};
}};
controls {{ }};
key "kedge" {{ algorithm hmac-sha256; secret "{secret}"; }};
zone "{zone}" {{ type primary; file "zone"; allow-update {{ key kedge; }}; }};
zone "{locked}" {{ type primary; file "locked"; allow-update {{ none; }}; }};
"""

_ZONE = """\
$TTL 60
@ SOA ns hostmaster 1 3600 600 86400 60
@ NS ns
ns A 127.0.0.1
"""

_STARTS_S = 20.0


@dataclass(frozen=True, slots=True)
class Bind:
    """A running server: `zone` takes updates signed with `secret` as key `kedge`, `locked` takes none."""

    port: int
    zone: str
    locked: str
    secret: str


@contextmanager
def running_bind(folder: Path) -> Iterator[Bind]:
    """Raises FileNotFoundError where there is no `named`: Debian has it in the package bind9."""
    program = shutil.which("named") or shutil.which("named", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise FileNotFoundError("no `named` on this machine: install BIND (Debian: bind9)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    bind = Bind(port, "kafka.example.com", "locked.example.com", b64encode(secrets.token_bytes(32)).decode())
    for name in ("zone", "locked"):
        (folder / name).write_text(_ZONE)
    conf = folder / "named.conf"
    conf.write_text(_CONF.format(folder=folder, port=port, secret=bind.secret, zone=bind.zone, locked=bind.locked))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, "-g", "-4", "-n", "1", "-c", str(conf)], stdout=log, stderr=log)
        try:
            _wait_for(bind, process, folder / "log")
            yield bind
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(bind: Bind, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _STARTS_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            dns.query.tcp(dns.message.make_query(bind.zone, "SOA"), "127.0.0.1", port=bind.port, timeout=1)
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"BIND does not answer: {log.read_text()}")

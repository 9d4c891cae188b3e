"""Repositories over a real `sshd` on loopback: its host key is proved, the key of the binding opens, no other does."""

import getpass
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.clone import Clone
from controlplane.background.git_sync.faults import SourceFault
from controlplane.runtime.egress import Allowed, Egress
from providers.process import wait_until
from tests.contract.git_repositories import Upstream
from tests.unit.events.spec_texts import ORDERS


class SshServer:
    """A host that lets one key in, and knows one host key. It runs as whoever runs the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = made_key(folder / "user")
        self.known_hosts = folder / "known_hosts"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        host = made_key(folder / "host")
        (folder / "authorized").write_text(self.key.with_suffix(".pub").read_text())
        self.know(host)
        (folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {host}\nAuthorizedKeysFile {folder}/authorized\n"
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\n"
        )

    def know(self, key: Path, *, host: str = "127.0.0.1") -> None:
        """Writes that key down as the host's."""
        kind, text, *_ = key.with_suffix(".pub").read_text().split()
        self.known_hosts.write_text(f"[{host}]:{self.port} {kind} {text}\n")

    def start(self) -> subprocess.Popen[bytes]:
        if os.getuid() == 0:
            # Debian's service makes it: where sshd parts from its rights.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program is not None, "sshd is not here: apt-get install openssh-server"
        log = (self.folder / "log").open("wb")
        command = [program, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        wait_until(self._answers, timeout_s=20)
        return process

    def _answers(self) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def clone(
        self, upstream: Upstream, *, key: Path | None = None, host: str = "127.0.0.1", egress: Egress | None = None
    ) -> Clone:
        binding = GitBinding(
            name="teams",
            repository=f"ssh://{getpass.getuser()}@{host}:{self.port}{upstream.bare}",
            path="kafka",
            ssh_key_file=key or self.key,
            known_hosts_file=self.known_hosts,
        )
        folder, stop = self.folder / "home" / "teams", threading.Event()
        return Clone(binding, folder, local_paths=(), stop=stop, egress=egress or Egress())


def made_key(file: Path) -> Path:
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(file)]
    subprocess.run(made, check=True, capture_output=True, timeout=30)
    return file


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    server = SshServer(tmp_path)
    process = server.start()
    try:
        yield server
    finally:
        process.terminate()
        process.wait(20)


def test_a_branch_is_read_over_ssh_and_again_once_it_has_moved(server: SshServer, upstream: Upstream) -> None:
    first = upstream.push({"kafka/orders.yaml": ORDERS})
    clone = server.clone(upstream)
    assert clone.tip(None).commit == first
    (entry,) = clone.entries(first)
    assert clone.contents([entry.blob]) == {entry.blob: ORDERS.encode()}
    second = upstream.push({"kafka/ads.yaml": ORDERS})
    moved = clone.tip(first)
    assert (moved.commit, moved.descends) == (second, True)
    upstream.git("reset", "--quiet", "--hard", first)
    upstream.push({"kafka/orders.yaml": "other"})
    assert clone.tip(second).descends is False, "the history was rewritten"


def test_a_key_that_is_not_let_in_is_told_and_nobody_is_asked_for_a_password(
    server: SshServer, upstream: Upstream
) -> None:
    upstream.push({"kafka/orders.yaml": ORDERS})
    stranger = made_key(server.folder / "stranger")
    with pytest.raises(SourceFault) as refused:
        server.clone(upstream, key=stranger).tip(None)
    assert refused.value.reason == "AuthenticationFailed"


def test_a_host_that_shows_another_key_than_the_one_that_is_known_is_told_nothing(
    server: SshServer, upstream: Upstream
) -> None:
    upstream.push({"kafka/orders.yaml": ORDERS})
    server.know(made_key(server.folder / "impostor"))
    with pytest.raises(SourceFault) as refused:
        server.clone(upstream).tip(None)
    assert refused.value.reason == "HostKeyRefused"
    log = (server.folder / "log").read_text()
    assert "Accepted" not in log
    server.known_hosts.write_text("")
    with pytest.raises(SourceFault) as unknown:
        server.clone(upstream).tip(None)
    assert unknown.value.reason == "HostKeyRefused", "an unknown host is not a known one"


def test_a_repository_that_is_not_there_is_said_to_be_unreachable(server: SshServer, upstream: Upstream) -> None:
    upstream.push({"kafka/orders.yaml": ORDERS})
    shutil.rmtree(upstream.bare)
    with pytest.raises(SourceFault) as gone:
        server.clone(upstream).tip(None)
    assert gone.value.reason == "Unreachable"


def test_ssh_goes_to_the_address_that_was_judged_and_knows_the_host_by_its_name(
    server: SshServer, upstream: Upstream
) -> None:
    """Nobody but the judge can look this name up: had ssh asked a resolver itself, it would have found nothing."""
    first = upstream.push({"kafka/orders.yaml": ORDERS})
    judged = Egress(allow=(Allowed.of("127.0.0.0/8"),), resolve=lambda host, port: ("127.0.0.1",))
    server.know(server.folder / "host", host="git.nowhere.invalid")
    assert server.clone(upstream, host="git.nowhere.invalid", egress=judged).tip(None).commit == first
    server.know(server.folder / "host")
    with pytest.raises(SourceFault) as unknown:
        server.clone(upstream, host="git.nowhere.invalid", egress=judged).tip(None)
    assert unknown.value.reason == "HostKeyRefused", "it is known by its name alone, not by its address"

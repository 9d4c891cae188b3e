"""The VM's root directory: where everything is, and what is attached to the VM right now.

On a cloud VM it is `/var/lib/kedge-agent`; on the `local` cloud it is the VM's disk. Volumes and addresses come and go
while the agent runs, so they are looked up every time and never remembered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.host_port import plain_host
from agent.secret_log import remember
from agent.wire import BootData, LogDir

REPLICATOR = "replicator"
"""What copies between clusters: no service of a document's list, and its files are where theirs are."""


class BootDataUnreadable(ValueError):
    """The VM was born without usable boot data: give up, the VM must be replaced."""


@dataclass(frozen=True, slots=True)
class AgentLayout:
    """Paths below the root, and the two things that others put there: volumes and addresses."""

    root: Path
    services_apart: bool = False
    """Services run as a user of their own: what they read and write is not among the agent's own files."""

    @property
    def state(self) -> Path:
        """The agent's own directory (0700): persisted document, records, credential, boot counter."""
        return self.root / "agent"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def spools(self) -> Path:
        """What waits for Kafka, a directory of each kind: on the VM's root disk, never on a volume of Kafka's."""
        return self.state / "spools"

    @property
    def bundles(self) -> Path:
        """Agents this VM was upgraded to, each in a directory of its own, and which of them counts."""
        return self.state / "bundles"

    def service_dir(self, service: str) -> Path:
        """Rendered configuration of one service; rewritten at each start."""
        return (self.root if self.services_apart else self.state) / "services" / service

    def tls_dir(self, service: str) -> Path:
        """Key and certificates of a service that proves itself to the others of its cluster."""
        return self.service_dir(service) / "tls"

    @property
    def service_logs(self) -> Path:
        """Where services write their logs. What they print is beside the agent's, which holds those files open."""
        return self.logs / "services" if self.services_apart else self.logs

    def service_log(self, service: str) -> Path:
        return self.service_logs / f"{service}.log"

    def mount(self, log_dir: LogDir) -> Path:
        return self.root / "volumes" / log_dir.name

    def rate_file(self, log_dir: LogDir) -> Path:
        """What was measured of the volume when it was new."""
        return self.root / "volumes" / f"{log_dir.name}.rate"

    def data(self, log_dir: LogDir) -> Path:
        """Kafka's directory on the volume. One level down: `lost+found` at the top of a filesystem makes Kafka fail."""
        return self.mount(log_dir) / "kafka"

    def zookeeper(self, log_dir: LogDir) -> Path:
        """A ZooKeeper server's directory on the volume: its data, and the configuration it keeps itself."""
        return self.mount(log_dir) / "zookeeper"

    def prepare(self) -> None:
        """Makes the agent's own directories; volumes and interfaces are made by those who attach them."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)

    def boot_data(self) -> BootData:
        """Raises `BootDataUnreadable`."""
        path = self.root / "boot.json"
        try:
            boot = BootData.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise BootDataUnreadable(f"boot data in {path} cannot be used: {error}") from error
        remember(boot.token.get_secret_value())
        return boot

    def attached(self) -> Mapping[str, str]:
        """Mount name -> volume key, where both mount and key file are there: attaching is two steps."""
        found: dict[str, str] = {}
        for key_file in sorted((self.root / "volumes").glob("*.key")):
            name = key_file.name.removesuffix(".key")
            try:
                key = key_file.read_text().strip()
            except FileNotFoundError:  # detached between the listing and the reading
                continue
            if key and (self.root / "volumes" / name).is_dir():
                found[name] = key
        return found

    def addresses(self) -> frozenset[str]:
        """Addresses bound to the VM."""
        directory = self.root / "interfaces"
        return frozenset(plain_host(entry.name) for entry in directory.iterdir()) if directory.is_dir() else frozenset()

"""How this local cloud launches VMs: written once by `LocalCloud`, read by the verbs Terraform starts."""

from dataclasses import asdict, dataclass
from pathlib import Path

from providers.local.ranges import NetworkName
from providers.local.record import read_record, write_record

AGENT_COMMAND = ("{python}", "-m", "agent.init", "--root", "{vm_dir}")


@dataclass(frozen=True, slots=True)
class Config:
    """`command` is what a VM boots, with `{python}` and `{vm_dir}` filled in: the agent's init, or a stand-in
    in tests.

    `kafka_dir` holds `<version>/libs` and `<version>/cds`. `enforce_disk` mounts each disk with its true size
    (root only: a loop device for disks that outlive VMs, tmpfs for ephemeral ones). `network` is what new VMs get.
    """

    python: str
    kafka_dir: str = ""
    enforce_disk: bool = False
    network: NetworkName = "loopback"
    command: tuple[str, ...] = AGENT_COMMAND


def write_config(root: Path, config: Config) -> None:
    """Record the configuration if it differs from what is there."""
    if read_config(root) != config:
        write_record(_path(root), asdict(config))


def read_config(root: Path) -> Config | None:
    """The recorded configuration, None in a directory that is no local cloud (yet)."""
    record = read_record(_path(root))
    if record is None:
        return None
    return Config(**{**record, "command": tuple(record["command"])})


def _path(root: Path) -> Path:
    return root / "config.json"

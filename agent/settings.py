"""Settings of one agent, read once from the environment at start; nothing else of the agent reads the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

from agent.host_port import HostPort

Disks = Literal["given", "devices"]
Filesystem = Literal["xfs", "ext4"]
OwnDisks = Literal["device", "root"]
Metadata = Literal["found", "aws", "google", "azure", "off"]
VmNetwork = Literal["own", "shared"]

_Word = TypeVar("_Word", bound=str)


class AgentSettingsRefused(ValueError):
    """A setting is missing or has no sense: give up, a person must change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTimes:
    """How often things are done, and how long they may take, in seconds."""

    poll_wait_s: float = 20.0
    retry_s: float = 0.5
    retry_cap_s: float = 20.0
    tick_s: float = 1.0
    busy_tick_s: float = 0.2
    probe_every_s: float = 2.0
    metrics_every_s: float = 5.0
    vitals_every_s: float = 15.0
    report_every_s: float = 3.0
    stop_deadline_s: float = 60.0
    replicator_stop_s: float = 20.0
    """Until MirrorMaker is killed: an orderly end takes it 13 to 14 s, and it has nothing to lose."""
    restart_backoff_s: float = 1.0
    restart_backoff_cap_s: float = 60.0
    format_timeout_s: float = 60.0
    preempt_every_s: float = 5.0
    preempt_stop_s: float = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Where things are and how they are done. Sizes in bytes."""

    root: Path
    kafka_dir: Path
    java: str = "java"
    times: AgentTimes = AgentTimes()
    log_cap_bytes: int = 20 * 1024 * 1024
    log_files: int = 3
    disks: Disks = "given"
    filesystem: Filesystem = "xfs"
    own_disks: OwnDisks = "device"
    network: VmNetwork = "shared"
    """`own`: what is done to the network of this VM is done to nobody else's."""
    metadata: Metadata = "found"
    metadata_url: str = ""
    run_as: str = ""
    """The user that services run as; empty: the agent's own."""
    prometheus: HostPort | None = None
    """Host and port its metrics are served at; None: they are not."""

    @classmethod
    def from_env(cls, *, root: Path, environ: Mapping[str, str]) -> "AgentSettings":
        """Reads `KEDGE_KAFKA_DIR` (needed), `KEDGE_JAVA`, times from `KEDGE_AGENT_<FIELD>` (`KEDGE_AGENT_TICK_S`), and
        how disks come to this VM: `KEDGE_AGENT_DISKS` (`given` by others, or as `devices`), `KEDGE_AGENT_FILESYSTEM`
        and `KEDGE_AGENT_OWN_DISKS` (`device`, or `root` where they are a part of the root filesystem). Whether its
        network is its `own` or `shared`: `KEDGE_AGENT_NETWORK`; by default it is its own with devices. Whose metadata
        service tells that the VM is taken back: `KEDGE_AGENT_METADATA` (`found` by the firmware, a cloud, or `off`), at
        `KEDGE_AGENT_METADATA_URL` instead of the cloud's own address. `KEDGE_AGENT_RUN_AS`: the user of its services.
        `KEDGE_AGENT_PROMETHEUS`: `HOST:PORT` at which its metrics are served.

        Raises `AgentSettingsRefused` naming the variable, its value and what it should be.
        """
        kafka_dir = environ.get("KEDGE_KAFKA_DIR", "")
        if not kafka_dir:
            raise AgentSettingsRefused("KEDGE_KAFKA_DIR is not set: name the directory that holds <version>/libs/*.jar")
        settings = cls(root=root.resolve(), kafka_dir=Path(kafka_dir).resolve(), java=environ.get("KEDGE_JAVA", "java"))
        disks = _one_of(environ, "KEDGE_AGENT_DISKS", get_args(Disks), "given")
        settings = replace(
            settings,
            disks=disks,
            network=_one_of(environ, "KEDGE_AGENT_NETWORK", get_args(VmNetwork), _NETWORKS[disks]),
            filesystem=_one_of(environ, "KEDGE_AGENT_FILESYSTEM", get_args(Filesystem), "xfs"),
            own_disks=_one_of(environ, "KEDGE_AGENT_OWN_DISKS", get_args(OwnDisks), "device"),
            metadata=_one_of(environ, "KEDGE_AGENT_METADATA", get_args(Metadata), "found"),
            metadata_url=environ.get("KEDGE_AGENT_METADATA_URL", ""),
            run_as=environ.get("KEDGE_AGENT_RUN_AS", ""),
            prometheus=_endpoint(environ, "KEDGE_AGENT_PROMETHEUS"),
        )
        times = {field: _seconds(environ, field) for field in _TIMES if _variable(field) in environ}
        return replace(settings, times=AgentTimes(**times))


_TIMES = AgentTimes.__slots__
_NETWORKS: Mapping[Disks, VmNetwork] = {"devices": "own", "given": "shared"}


def _one_of(environ: Mapping[str, str], name: str, known: tuple[_Word, ...], otherwise: _Word) -> _Word:
    text = environ.get(name, otherwise)
    for word in known:
        if word == text:
            return word
    raise AgentSettingsRefused(f"{name}={text!r}: expected one of {', '.join(known)}")


def _endpoint(environ: Mapping[str, str], name: str) -> HostPort | None:
    """`HOST:PORT`, an IPv6 address in brackets."""
    text = environ.get(name, "")
    if not text:
        return None
    try:
        return HostPort.parse(text)
    except ValueError:
        raise AgentSettingsRefused(f"{name}={text!r}: expected HOST:PORT, as in 127.0.0.1:9404 or [::1]:9404") from None


def _variable(field: str) -> str:
    return f"KEDGE_AGENT_{field.upper()}"


def _seconds(environ: Mapping[str, str], field: str) -> float:
    text = environ[_variable(field)]
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 < value < 86_400.0:
        raise AgentSettingsRefused(f"{_variable(field)}={text!r}: expected seconds, above 0 and below 86400")
    return value

"""The whole contract between a VM's agent and the control plane. The server speaks the last two versions of it.

The agent long-polls the desired `Document` of its VM, makes it so, and sends a `Report` whenever something changed
and as often as the server asks. A document is a *state*, not an order: asking for a restart means a new `start_id`.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, SecretStr

from agent.wire_base import Wire as Wire
from agent.wire_door import DoorDocument as DoorDocument, DoorReport as DoorReport
from agent.wire_overlay import (
    OverlayDocument as OverlayDocument,
    OverlayLink as OverlayLink,
    OverlayPeer as OverlayPeer,
    OverlayPeerReport as OverlayPeerReport,
    OverlayReport as OverlayReport,
)
from agent.wire_pace import (
    REPORT_IN as REPORT_IN,
    SILENT_AFTER_S as SILENT_AFTER_S,
    Digest as Digest,
    ReportAnswer as ReportAnswer,
    UnchangedReport as UnchangedReport,
)
from agent.wire_replicator import (
    ReplicatorDocument as ReplicatorDocument,
    ReplicatorEnd as ReplicatorEnd,
    ReplicatorReport as ReplicatorReport,
    ReplicatorState as ReplicatorState,
)
from agent.wire_tls import (
    CertificateReport as CertificateReport,
    NodeCertificateAnswer as NodeCertificateAnswer,
    ServiceTls as ServiceTls,
    TlsListener as TlsListener,
    TokenIssuer as TokenIssuer,
    TokenKeysReport as TokenKeysReport,
)
from agent.wire_topics import (
    AgentTopic as AgentTopic,
    Heartbeats as Heartbeats,
    HeartbeatTarget as HeartbeatTarget,
    LogsTopic as LogsTopic,
    MetricsTopic as MetricsTopic,
)
from agent.wire_versions import (
    ENSEMBLE_STEP_WIRE_VERSION as ENSEMBLE_STEP_WIRE_VERSION,
    MIGRATION_WIRE_VERSION as MIGRATION_WIRE_VERSION,
    OVERLAY_WIRE_VERSION as OVERLAY_WIRE_VERSION,
    STEP_WIRE_VERSION as STEP_WIRE_VERSION,
    TLS_WIRE_VERSION as TLS_WIRE_VERSION,
    WIRE_VERSION as WIRE_VERSION,
)

DIRECTORY_LOST = "directory_lost"
"""Finding about a service that does not run: its volume is attached, and what it kept there is not on it."""

CERTIFICATE_NEEDED = "certificate-needed"
CERTIFICATE_OVER = "certificate-over"
"""Codes of a 401: the credential counts, and the VM's certificate is missing, or has to be renewed first."""

ServiceName = Literal["broker", "controller", "zookeeper"]
ServiceState = Literal["waiting", "formatting", "starting", "running", "stopping", "stopped", "failed"]


OneTimeToken = Annotated[SecretStr, PlainSerializer(SecretStr.get_secret_value, return_type=str, when_used="json")]
"""Prints as asterisks; on the wire and in boot data it is the text it always was."""


class Voter(Wire):
    """One member of the controller quorum as it was at formation: what `kafka-storage format -I` needs."""

    id: int
    address: str
    port: int
    directory_id: str = Field(description="Kafka uuid, url-safe base64 without padding")


class EnsembleMember(Wire):
    """One server of a ZooKeeper ensemble. Its id, disk and address belong together, whichever VM they are on."""

    id: int = Field(ge=1, le=255)
    address: str
    port: int = Field(default=2181, description="for clients")
    peer_port: int = 2888
    election_port: int = 3888


class LogDir(Wire):
    """One Kafka log directory and the volume below it. `fresh` volumes alone may be given a new directory."""

    name: str = Field(description="name of the volume mount, e.g. `data`")
    volume: str = Field(description="volume key, `<node>.<dir>.v<n>`")
    directory_id: str
    fresh: bool = Field(description="the control plane knows this volume has never been written")
    size_gib: int = Field(default=0, description="as it was ordered; 0: not told")
    own: bool = Field(default=False, description="the VM's own disk, gone with it")


class ServiceDocument(Wire):
    """One service (a process of its own) on the VM."""

    name: ServiceName
    state: Literal["running", "stopped"]
    start_id: str = Field(description="a new value asks for a restart; the agent runs each start_id once")
    kafka_version: str
    cluster_id: str = Field(description="Kafka's cluster id")
    node_id: int
    address: str
    port: int
    rack: str
    log_dirs: tuple[LogDir, ...]
    voters: tuple[Voter, ...] = Field(description="the quorum's addresses: bootstrap list, and format list of founders")
    founder: bool = Field(default=False, description="a controller of the first quorum: formats with `voters`")
    metadata_level: str = Field(
        default="", description="release version the first quorum is formatted with, e.g. `4.1`"
    )
    first_producer_id: int | None = Field(
        default=None,
        ge=1,
        lt=2**63,
        description="of a controller: where the cluster's own producer ids begin; a founder formats with it. Absent: at"
        " 0, as Kafka has it. Came later than wire version 1; an older agent ignores it",
    )
    settings: dict[str, str] = Field(
        default_factory=dict, description="Kafka properties of the spec, over the defaults"
    )
    heap_mib: int = 256
    jvm: tuple[str, ...] = Field(
        default=(),
        description="Java's options beside the heap, which is then taken whole at the start; empty: the agent decides"
        " by the heap. Came later than wire version 1; an older agent ignores it",
    )
    jvm_options: tuple[str, ...] = Field(
        default=(),
        description="Java's options of the spec, which take the place of those they contradict of `jvm`, or of the"
        " agent's own. Came later than wire version 1; an older agent ignores it",
    )
    log_levels: dict[str, str] = Field(
        default_factory=dict,
        description="log4j's level by logger; `root` is all others. They count without a restart. Came later than wire"
        " version 1; an older agent ignores it",
    )
    ensemble: tuple[EnsembleMember, ...] = Field(
        default=(),
        description="ZooKeeper mode; empty is KRaft. Of a broker: where it finds ZooKeeper. Of a server that is a"
        " founder: the first ensemble; of one that is not: the members it joins. Beside `voters`, of a broker or a"
        " controller: it migrates. Came later than wire version 1",
    )
    protocol_version: str = Field(
        default="", description="`inter.broker.protocol.version` of a broker in ZooKeeper mode, e.g. `3.9`"
    )
    super_digest: str = Field(
        default="",
        description="`super:<hash>`: by it a ZooKeeper server knows who may change the ensemble; the password stays"
        " with the control plane",
    )
    tls: ServiceTls | None = Field(
        default=None,
        description="absent: it speaks plaintext. Only in documents of version 2. `port` is where nodes reach it",
    )

    @property
    def is_zookeeper_mode(self) -> bool:
        """Of a broker that migrates, too: it is ZooKeeper's until it is told of voters alone."""
        return bool(self.ensemble) and self.name != "controller"

    @property
    def is_migrating(self) -> bool:
        """Between ZooKeeper and KRaft: it is told of both, the ensemble and the quorum (KIP-866)."""
        return bool(self.ensemble) and bool(self.voters)

    gives_volumes: bool = Field(
        default=False, description="stopped here, and its disks may be taken away: they are unmounted once it is down"
    )


class AgentBuild(Wire):
    """An archive of an agent for one Python and processor, and the server's signature (base64) of `signed_text`."""

    platform: str = Field(description="as in `cp311-x86_64`")
    url: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size_bytes: int = Field(gt=0)
    signature: str


class AgentOrder(Wire):
    """The agent this VM is to run. It takes the build of its own platform, and returns to the one before by itself."""

    id: str = Field(description="a new value asks for another try; the agent follows each id once")
    version: str
    key: str = Field(description="Ed25519 public key (raw, base64); the first one a VM hears of is the only one")
    builds: tuple[AgentBuild, ...]
    report_within_s: float = Field(default=120.0, gt=0, description="until the new agent has to have reported")


def signed_text(version: str, platform: str, sha256: str) -> bytes:
    """What a build's signature is of: nobody else's signature says these words."""
    return f"kedge agent {version} {platform} {sha256}\n".encode()


class Document(Wire):
    """What the VM should be. Equality ignores `epoch`: a new term of the control plane restarts nothing."""

    wire: int = WIRE_VERSION
    epoch: int
    cluster_uid: str
    node: str
    generation: int
    services: tuple[ServiceDocument, ...]
    metrics: MetricsTopic | None = Field(
        default=None, description="absent: nothing is sent. Came later than wire version 1; an older agent ignores it"
    )
    logs: LogsTopic | None = Field(
        default=None, description="absent: none are sent. Came later than wire version 1; an older agent ignores it"
    )
    heartbeats: Heartbeats | None = Field(
        default=None, description="absent: none are sent. Came later than wire version 1; an older agent ignores it"
    )
    agent: AgentOrder | None = Field(
        default=None,
        description="absent: the agent stays as it is. Came later than wire version 1; an older agent ignores it",
    )
    packet_filter: str | None = Field(
        default=None,
        description="rules for `nft -f`; absent: the VM's filter stays as it is. Came later than wire version 1; an"
        " older agent ignores it",
    )
    overlay: OverlayDocument | None = Field(
        default=None, description="absent: what there is stays as it is. Only in documents of version 7"
    )
    door: DoorDocument | None = Field(default=None, description="the same, of a cluster of a pair")
    replicator: ReplicatorDocument | None = Field(
        default=None,
        description="absent: none runs here, and one that does is left running. Came later than wire version 1; an"
        " older agent ignores it",
    )


class LogDirReport(Wire):
    """Usage of one log directory, bytes. `partitions` counts partition directories, strays and deletions included."""

    name: str
    total_bytes: int
    free_bytes: int
    partitions: int
    write_bytes_per_s: float | None = Field(
        default=None,
        description="of the volume, measured when it was new and empty; absent: nobody did. Came later than wire"
        " version 1, as did the next one",
    )
    read_bytes_per_s: float | None = None
    limit_bytes_per_s: float | None = Field(
        default=None,
        description="most that the volume read and wrote together while it was saturated, for five minutes of the last"
        " hour in all; absent: it was not. Came later than wire version 1",
    )


class FindingReport(Wire):
    """Something is wrong inside a service that still runs. `name` may have a part after a colon: a log directory."""

    name: str
    since: datetime
    message: str
    numbers: dict[str, float] = Field(default_factory=dict)


class ProgressReport(Wire):
    """How far something inside a service came in the last `over_s` seconds, in units of its own: whoever is busy and
    advances gets better by itself. `advanced` 0 says that it stood still for all of a time long enough to say so."""

    name: str = Field(
        description="metadata, partitions, recovery, replicas, heap, collecting, threads, descriptors or uncleanable"
    )
    over_s: float = Field(gt=0)
    advanced: float = Field(ge=0)
    left: float | None = Field(default=None, description="what is left of it; absent: not known")
    closer: float | None = Field(
        default=None, description="by how much less is left than before, below 0 by how much more"
    )
    position: float | None = Field(default=None, description="where it is now: of metadata the applied offset")


class OldClientReport(Wire):
    """Requests a broker had that the next major version of Kafka refuses, since its start, by client."""

    request: str
    version: int
    software: str = Field(default="", description="as the client calls itself; `unknown` before Kafka 2.4")
    software_version: str = ""
    requests: int


class ServiceReport(Wire):
    """What one service is doing. `stopped` is only said when the process is proved gone and that is persisted."""

    name: ServiceName
    state: ServiceState
    start_id: str
    kafka_version: str = ""
    node_id: int = -1
    pid: int = 0
    exit_code: int | None = None
    since: datetime
    message: str = ""
    log_dirs: tuple[LogDirReport, ...] = ()
    metrics: dict[str, float] = Field(default_factory=dict, description="a small digest by Jolokia, by short name")
    findings: tuple[FindingReport, ...] = Field(
        default=(), description="came later than wire version 1; an older agent tells none"
    )
    progress: tuple[ProgressReport, ...] = Field(
        default=(),
        description="of a service that starts, too; came later than wire version 1: an older agent tells none, which"
        " is not known and no standstill",
    )
    hangs: bool = Field(
        default=False,
        description="`starting`, though this very process was up before. Came later than wire version 1",
    )
    log_lines: dict[str, int] = Field(
        default_factory=dict, description="lines of Kafka's log in the last whole minute, by class"
    )
    old_clients: tuple[OldClientReport, ...] = Field(
        default=(), description="the busiest; came later than wire version 1; an older agent tells none"
    )
    refuses: str = Field(
        default="",
        description="the service's own words where it refuses the configuration of this start, and does not run for it."
        " Came later than wire version 1; an older agent tells it in `message` alone",
    )
    started: bool | None = Field(
        default=None,
        description="whether a process of it was ever started on this VM: if not, nothing was kept on a volume that was"
        " new when it came here. Came later than wire version 1; absent: an older agent, or one that cannot know",
    )
    certificate: CertificateReport | None = Field(
        default=None, description="absent: plaintext, none yet, or an older agent. Came later than wire version 1"
    )
    token_keys: tuple[TokenKeysReport, ...] = Field(default=(), description="came later than wire version 1")


class HeartbeatReport(Wire):
    """What came of the heartbeats through one broker in the last minute; a latency is None where none came."""

    broker: int
    beats: int = Field(description="heartbeats that came back in the last minute")
    silent_s: float = Field(description="since the last one came back, or it began to lead, or this agent did")
    problem: str = ""
    produce_p50_s: float | None = Field(default=None, description="until the leader had it (acks=1)")
    produce_p99_s: float | None = None
    end_to_end_p50_s: float | None = Field(default=None, description="until it was read: the replicas in sync have it")
    end_to_end_p99_s: float | None = None


class UpgradeReport(Wire):
    """How the agent's own upgrade stands: that of the last order it took."""

    platform: str = Field(description="what builds it can run, as in `cp311-x86_64`")
    order: str = Field(default="", description="id of the last order, empty before the first")
    state: Literal["idle", "fetching", "trying", "done", "failed"] = "idle"
    problem: str = Field(default="", description="why it failed, or what a fetch waits for")


class PreemptionReport(Wire):
    """What the cloud told this VM alone. `preempt`: it is taken back at `deadline`; `rebalance`: it may be, soon."""

    kind: Literal["preempt", "rebalance"]
    deadline: datetime | None = None
    since: datetime
    words: str = Field(default="", description="the cloud's own")


class PacketFilterReport(Wire):
    """The VM's packet filter, where its agent keeps it."""

    loaded: str = Field(default="", description="SHA-256 (hex) of the rules this agent has loaded; empty: none yet")
    problem: str = Field(default="", description="why those of the document are not loaded")


class Report(Wire):
    """One report. (boot_id, seq) orders reports of a VM: an older pair is a repeat and is ignored."""

    wire: int = WIRE_VERSION
    cluster_uid: str
    node: str
    generation: int
    boot_id: str
    seq: int
    at: datetime
    agent_version: str
    epoch: int = Field(description="highest epoch seen; documents of older epochs are refused")
    services: tuple[ServiceReport, ...]
    attachments: tuple[str, ...] = Field(default=(), description="volume keys attached to the VM")
    addresses: tuple[str, ...] = Field(default=(), description="addresses bound to the VM")
    message: str = Field(default="", description="what keeps the agent from its document; empty: nothing does")
    heartbeats: tuple[HeartbeatReport, ...] = Field(
        default=(), description="by broker; came later than wire version 1; an older agent tells none"
    )
    preemption: PreemptionReport | None = Field(
        default=None, description="absent: the VM stays, as far as the agent knows. Came later than wire version 1"
    )
    upgrade: UpgradeReport | None = Field(
        default=None, description="absent: an agent that cannot upgrade itself. Came later than wire version 1"
    )
    packet_filter: PacketFilterReport | None = Field(
        default=None, description="absent: none is told, or an agent that loads none. Came later than wire version 1"
    )
    overlay: OverlayReport | None = Field(
        default=None, description="absent: no document has named one, or an older agent. Came later than wire version 1"
    )
    door: DoorReport | None = Field(default=None, description="the same; absent: it was told of none")
    replicator: ReplicatorReport | None = Field(
        default=None, description="absent: none was ever wanted here, or an older agent. Came later than wire version 1"
    )
    documents: int = Field(
        default=0,
        description="highest wire version of documents it takes; 0: it does not tell. Came later than wire version 1",
    )
    digest: Digest = Field(
        default="",
        description="of all but measurements; empty: an agent that follows no pace. Came later than wire version 1",
    )


_CSR = "PKCS#10 (PEM) for the key of the VM's certificate; empty: none is wanted. Came later than wire version 1"


class EnrolRequest(Wire):
    """First contact: the one-time token of the boot data is swapped for a credential the VM made itself."""

    wire: int = WIRE_VERSION
    cluster_uid: str
    node: str
    generation: int
    intent_id: str
    token: OneTimeToken = Field(description="HMAC(server key, intent id), hex; valid once and for one hour")
    credential_sha256: str = Field(description="hex digest of the secret the agent will send as bearer")
    csr: str = Field(default="", description=_CSR)


class EnrolAnswer(Wire):
    """The VM is enrolled. An older server gives no certificate."""

    accepted: bool = True
    certificate: str = Field(default="", description="PEM; empty: none was asked for, or the VM has shown one before")


class RotateRequest(Wire):
    """Swaps the credential this is sent with for another one, which counts once it is shown the first time."""

    wire: int = WIRE_VERSION
    cluster_uid: str
    node: str
    generation: int
    credential_sha256: str = Field(description="hex digest of the next secret")


class CertificateRequest(Wire):
    """Asks for a certificate: the first one by the credential alone, each other one with the one before."""

    wire: int = WIRE_VERSION
    cluster_uid: str
    node: str
    generation: int
    csr: str = Field(description="PKCS#10 (PEM), signed by a fresh key of the curve P-256 that stays on the VM")


class CertificateAnswer(Wire):
    """The VM's certificate for that key. The one before counts on until its end."""

    certificate: str = Field(description="PEM")


class BootData(Wire):
    """What a VM is born with (cloud-init on clouds, a file on `local`). Re-rendering it is byte-identical."""

    wire: int = WIRE_VERSION
    server_url: str
    installation_id: str
    cluster_uid: str
    node: str
    generation: int
    intent_id: str
    token: OneTimeToken
    ca_sha256: str = Field(
        default="",
        pattern=r"^([0-9a-f]{64})?$",
        description="SHA-256 (hex) of the DER of the CA the server's certificate comes from; only with https",
    )

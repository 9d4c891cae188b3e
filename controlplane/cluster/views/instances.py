"""One VM of a cluster, as facts tell of it. What follows from one alone; `controlplane.cluster.view` has all of a
cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from events import facts
from events.jvm import AS_BEFORE, Jvm, JvmChange
from events.spec.client_security import ClientSecurity
from providers.base import Place


@dataclass(frozen=True, slots=True)
class StartView:
    """What its service was last told to start with."""

    count: int = 1
    """Starts it was asked for, the first included."""
    reconfigured: int = 0
    """Those of its starts that it was told since Kafka refused what it had been told before; it has not joined."""
    born_with: Mapping[str, str] | None = None
    """The spec's Kafka settings its digest was made of, None where nobody knows."""
    config: Mapping[str, str] | None = None
    """The spec's Kafka settings it has been told by now: those it was born with, and what was changed since."""
    settings: Mapping[str, str] | None = None
    """What its service is started with from now on, where that is not what was planned."""
    jvm: JvmChange = AS_BEFORE
    """What its Java is started with from now on, where that is not as planned."""
    listed: frozenset[int] | None = None
    """Voters its last start was told of, by id; None before its first."""
    successors: frozenset[str] = frozenset()
    """Keys of those on their way to take over from a controller that its last start was told of, too."""
    protocol: str = ""
    """ZooKeeper mode: the protocol version its last start was told."""
    tls_step: str | None = None
    """How far between plaintext and TLS its last start was told to be (`planner.rollout.security_steps`); None in a
    cluster that keeps what it was born with, and before its first."""
    size: facts.PlannedSize | None = None
    """How it is sized by its machine, None where it is not."""
    security: ClientSecurity | None = None
    """Its listeners for clients, and its super users; None where nodes speak plaintext."""
    least_rights: bool = False
    """Kedge's server is none of its super users (`LeastRightsBegun`)."""
    born_listeners: str = ""
    """Listeners as its digest has them, "" where no document said them."""


@dataclass(frozen=True, slots=True)
class DepartureView:
    """What has come of its end: emptied, stopped, forgotten by Kafka."""

    fenced_at: datetime | None = None
    started: bool | None = None
    """Once it is stopped for good: whether its service was ever started on its VM, None where nobody knows."""
    unregistered: bool = False
    drained: bool = False
    """Emptied on purpose, or a controller without a vote: it goes for good, nothing of it is handed over."""
    drained_bytes: int = 0
    drained_moves: int = 0
    deleted: bool = False
    """Its VM went with its release; only its end is still to be recorded."""
    unheard: bool = False
    """Given up, and held for stopped, because nobody ever heard of it: what it may have done to its own disk is
    unknown, and no release leaves the VM running."""


@dataclass(frozen=True, slots=True)
class MemberView:
    """Of the ZooKeeper server beside a broker."""

    starts: int = 1
    """As `StartView.count` is of the broker."""
    jvm: JvmChange = AS_BEFORE
    """As `StartView.jvm`."""
    gone: bool = False
    """That server has left the ensemble for good: it is stopped, whatever becomes of the broker."""


@dataclass(frozen=True, slots=True)
class PublicView:
    """Where it is called from the internet."""

    asked: bool = False
    """It was made with a public IPv4 address, because its pool asked for one."""
    addresses: tuple[str, ...] = ()
    """What its cloud told of it last: IPv4, then IPv6. Looked at in clusters with an overlay alone."""


@dataclass(frozen=True, slots=True)
class InstanceView:
    """One VM, from its intent on. `planned` is what was fixed then; the rest is what has come of it."""

    planned: facts.PlannedInstance
    phase: Phase
    since: datetime
    intent: str
    requested_at: datetime
    place: Place | None = None
    """Where it was made, for life; None where no document said it."""
    cloud_id: str = ""
    address: str = ""
    bound: bool = True
    """Whether its volumes and its node's address are on it; a controller's successor starts without."""
    lost_at: datetime | None = None
    """When the cloud first declared the VM gone, though nobody of us asked."""
    launched_at: datetime | None = None
    served_at: datetime | None = None
    """When its last start that was asked for was seen to serve; None before its first."""
    adopted: bool = False
    """Found by its tags after the history was lost: Terraform's state may not know it yet."""
    own_address: str = ""
    """Where it is, though its node's address is another one by now: that of who takes over from it."""
    port: int = 0
    """TCP port a broker serves clients on, whatever the spec has come to say; 0 where no document said it yet."""
    hosted: bool = False
    """It is the server beside a broker, shown as an instance of its own (`views.members.member_of`)."""
    start: StartView = field(default_factory=StartView)
    departure: DepartureView = field(default_factory=DepartureView)
    member: MemberView = field(default_factory=MemberView)
    public: PublicView = field(default_factory=PublicView)

    @property
    def key(self) -> str:
        return self.planned.key

    @property
    def service_key(self) -> str:
        """`brokers-a-0.g1`, and of the server beside that broker `brokers-a-0.g1/zookeeper`."""
        return service_key(self.key, self.beside)

    @property
    def beside(self) -> str:
        """Which service of its VM it is, as facts tell: "" for what the VM was made for."""
        return self.planned.service if self.hosted else ""

    @property
    def node(self) -> str:
        return self.planned.node

    @property
    def service_id(self) -> int:
        return self.planned.service_id

    @property
    def settings(self) -> Mapping[str, str]:
        """The Kafka properties its service is started with."""
        return self.planned.settings if self.start.settings is None else self.start.settings

    @property
    def jvm(self) -> Jvm:
        """What of the spec its Java is started with."""
        return self.start.jvm.of(Jvm(self.planned.heap_mib, self.planned.jvm_options))

    @property
    def sized_jvm(self) -> tuple[str, ...]:
        """Java's options by its machine, before those of the spec, () where its agent decides by the heap."""
        size = self.start.size
        return () if size is None else size.member_jvm if self.hosted else size.jvm

    @property
    def lost(self) -> bool:
        return self.lost_at is not None

    @property
    def awaits_bind(self) -> bool:
        """It has no VM until its node's volumes and address are free: its bind makes it."""
        return self.planned.deferred and self.phase is Phase.REQUESTED

    @property
    def is_broker(self) -> bool:
        return self.planned.service == "broker"


def service_key(key: str, service: str) -> str:
    """`brokers-a-0.g1`, and of the server beside that broker `brokers-a-0.g1/zookeeper`: of `InstanceView.beside`."""
    return f"{key}/{service}" if service else key


def vm_of(name: str) -> str:
    """The key of the VM that a service of this `service_key` runs on."""
    return name.partition("/")[0]

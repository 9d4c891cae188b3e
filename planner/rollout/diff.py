"""Desired against actual, node by node: what to make, replace, remove or keep, each with its reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from events.instance_facts import PlannedDisk
from events.jvm import AS_BEFORE, UNKNOWN_JVM, Jvm, JvmChange, jvm_change
from events.spec.client_security import ClientSecurity
from planner.rollout.desired import DesiredNode


class Change(StrEnum):
    CREATE = "create"
    REPLACE = "replace"
    RESTART = "restart"
    GROW = "grow"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class BornWith:
    """What the VM of an instance was made with, and its digest of: 0 where nobody asks."""

    config: Mapping[str, str] | None = None
    """The spec's Kafka settings, None where nobody knows them any more."""
    disk_gib: int = 0
    heap_mib: int = 0
    listeners: str = ""
    """As `DesiredListeners.words`, "" where nobody knows."""


@dataclass(frozen=True, slots=True)
class IncumbentDisks:
    """The disks an instance has now, as `DesiredDisks`; a size of 0 where nobody asks."""

    gib: int = 0
    kind: str = ""
    options: PlannedDisk | None = None
    count: int = 1

    @property
    def room_gib(self) -> int:
        """What they have together, 0 where nobody asks."""
        return self.gib * self.count


@dataclass(frozen=True, slots=True)
class IncumbentVm:
    """What kind of VM an instance has."""

    spot: bool = False
    """It is pre-emptible."""
    ipv6: bool = False
    """It has an IPv6 address, too."""
    public_address: bool = False
    """It was made with a public IPv4 address."""
    own_address: bool = False
    """Of a controller that is reached at its VM's own address, which no other VM will have."""


@dataclass(frozen=True, slots=True)
class IncumbentMember:
    """The ZooKeeper server beside a broker, the id -1 where none is."""

    id: int = -1
    heap_mib: int = 0
    restart_asked: str = ""


@dataclass(frozen=True, slots=True)
class IncumbentReasons:
    """Why something is to be done about an instance whatever its spec says, each "" where nothing is."""

    restart_asked: str = ""
    """A person wants its service started anew."""
    replace_asked: str = ""
    """A person wants the VM replaced."""
    broken: str = ""
    """How it is known that what a voter kept there is gone."""
    relist: str = ""
    """It has to be told the controllers anew."""
    tls_step: str = ""
    """It has a step between plaintext and TLS before it."""
    outdated: str = ""
    """Its VM has to be made from another image."""


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The instance that fills a node today. `restarts` names the settings that differ now and that Kafka reads only
    when it starts."""

    node: str
    generation: int
    rack: str
    index: int
    service: str
    service_id: int
    digest: str
    kafka_version: str
    shape: str
    lost: bool
    born: BornWith = BornWith()
    restarts: tuple[str, ...] = ()
    reasons: IncumbentReasons = IncumbentReasons()
    place: str = ""
    """Where its VM lives, as `DesiredNode.place`; "" where nobody asks."""
    disks: IncumbentDisks = IncumbentDisks()
    vm: IncumbentVm = IncumbentVm()
    jvm: Jvm = UNKNOWN_JVM
    """What its service was told to start with, a heap of 0 where nobody asks."""
    member: IncumbentMember = IncumbentMember()
    security: ClientSecurity | None = None
    """What its service was told to start with for clients; None where nodes speak plaintext."""

    @property
    def key(self) -> str:
        return f"{self.node}.g{self.generation}"

    @property
    def to_mend(self) -> bool:
        """Its VM is gone, or its disk is."""
        return self.lost or bool(self.reasons.broken)


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What is to become of one node, and why. `beside`: it is about the ZooKeeper server beside the broker alone."""

    node: str
    change: Change
    reason: str
    desired: DesiredNode | None
    incumbent: Incumbent | None
    beside: bool = False

    @property
    def service(self) -> str:
        known = self.desired or self.incumbent
        return "zookeeper" if self.beside else known.service if known else ""

    @property
    def service_id(self) -> int:
        """Of who is there, -1 where nobody is."""
        old = self.incumbent
        return -1 if old is None else old.member.id if self.beside else old.service_id

    @property
    def restart_asked(self) -> str:
        """Why a person wants it started anew, "" where nobody does."""
        old = self.incumbent
        return "" if old is None else old.member.restart_asked if self.beside else old.reasons.restart_asked

    @property
    def rack(self) -> str:
        known = self.desired or self.incumbent
        return known.rack if known else ""

    @property
    def has_member(self) -> bool:
        """Whether a ZooKeeper server comes, or goes, with its VM."""
        return self.desired is not None and bool(self.desired.member_heap_mib)

    @property
    def jvm(self) -> JvmChange:
        """What else its service is to be started anew with; nothing where it has it, or gets a VM that is born with
        it."""
        if self.change is Change.REPLACE or self.desired is None or self.incumbent is None:
            return AS_BEFORE
        if self.beside:
            return _new_member_jvm(self.desired, self.incumbent)
        return _new_jvm(self.desired, self.incumbent)

    @property
    def security(self) -> str:
        """What is to be new to it of listeners and authorization once it is started anew, in words; "" for nothing."""
        if self.change is Change.REPLACE or self.desired is None or self.incumbent is None or self.beside:
            return ""
        return _new_security(self.desired, self.incumbent)

    @property
    def gives_rights(self) -> bool:
        """Whether anybody may do more once its service is started anew."""
        want, have = self.desired, self.incumbent
        if not self.security or want is None or have is None or have.security is None:
            return False
        return want.listeners.security is not None and want.listeners.security.gives_more_than(have.security)

    @property
    def is_new_to_it(self) -> bool:
        """Whether its service, once restarted, runs with something it never ran with: the first one is watched."""
        settings = self.incumbent is not None and bool(self.incumbent.restarts) and not self.beside
        return settings or bool(self.jvm) or bool(self.security)

    @property
    def moves(self) -> bool:
        """Whether its next VM is made in another place: nothing is handed over there, all is copied."""
        old, new = self.incumbent, self.desired
        return old is not None and new is not None and bool(old.place) and old.place != new.place

    @property
    def is_controller_move(self) -> bool:
        """Whether it is a controller whose id goes to another address: of another node, or in another place."""
        old = self.incumbent
        replaced = self.service == "controller" and self.change is Change.REPLACE
        return replaced and old is not None and (self.moves or old.vm.own_address or old.node != self.node)


def node_changes(desired: Iterable[DesiredNode], incumbents: Iterable[Incumbent]) -> tuple[NodeChange, ...]:
    """One change a node, sorted by node name. A lost incumbent is replaced, or removed if nobody wants its node. Where
    the VM stays and the ZooKeeper server on it is to be started anew, that is a second one."""
    wanted = {d.node: d for d in desired}
    actual = {i.node: i for i in incumbents}
    found = (_change(node, wanted.get(node), actual.get(node)) for node in sorted(wanted.keys() | actual.keys()))
    return tuple(c for change in found for c in (change, *_beside(change)))


def _beside(change: NodeChange) -> tuple[NodeChange, ...]:
    want, have = change.desired, change.incumbent
    if want is None or have is None or have.member.id < 0 or change.change is Change.REPLACE:
        return ()
    why = _new_member_jvm(want, have).words(Jvm(have.member.heap_mib)) or have.member.restart_asked
    if not why:
        return ()
    reason = f"{change.node}: ZooKeeper server {have.member.id}: {why}"
    return (NodeChange(change.node, Change.RESTART, reason, want, have, beside=True),)


def _new_member_jvm(want: DesiredNode, have: Incumbent) -> JvmChange:
    return jvm_change(Jvm(have.member.heap_mib), Jvm(want.member_heap_mib))


def _change(node: str, want: DesiredNode | None, have: Incumbent | None) -> NodeChange:
    if have is None:
        return NodeChange(node, Change.CREATE, f"{node} does not exist yet", want, None)
    if want is None:
        return NodeChange(node, Change.REMOVE, f"{node} is not in the spec any more", None, have)
    if have.lost:
        return NodeChange(node, Change.REPLACE, f"the VM of {node} is gone", want, have)
    if have.reasons.broken:
        return NodeChange(node, Change.REPLACE, f"{node}: {have.reasons.broken}", want, have)
    if have.place and have.place != want.place:
        return NodeChange(node, Change.REPLACE, f"{node}: place {have.place} -> {want.place}", want, have)
    if _is_another_vm(want, have):
        return NodeChange(node, Change.REPLACE, f"{node}: {_difference(want, have)}", want, have)
    if have.reasons.replace_asked:
        return NodeChange(node, Change.REPLACE, f"{node}: {have.reasons.replace_asked}", want, have)
    if have.reasons.outdated:
        return NodeChange(node, Change.REPLACE, f"{node}: {have.reasons.outdated}", want, have)
    if want.disks.grows and 0 < have.disks.gib < want.disks.gib:
        return NodeChange(node, Change.GROW, f"{node}: {_disk_words(want, have)}", want, have)
    new = _new_jvm(want, have).words(have.jvm), _new_security(want, have), _restart_words(have.restarts)
    words = [w for w in new if w]
    if words:
        return NodeChange(node, Change.RESTART, f"{node}: {'; '.join(words)}", want, have)
    if have.reasons.restart_asked:
        return NodeChange(node, Change.RESTART, f"{node}: {have.reasons.restart_asked}", want, have)
    for why in (have.reasons.tls_step, have.reasons.relist):
        if why:
            return NodeChange(node, Change.RESTART, f"{node}: {why}", want, have)
    return NodeChange(node, Change.KEEP, "", want, have)


def _is_another_vm(want: DesiredNode, have: Incumbent) -> bool:
    """Whether more differs than the Kafka settings, the heap, a disk that can grow, or listeners where nodes speak TLS:
    compared as if the spec still said what the VM was made with."""
    want = _with_its_listeners(want, have)
    if _disk_is_another(want, have):
        return True
    if _was_made_with_this_heap(want, have):
        return False
    if have.born.config is None or not have.born.heap_mib:
        return True
    sizes = _sizes_at_birth(have)
    return not any(have.digest in want.digests_with_heap(have.born.config, size, have.born.heap_mib) for size in sizes)


def _was_made_with_this_heap(want: DesiredNode, have: Incumbent) -> bool:
    """Whether it is the same VM as ever, and the spec says of the heap what it said when that was made."""
    if have.digest == want.digest:
        return True
    want, config = _with_its_listeners(want, have), have.born.config
    return config is not None and any(have.digest == want.digest_with(config, size) for size in _sizes_at_birth(have))


def _with_its_listeners(want: DesiredNode, have: Incumbent) -> DesiredNode:
    """As if the spec said of listeners what it said when the VM was made, where nodes speak TLS: there others are taken
    on in place."""
    in_place = have.born.listeners and (want.listeners.security is not None or have.security is not None)
    return replace(want, listeners=replace(want.listeners, words=have.born.listeners)) if in_place else want


def _new_security(want: DesiredNode, have: Incumbent) -> str:
    if want.listeners.security is None or have.security is None:
        return ""
    return want.listeners.security.words(have.security)


def _sizes_at_birth(have: Incumbent) -> tuple[int | None, ...]:
    # A successor of a release that grew no disk was named after the size the spec said, and has the one it took over.
    return (None, have.born.disk_gib) if have.born.disk_gib else (None,)


def _new_jvm(want: DesiredNode, have: Incumbent) -> JvmChange:
    """What it is to be started with otherwise. A default heap that a release changes restarts nobody."""
    found = jvm_change(have.jvm, want.jvm)
    unknown = not have.jvm.heap_mib
    as_born = have.jvm.heap_mib == have.born.heap_mib and _was_made_with_this_heap(want, have)
    return replace(found, heap_mib=0) if found.heap_mib and (unknown or as_born) else found


def _disk_is_another(want: DesiredNode, have: Incumbent) -> bool:
    """Whether its disk cannot become what the spec says: it is too large, or too small and stays so; or there are more
    or fewer of them. Who votes hands its disk over, so another VM would have the same."""
    if want.service != "broker" or not have.disks.gib:
        return False
    if have.disks.count != want.disks.count or have.disks.options != want.disks.options:
        return True
    if have.disks.gib == want.disks.gib:
        return False
    return have.disks.gib > want.disks.gib or not want.disks.grows


def _disk_words(want: DesiredNode, have: Incumbent) -> str:
    return f"disk {have.disks.gib} -> {want.disks.gib} GiB"


def _disks(one: DesiredNode | Incumbent) -> str:
    return f"{one.disks.count} x {one.disks.gib} GiB"


def options_in_words(options: PlannedDisk | None) -> str:
    """`gp3, 6000 IOPS`, or `as the cloud has it`."""
    if options is None:
        return "as the cloud has it"
    words = [
        options.type,
        f"{options.iops} IOPS" if options.iops else "",
        f"{options.throughput_mib_per_s} MiB/s" if options.throughput_mib_per_s else "",
        f"key {options.kms_key}" if options.kms_key else "",
    ]
    return ", ".join(word for word in words if word)


def _restart_words(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"Kafka reads {names[0]}{more} when it starts"


def _difference(want: DesiredNode, have: Incumbent) -> str:
    if want.kafka_version != have.kafka_version:
        return f"Kafka {have.kafka_version} -> {want.kafka_version}"
    if want.shape != have.shape:
        return f"machine {have.shape} -> {want.shape}"
    if want.spot != have.vm.spot:
        return f"{_kept(have.vm.spot)} -> {_kept(want.spot)}"
    if want.addresses.ipv6 != have.vm.ipv6:
        return f"{_reached(have.vm.ipv6)} -> {_reached(want.addresses.ipv6)}"
    if want.addresses.public != have.vm.public_address:
        return f"{_called(have.vm.public_address)} -> {_called(want.addresses.public)}"
    if have.disks.kind and want.disks.kind != have.disks.kind:
        return f"disk {have.disks.kind} -> {want.disks.kind}"
    if have.disks.gib and have.disks.options != want.disks.options:
        return f"disk {options_in_words(have.disks.options)} -> {options_in_words(want.disks.options)}"
    if have.disks.gib and have.disks.count != want.disks.count:
        return f"disks {_disks(have)} -> {_disks(want)}"
    if have.disks.gib and want.disks.gib != have.disks.gib:
        return _disk_words(want, have)
    return f"its fixed settings changed ({have.digest} -> {want.digest})"


def _reached(ipv6: bool) -> str:
    return "a VM with IPv6" if ipv6 else "a VM without IPv6"


def _called(public_address: bool) -> str:
    return "a VM with a public address" if public_address else "a VM without a public address"


def _kept(spot: bool) -> str:
    return "a pre-emptible VM" if spot else "a VM that is kept"

"""What of a pair of clusters only these tell as they live: that they are there and of no other pair, whose they are,
which ids their producers have, and which topics they have already."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.paired_topics import paired_topics
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from events.spec import problems as p
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.failover_rules import check_failover_in
from events.spec.model import KafkaClusterDocument
from events.spec.positions import NOWHERE, Positions
from events.spec.problems import Path, Problem
from events.spec.settings import broker_count

_CLUSTERS: Path = ("spec", "clusters")
_DNS: Path = ("spec", "bootstrap", "dns")


@dataclass(frozen=True, slots=True)
class PairSurroundings:
    """What a pair is held against. `living`: both clusters by name, an empty view where there is none, or none that the
    caller may see. `beside`: those that are declared in the same file, and count before what is in force. `names`: DNS
    names of all living clusters, with whose they are."""

    living: Mapping[str, ClusterView]
    beside: Mapping[str, KafkaClusterDocument] = field(default_factory=dict)
    pairs: PairsView = field(default_factory=PairsView)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def documents(self) -> dict[str, KafkaClusterDocument]:
        """Of both clusters, as they are about to be."""
        in_force = {name: view.document for name, view in self.living.items() if view.document is not None}
        return {name: d for name, d in {**in_force, **self.beside}.items() if name in self.living}

    def has_in_force(self, document: KafkaFailoverDocument) -> bool:
        """Whether this very document is in force, of clusters that are still those."""
        known = self.pairs.named(document.pair)
        if known is None or known.view.declaration is None or known.view.declaration.document != document:
            return False
        return set(known.clusters) == {self.living[name].uid for name in document.spec.clusters}


def check_failover_of(
    document: KafkaFailoverDocument, around: PairSurroundings, *, positions: Positions = NOWHERE
) -> list[Problem]:
    """Everything that speaks against a pair beside what its file alone tells."""
    known = around.documents
    found: list[Problem] = []
    for index, name in enumerate(document.spec.clusters):
        if name not in known:
            message = f"there is no cluster `{name}`, neither in this file nor in force"
            fix = "Declare it, or name another one."
            found.append(positions.problem(p.FAILOVER_CLUSTER, (*_CLUSTERS, index), message, fix))
    found += check_failover_in(document, known, positions=positions)
    if len(known) == 2:
        both = known[document.spec.clusters[0]], known[document.spec.clusters[1]]
        found += _owners(document, both, positions)
        found += _versions(both, positions)
        found += _topics(document, around, both, positions)
    found += _networks(document, around.living, positions)
    found += _producer_ids(document, around.living, positions)
    found += _of_other_pairs(document, around, positions)
    return [*found, *_of_itself(document, around, positions)]


def _owners(
    document: KafkaFailoverDocument, both: tuple[KafkaClusterDocument, KafkaClusterDocument], where: Positions
) -> Iterator[Problem]:
    of = {one.metadata.name: one.metadata.owner for one in both} | {
        f"the pair {document.pair}": document.metadata.owner
    }
    named = {what: owner for what, owner in of.items() if owner}
    if len(set(named.values())) > 1:
        said = ", ".join(f"{what} is {owner}'s" for what, owner in named.items())
        fix = "Have one owner of all three, or pair clusters of one owner."
        yield where.problem(p.FAILOVER_OWNERS, ("metadata", "owner"), said, fix)


def _versions(both: tuple[KafkaClusterDocument, KafkaClusterDocument], where: Positions) -> Iterator[Problem]:
    said = [f"{one.metadata.name} runs {one.spec.kafka.version}" for one in both]
    if both[0].spec.kafka.version != both[1].spec.kafka.version:
        fix = "Give both one version, unless the standby is there to replace the other by a newer one."
        yield where.problem(p.FAILOVER_VERSIONS, _CLUSTERS, " and ".join(said), fix)


def _topics(
    document: KafkaFailoverDocument,
    around: PairSurroundings,
    both: tuple[KafkaClusterDocument, KafkaClusterDocument],
    where: Positions,
) -> Iterator[Problem]:
    """Topics that are declared of both, and differ, and those the standby has too few brokers for."""
    first, second = document.spec.clusters
    mine, theirs = (paired_topics(document, around.living[name]) for name in (first, second))
    if twice := sorted(name for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]):
        message = f"{_some(twice)} {'is' if len(twice) == 1 else 'are'} declared of both clusters, and not alike"
        fix = f"Delete the documents of {second}, whose topics follow {first}'s, or leave these topics out of the pair."
        yield where.problem(p.FAILOVER_TOPIC, _CLUSTERS, message, fix)
    brokers = _brokers(document, both)
    wide = sorted(name for name, topic in mine.items() if topic.replicas > brokers)
    if wide:
        message = f"{_some(wide)} of {first} {_have(wide)} more replicas than the {brokers} brokers of {second}"
        fix = "Grow the standby, take fewer replicas, or leave these topics out of the pair."
        yield where.problem(p.FAILOVER_REPLICAS, _CLUSTERS, message, fix)


def _brokers(document: KafkaFailoverDocument, both: tuple[KafkaClusterDocument, KafkaClusterDocument]) -> int:
    """Brokers the standby has as it takes over."""
    counts = [
        broker_count(one.spec.pools) + (len(one.spec.external.brokers) if one.spec.external else 0) for one in both
    ]
    if document.spec.standby is None:
        return counts[1]
    return document.spec.standby.resize_to or counts[0]


def _networks(
    document: KafkaFailoverDocument, living: Mapping[str, ClusterView], where: Positions
) -> Iterator[Problem]:
    """Of VMs that are there. A door that cannot be shut is no door, and who is told of one starts nothing."""
    for index, name in enumerate(document.spec.clusters):
        shared = next((vm for vm in living[name].alive() if _is_loopback(vm.address)), None)
        if shared is not None:
            message = f"VMs of {name} share this machine's loopback network ({shared.key}: {shared.address})"
            fix = 'Have the server give each VM of `local` a network: clouds.vm_network = "namespaces" (as root).'
            yield where.problem(p.FAILOVER_NETWORK, (*_CLUSTERS, index), message, fix)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _producer_ids(
    document: KafkaFailoverDocument, living: Mapping[str, ClusterView], where: Positions
) -> Iterator[Problem]:
    """Of clusters that were founded: one that was not gets ids of its own."""
    firsts: set[int] = set()
    for index, name in enumerate(document.spec.clusters):
        founding = living[name].quorum.founding
        if founding is None:
            continue
        first, path = founding.first_producer_id, (*_CLUSTERS, index)
        if first is None:
            message = f"where producer ids of {name} begin is not known: its producers would have to be restarted"
            fix = "Pair clusters that were founded with a range of their own (docs/producers.md)."
            yield where.problem(p.FAILOVER_PRODUCER_IDS, path, message, fix)
        elif first in firsts:
            message = f"producer ids of both clusters begin at {first}: acknowledged records would vanish"
            yield where.problem(p.FAILOVER_SAME_IDS, path, message, "Pair one of them with another cluster.")
        firsts |= {first} if first is not None else set()


def _of_other_pairs(document: KafkaFailoverDocument, around: PairSurroundings, where: Positions) -> Iterator[Problem]:
    for index, name in enumerate(document.spec.clusters):
        uid = around.living[name].uid
        holder = around.pairs.holder(uid) if uid else None
        if holder is not None and holder.name != document.pair:
            message = f"{name} is of the pair `{holder.name}`: both would say who may write to it"
            fix = f"Name another cluster, or take that pair back: kedge failovers withdraw {holder.name}"
            yield where.problem(p.FAILOVER_PAIR, (*_CLUSTERS, index), message, fix)
    dns = document.spec.bootstrap.dns
    others = [one for one in around.pairs.living if one.name != document.pair and one.view.declaration is not None]
    taken = {o.view.declaration.document.spec.bootstrap.dns: f"the pair {o.name}" for o in others if o.view.declaration}
    whose = taken.get(dns) or around.names.get(dns)
    if whose and whose not in document.spec.clusters:
        message = f"`{dns}` is the name of {whose}"
        yield where.problem(p.FAILOVER_NAME, _DNS, message, "Give the pair a name of its own.")


def _of_itself(document: KafkaFailoverDocument, around: PairSurroundings, where: Positions) -> Iterator[Problem]:
    """What a pair that is there never changes."""
    known = around.pairs.named(document.pair)
    if known is None:
        return
    again = f"Withdraw it first, and declare it anew: kedge failovers withdraw {document.pair}"
    uids = {uid for name in document.spec.clusters if (uid := around.living[name].uid)}
    if set(known.clusters) != uids:
        message = f"the pair `{document.pair}` is there, and of other clusters"
        yield where.problem(p.FAILOVER_FIXED, _CLUSTERS, message, again)
        return
    yield from _fixed_fields(document, known, where, again)


def _fixed_fields(
    document: KafkaFailoverDocument, known: RegisteredPair, where: Positions, again: str
) -> Iterator[Problem]:
    if known.view.declaration is None:
        return
    before, after = known.view.declaration.document.spec, document.spec
    for path, old, new in (
        (_CLUSTERS, before.clusters, after.clusters),
        (_DNS, before.bootstrap.dns, after.bootstrap.dns),
        (("spec", "mode"), before.mode, after.mode),
    ):
        if old != new:
            shown = [", ".join(one) if isinstance(one, tuple) else one for one in (old, new)]
            message = f"it is {shown[0]}, and would become {shown[1]}"
            yield where.problem(p.FAILOVER_FIXED, path, message, again)


def _some(names: list[str]) -> str:
    """`a, b and 12 more`."""
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _have(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"

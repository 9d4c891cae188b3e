"""Pairs of clusters as one caller may see, declare, fail over and withdraw them: whoever may do that to both clusters.

Who steers both orders a failover and aborts it, as a roll. That a door is shut needs the right to delete both, as the
word that VMs are gone does: a wrong one makes two clusters take writes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.cluster.commands import ClusterNotFound
from controlplane.cluster.view import ClusterView
from controlplane.commands.failover_declarations import DeclarePair, WithdrawPair
from controlplane.commands.failover_orders import AbortFailover, CertifyDoorShut, OrderFailover, PairOutcome
from controlplane.commands.failovers import Failovers, PairNotFound
from controlplane.fleet.failovers.orders import FailoverPlan
from controlplane.fleet.failovers.state import PairsView, RegisteredPair
from controlplane.fleet.failovers.steps import Next
from controlplane.fleet.failovers.troubles import PairTroubles
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem


@dataclass(frozen=True, slots=True)
class ScopedFailovers:
    """See Failovers. `views` are the clusters the caller may read, `without_others` takes names of others out, `head`
    is the end of the log, for the audit.

    A pair is seen by who may read both of its clusters.
    """

    service: Failovers
    rights: Rights
    views: Callable[[], Sequence[ClusterView]]
    without_others: Callable[[str], str]
    head: Callable[[], int]

    def pairs(self) -> PairsView:
        every = self.service.pairs()
        shown = {uid: pair for uid, pair in every.by_uid.items() if self._shows(pair)}
        return every if len(shown) == len(every.by_uid) else replace(every, by_uid=shown)

    def get(self, name: str) -> RegisteredPair:
        """See Failovers."""
        found = self.service.get(name)
        if not self._shows(found):
            self.rights.trail.judged(Verb.READ, f"failover {name}", allowed=False)
            raise PairNotFound(name)
        return found

    def problems(
        self,
        document: KafkaFailoverDocument,
        beside: Mapping[str, KafkaClusterDocument],
        positions: Positions,
        visible: Callable[[str], ClusterView],
    ) -> list[Problem]:
        """See Failovers. What it tells names no cluster the caller may not read."""
        found = self.service.problems(document, beside, positions, visible)
        return [replace(p, message=self.without_others(p.message), fix=self.without_others(p.fix)) for p in found]

    def check(self, command: DeclarePair, beside: Mapping[str, KafkaClusterDocument]) -> None:
        """See Failovers. Raises Forbidden, ClusterNotFound."""
        self._judge(command, beside)
        self.service.check(command, beside)

    def declare(self, command: DeclarePair) -> PairOutcome:
        """See Failovers. Raises Forbidden, ClusterNotFound."""
        self._judge(command, {})
        return self._noted(self.service.declare(command))

    def withdraw(self, command: WithdrawPair) -> PairOutcome:
        """See Failovers. Raises Forbidden, PairNotFound."""
        self._require(Verb.DELETE, command.name)
        return self._noted(self.service.withdraw(command))

    def next(self, pair: RegisteredPair) -> Next:
        """See Failovers."""
        return self.service.next(pair)

    def troubles(self, pair: RegisteredPair) -> PairTroubles:
        """See Failovers. What it tells names no cluster the caller may not read."""
        found = self.service.troubles(pair)
        told = self.without_others
        unproved = {vm: told(why) for vm, why in found.unproved.items()}
        return replace(found, unproved=unproved, name=told(found.name), standby=told(found.standby))

    def plan(self, pair: RegisteredPair, *, planned: bool, accepts_loss: bool) -> FailoverPlan:
        """See Failovers."""
        return self.service.plan(pair, planned=planned, accepts_loss=accepts_loss)

    def order(self, command: OrderFailover) -> PairOutcome:
        """See Failovers. Raises Forbidden, PairNotFound."""
        self._require(Verb.STEER, command.name)
        return self._noted(self.service.order(command))

    def abort(self, command: AbortFailover) -> PairOutcome:
        """See Failovers. Raises Forbidden, PairNotFound."""
        self._require(Verb.STEER, command.name)
        return self._noted(self.service.abort(command))

    def certify(self, command: CertifyDoorShut) -> PairOutcome:
        """See Failovers. Raises Forbidden, PairNotFound."""
        self._require(Verb.DELETE, command.name)
        return self._noted(self.service.certify(command))

    def _require(self, verb: Verb, name: str) -> None:
        every = self.service.pairs()
        # The living one is meant; of those that are over only the newest, by whoever says the same again.
        named = [p for p in every.by_uid.values() if p.name == name]
        pair = every.named(name) or (named[-1] if named else None)
        if pair is None or not self._shows(pair):
            raise PairNotFound(name)
        for view in self._of(pair):
            self.rights.require(verb, traits_of(view.document), f"the failover {name}")

    def _noted(self, outcome: PairOutcome) -> PairOutcome:
        if outcome.changed:
            self.rights.trail.event_position = self.head()
        return outcome

    def _judge(self, command: DeclarePair, beside: Mapping[str, KafkaClusterDocument]) -> None:
        """Both clusters as they are, and as the same file has them."""
        self.service.pairs()  # brings the views up to now: a cluster of the same file was declared just before
        known = {view.name: view.document for view in self.views() if not view.deleted}
        for name in command.document.spec.clusters:
            if name not in known and name not in beside:
                raise ClusterNotFound(name)
            for document in (known.get(name), beside.get(name)):
                if document is not None:
                    self.rights.require(Verb.DECLARE, traits_of(document), name)

    def _shows(self, pair: RegisteredPair) -> bool:
        return self.rights.may_everywhere(Verb.READ) or len(self._of(pair)) == len(pair.clusters)

    def _of(self, pair: RegisteredPair) -> list[ClusterView]:
        return [view for view in self.views() if view.uid in pair.clusters]

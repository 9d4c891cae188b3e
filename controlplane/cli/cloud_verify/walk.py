"""The walk itself: one stage after the other by the API of a running server, and in the end everything deleted.

It keeps nothing of its own: what was made is in the server's history, and the next run finds it there by its name and
label, however this one ended.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from controlplane.api.schemas import (
    commands as command_api,
    networks as network_api,
    nodes as node_api,
    specs as spec_api,
)
from controlplane.api.schemas.clusters import ClusterDetailOut
from controlplane.api.schemas.instances import InstanceOut
from controlplane.cli.client import Client
from controlplane.cli.cloud_verify.stages import Ending, StageFailed, StageResult, VerifyStage
from controlplane.cli.cloud_verify.trial import NETWORK, TOPIC_PARTITIONS, TrialCluster
from controlplane.cli.errors import CliError, UnknownCluster, Unreachable
from controlplane.cli.waiter import STALE_S
from controlplane.cli.waiting import Converged, Deleted, Done, Failed, Goal, NodeReplaced, Outcome, judge
from providers.finding import Finding

_POLL_S = 1.0
_WHY = "kedge cloud verify"
"""The reason that is recorded with each command."""

_T = TypeVar("_T")
Told = str
"""What a stage saw, in words."""


class _LeftOut(Exception):
    """The stage shows nothing here: why."""


@dataclass(slots=True)
class VerifyRun:
    """One walk. `limit_s`: for the stages up to the deletion, and once more for what deletes; `tell` gets each result
    as it is known, `watch` each look at the cluster; `examine` asks the server how the cloud is; `agreed` asks whether
    what an earlier run left may be deleted."""

    client: Client
    trial: TrialCluster
    limit_s: float
    examine: Callable[[], list[Finding]]
    agreed: Callable[[str], bool]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    tell: Callable[[StageResult], None]
    watch: Callable[[ClusterDetailOut], None]
    results: list[StageResult] = field(default_factory=list)
    _until_s: float = 0.0
    _uid: str = ""
    _generation: int = 0
    _makes_network: bool = False
    _asked_s: float = 0.0
    _tick_before: datetime | None = None
    _late: str = ""
    """What a stage that takes too long is told to have come to."""

    def prepare(self) -> bool:
        """The stages before anything is made: what an earlier run left is deleted, and the cloud is asked. Whether the
        walk can go on. Raises CliError where the name is another cluster's."""
        self._until_s = self.monotonic() + self.limit_s
        there = self._found()
        if there is not None and (why := self.trial.is_not(there)):
            raise CliError(f"there is a cluster `{self.trial.name}`", why=why, next_step="choose another --name")
        if there is not None and not self.agreed(f"An earlier run left {self.trial.name}, or is under way. Delete it?"):
            raise CliError("not confirmed, nothing was changed", next_step="choose another --name")
        return self._stage(VerifyStage.EARLIER_RUN, self._earlier_run) and self._stage(VerifyStage.DOCTOR, self._doctor)

    def run(self) -> None:
        """Declares the cluster, and walks until a stage fails or all have passed; then deletes it.

        Raises KeyboardInterrupt once the deletion was asked for, which the server then does by itself.
        """
        self._until_s = self.monotonic() + self.limit_s
        try:
            self._walk()
            self._until_s = self.monotonic() + self.limit_s
            if self._stage(VerifyStage.DELETION, self._delete):
                self._stage(VerifyStage.NOTHING_LEFT, self._nothing_left)
        except BaseException:  # whatever it is: what costs money is not left behind for it
            self._ask_deletion()
            raise
        self._complete()

    def _walk(self) -> None:
        walked: tuple[tuple[VerifyStage, Callable[[], Told]], ...] = (
            (VerifyStage.NETWORK, self._network),
            (VerifyStage.VMS, self._vms),
            (VerifyStage.AGENTS, self._agents),
            (VerifyStage.BROKER, self._broker),
            (VerifyStage.DISK, self._disk),
            (VerifyStage.REPLACEMENT, lambda: self._replaced("broker")[0]),
            (VerifyStage.HANDOVER, self._handed_over),
        )
        for stage, work in walked:
            if not self._stage(stage, work):
                return

    def _stage(self, stage: VerifyStage, work: Callable[[], Told]) -> bool:
        began = self.monotonic()

        def result(ending: Ending, told: str, next_step: str = "") -> StageResult:
            return StageResult(stage, ending, self.monotonic() - began, told, next_step)

        try:
            found = result(Ending.PASSED, work())
        except _LeftOut as why:
            found = result(Ending.LEFT_OUT, str(why))
        except StageFailed as failed:
            found = result(Ending.FAILED, failed.why, failed.next_step)
        except CliError as error:
            found = result(Ending.FAILED, ": ".join(part for part in (error.what, error.why) if part), error.next_step)
        self.results.append(found)
        self.tell(found)
        return found.ending is not Ending.FAILED

    def _complete(self) -> None:
        """Stages that were not come to are told as such, in their place."""
        known = {one.stage: one for one in self.results}
        self.results[:] = [known.get(stage, StageResult(stage, Ending.NOT_REACHED)) for stage in VerifyStage]

    def _doctor(self) -> Told:
        findings = self.examine()
        wrong = [one for one in findings if one.well is False]
        if wrong:
            raise StageFailed(f"{wrong[0].what}: {wrong[0].told}", wrong[0].what_next)
        unknown = [one.what for one in findings if one.well is None]
        told = f"{len(findings)} checks"
        return f"{told}; nobody can tell of {', '.join(unknown)}" if unknown else told

    def _earlier_run(self) -> Told:
        there = self._asked(self._found)
        is_left = there is not None or self._asked(self._made_network) is not None
        if not is_left:
            return "there was none"
        if there is not None:
            self._uid = there.uid
            self._delete()
        self._remove_network()
        self._uid = ""
        return "one had left something, which is deleted"

    def _network(self) -> Told:
        applied = self._declare(self.trial.disk_gib)
        self._uid = applied.uid
        if not self.trial.account:
            raise _LeftOut("this cloud needs none")
        if self._asked(self._made_network) is None and not self._makes_network:
            raise _LeftOut("it is one of yours: its ids are in the settings of the region")

        def made(_: ClusterDetailOut) -> Told | None:
            network = self._made_network()
            if network is None:
                return None
            self._late = network.error or self._late  # the server tries again by itself
            return network.cidr if network.state == "made" else None

        return self._seen(made)

    def _vms(self) -> Told:
        def launched(detail: ClusterDetailOut) -> Told | None:
            vms = _alive(detail)
            return f"{len(vms)} VMs" if len(vms) == 2 and all(vm.cloud_id and vm.address for vm in vms) else None

        return self._seen(launched)

    def _agents(self) -> Told:
        def enrolled(detail: ClusterDetailOut) -> Told | None:
            vms = _alive(detail)
            return f"{len(vms)} enrolled" if vms and all(vm.credential_since for vm in vms) else None

        return self._seen(enrolled)

    def _broker(self) -> Told:
        self._reached(Converged(self._generation, self._uid))

        def serves(detail: ClusterDetailOut) -> Told | None:
            states = {vm.kafka_state for vm in _alive(detail) if vm.service == "broker"}
            is_there = states == {"serves"} and (detail.partitions or 0) >= TOPIC_PARTITIONS
            return f"Kafka {detail.kafka_version} serves {detail.partitions} partitions" if is_there else None

        return self._seen(serves)

    def _disk(self) -> Told:
        before = {vm.key for vm in _alive(self._detail())}
        self._declare(self.trial.grown_gib)
        self._reached(Converged(self._generation, self._uid))
        if {vm.key for vm in _alive(self._detail())} != before:
            raise StageFailed("a VM was replaced for it", f"kedge events {self.trial.name}")
        return f"{self.trial.disk_gib} GiB became {self.trial.grown_gib}"

    def _replaced(self, service: str) -> tuple[Told, InstanceOut, InstanceOut]:
        old = self._only(service)
        self._note_asked()
        order = node_api.ReplaceIn(reason=_WHY, node=old.node)
        self._asked(lambda: self.client.replace(self.trial.name, order))
        told = self._reached(NodeReplaced(old.node, old.key, self._uid))
        return told, old, self._only(service)

    def _handed_over(self) -> Told:
        told, old, new = self._replaced("controller")
        if new.address != old.address:
            raise StageFailed(f"it had {old.address}, and its successor has {new.address}", "kedge events")
        return f"{told}, at the same address"

    def _only(self, service: str) -> InstanceOut:
        there = [vm for vm in _alive(self._detail()) if vm.service == service]
        if len(there) != 1:
            why = f"it has {len(there)} VMs of its {service}: something replaces one"
            raise StageFailed(why, f"kedge events {self.trial.name}")
        return there[0]

    def _delete(self) -> Told:
        """Also of a cluster that nobody knows to be declared: the answer to `apply` may have been lost."""
        there = self._ask_deletion()
        if there is None:
            return "nothing was declared"
        if not self._is_ours(there):
            return "it is gone, and another cluster has its name"
        self._uid = there.uid
        return self._reached(Deleted(there.uid))

    def _order_deletion(self) -> None:
        """Also in a freeze: it is for clusters that somebody needs."""
        order = command_api.DeleteIn(confirm=self.trial.name, reason=_WHY, despite_freeze=True)
        answer = self.client.delete(self.trial.name, order)
        if answer.proposal:
            why = f"a second person must approve its deletion: proposal {answer.proposal}"
            raise StageFailed(why, f"somebody else: kedge proposal approve {answer.proposal}")

    def _nothing_left(self) -> Told:
        return self._remove_network() or "no network was made for it"

    def _remove_network(self) -> Told:
        network = self._asked(self._made_network)
        if network is None:
            return ""
        if network.clusters:
            return f"network {NETWORK} stays: it is of {', '.join(network.clusters)}, too"
        order = network_api.NetworkRemovalIn(
            account=self.trial.account, region=self.trial.region, reason=_WHY, confirm=NETWORK
        )
        self._asked(lambda: self.client.remove_network(NETWORK, order))  # again, what failed before is tried at once

        def removed() -> Told | None:
            left = self._made_network()
            if left is None:
                return "its network is removed"
            self._late = left.error or f"network {NETWORK} is still being removed"
            return None

        return self._polled(removed)

    def _ask_deletion(self) -> ClusterDetailOut | None:
        """Who has the name; what is ours is deleted from here on."""
        there = self._asked(self._found)
        if there is not None and self._is_ours(there) and there.status != "Deleting":
            self._note_asked()
            self._asked(self._order_deletion)
        return there

    def _is_ours(self, there: ClusterDetailOut) -> bool:
        """By its uid, once that is known; the answer that tells it may have been lost."""
        return there.uid == self._uid if self._uid else not self.trial.is_not(there)

    def _declare(self, disk_gib: int) -> spec_api.AppliedOut:
        text, file = self.trial.text(disk_gib), f"{self.trial.name}.yaml"
        planned = self._asked(lambda: self.client.plan(spec_api.SpecIn(text=text, file=file)))
        self._refuse_reserved(planned)
        if not self._uid and any(one.exists for one in planned.plans):
            raise StageFailed("somebody else declared a cluster of that name meanwhile", "choose another --name")
        self._makes_network = any(one.networks for one in planned.plans)
        self._note_asked()
        digest = planned.digest if not self._uid else None
        order = spec_api.ApplyIn(text=text, file=file, message=_WHY, plan_digest=digest)
        answer = self._asked(lambda: self.client.apply(order))
        for problem in answer.problems:
            if not answer.ok and problem.severity == "error":
                raise StageFailed(f"{problem.code}: {problem.message}", problem.fix)
        (applied,) = answer.applied
        self._generation = applied.generation
        return applied

    def _refuse_reserved(self, planned: spec_api.PlansOut) -> None:
        """What a second person must approve would be declared once nobody watches it any more."""
        if planned.reserved:
            why = f"a second person must approve it: {'; '.join(planned.reserved)}"
            raise StageFailed(why, "have an exception made for it in the policy, or choose another server")

    def _made_network(self) -> network_api.NetworkOut | None:
        """Of this walk's place, as the server knows it."""
        place = (self.trial.cloud, self.trial.account, self.trial.region)
        named = [n for n in self.client.networks().items if n.name == NETWORK and n.state != "removed"]
        return next((n for n in named if (n.cloud, n.account, n.region) == place), None)

    def _found(self) -> ClusterDetailOut | None:
        try:
            return self.client.cluster(self.trial.name)
        except UnknownCluster:
            return None

    def _detail(self) -> ClusterDetailOut:
        found = self._asked(self._found)
        if found is None or found.uid != self._uid:
            raise StageFailed("the cluster was deleted by somebody else", f"kedge audit --cluster {self.trial.name}")
        return found

    def _seen(self, look: Callable[[ClusterDetailOut], Told | None]) -> Told:
        """Waits until the cluster shows it. Raises StageFailed where it cannot any more, or the time is over."""

        def polled() -> Told | None:
            detail = self._detail()
            self._watched(detail)
            told = look(detail)
            if told is None:
                self._refuse_hopeless(Converged(self._generation, self._uid), detail)
            return told

        return self._polled(polled)

    def _reached(self, goal: Goal) -> Told:
        """The same of a goal."""

        def polled() -> Told | None:
            detail = self._found()
            if detail is not None:
                self._watched(detail)
            outcome = self._refuse_hopeless(goal, detail)
            return outcome.sentence if isinstance(outcome, Done) else None

        return self._polled(polled)

    def _watched(self, detail: ClusterDetailOut) -> None:
        self.watch(detail)
        self._late = detail.why or detail.sentence

    def _note_asked(self) -> None:
        """A command is about to be given: what the last tick said is of the time before."""
        there = self._asked(self._found)
        self._asked_s, self._tick_before = self.monotonic(), there.sentence_at if there is not None else None

    def _refuse_hopeless(self, goal: Goal, detail: ClusterDetailOut | None) -> Outcome:
        outcome = judge(goal, self.trial.name, detail)
        is_old = detail is not None and detail.sentence_at == self._tick_before
        may_be_stale = is_old and self.monotonic() - self._asked_s < STALE_S
        if isinstance(outcome, Failed) and not may_be_stale:
            raise StageFailed(f"{outcome.reason}: {outcome.message}", outcome.next_command)
        return outcome

    def _asked(self, call: Callable[[], _T]) -> _T:
        """Its answer; a server that is started anew is waited for, for as long as the stage may take."""
        while True:
            try:
                return call()
            except Unreachable:
                if self.monotonic() >= self._until_s:
                    raise
            self.sleep(_POLL_S)

    def _polled(self, look: Callable[[], Told | None]) -> Told:
        """What `look` tells in the end. Raises StageFailed with what was seen last once the time is over."""
        self._late = "the server did not answer"
        while True:
            with suppress(Unreachable):  # a server that is started anew is waited for; for how long, the limit says
                told = look()
                if told is not None:
                    return told
            if self.monotonic() >= self._until_s:
                why = f"not within {self.limit_s / 60:.0f} min: {self._late}"
                raise StageFailed(why, f"kedge describe {self.trial.name}")
            self.sleep(_POLL_S)


def _alive(detail: ClusterDetailOut) -> list[InstanceOut]:
    return [vm for vm in detail.instances if vm.phase != "retired"]

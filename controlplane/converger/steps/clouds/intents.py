"""Open Terraform intents: start their runs, see them through, and turn what the world shows into outcomes.

A run that ended well is an outcome only once the inventory shows its effect: what Terraform says is a hint.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.jobs import JobSeen
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.clouds.missing_volumes import unlisted_volumes, was_given_up_since
from controlplane.converger.questions.clouds.rendering import place_of_intent
from controlplane.converger.questions.rolls.lost_disks import is_bound_in_vain
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import StartRun, TerminateInstance
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.capacity import may_be_unlisted_s, substitution_step
from controlplane.converger.steps.clouds.permissions import permission_step, still_lacking
from controlplane.converger.steps.clouds.unmounting import unmounted_by_hand, unmounting_step
from controlplane.converger.steps.rolls.growth import grown_step
from controlplane.converger.steps.rolls.tagging import tagged_step
from controlplane.runtime.backoff import delay_s
from events import facts
from providers.base import CloudInstance, InstanceState
from providers.errors import AuthFailed
from providers.twins import kept_twin

MAX_RUN_FAILURES = 6
"""Tries of one intent before a person is asked; with the back-off that is about half an hour."""


def job_id(intent: IntentView) -> str:
    """Each try of an intent is a job of its own."""
    return f"{intent.id}.{intent.tries}"


def intent_step(situation: Situation) -> Decision | None:
    """Looks after the oldest open intent of each place: one that waits keeps no other place waiting."""
    oldest: dict[str, IntentView] = {}
    for intent in sorted(situation.view.intents.values(), key=lambda i: (i.requested_at, i.id)):
        oldest.setdefault(str(place_of_intent(situation.view, intent)), intent)
    followed = [_follow(situation, intent) for intent in oldest.values()]
    followed.sort(key=lambda decision: (decision.wait is not None, not decision.effects))
    return followed[0] if followed else None


def _follow(situation: Situation, intent: IntentView) -> Decision:
    job = situation.seen.jobs.get(job_id(intent))
    what = f"{intent.kind} of {', '.join(intent.keys)}"
    if intent.kind == "tag" and (ended := tagged_step(intent, job, what)) is not None:
        return ended
    if job is None:
        return _start(situation, intent, what)
    if job.is_open:
        running = wait(WaitReason.TERRAFORM_RUNS, f"Terraform: {what} ({job.state}{_progress(job)})", patience_s=600)
        return still_lacking(situation, intent, running)
    if job.state == "failed":
        failure = facts.RunFailed(intent.id, job.error, job.message, job.retryable)
        return record(f"Terraform: {what} failed: {job.message}", failure)
    return _confirm(situation, intent, job, what)


def _progress(job: JobSeen) -> str:
    return f", {job.message}" if job.message else ""


def _died_unbound(situation: Situation, intent: IntentView) -> Decision | None:
    """A VM that died before it was given its node's disks is called bound: what it was to hold passes on to the next.

    No run could give it anything: its plan would want the dead VM back.
    """
    instance = situation.view.instances[intent.keys[0]] if intent.kind == "bind" else None
    if instance is None or not instance.lost or instance.awaits_bind:
        return None
    return record(f"{instance.key} died before it had the volumes of its node", facts.BindCompleted(intent.id))


def _bound_in_vain(situation: Situation, intent: IntentView, what: str) -> Decision | None:
    """The disk of a lost VM does not come to the one that was made for it. That one has never had a service: it goes,
    the disk stays as it is, and what is on it is copied to the next VM from who has it in sync."""
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None or not is_bound_in_vain(situation, intent):
        return None
    successor = situation.view.instances[intent.keys[0]]
    left = _left(situation, intent, inventory)
    if left:
        kills = tuple(TerminateInstance(c.key, c.id) for c in left)
        sentence = f"{what} is given up, {_why_in_vain(intent)}: asking the cloud to terminate {successor.key}"
        return wait(WaitReason.VM_LEFT_BEHIND, sentence, *kills)
    if not successor.awaits_bind or not _proved_gone(situation, successor.key, inventory):
        return None  # its end is read off the inventory, as of any VM
    return record(
        f"{what} is given up, {_why_in_vain(intent)}",
        facts.BindCompleted(intent.id, (facts.LaunchedInstance(successor.key, "", ""),)),
        facts.InstanceLost(successor.key, "it never had its disk, and is gone"),
        facts.TakeoverFailed(successor.key, "the disk of its node did not come to its VM"),
    )


def _why_in_vain(intent: IntentView) -> str:
    return f"after {intent.failures} failures ({intent.error})" if intent.failures else "it takes too long"


def _start(situation: Situation, intent: IntentView, what: str) -> Decision:
    if (dead := _died_unbound(situation, intent)) is not None:
        return dead
    if (in_vain := _bound_in_vain(situation, intent, what)) is not None:
        return in_vain
    if (forbidden := permission_step(situation, intent, what)) is not None:
        return forbidden
    over = was_given_up_since(situation.view, intent) or _is_let_in_again(situation, intent)
    if intent.failures and not intent.retryable and not over:
        return _refused(situation, intent, what)
    other_machine = substitution_step(situation, intent)
    if other_machine is not None:
        return other_machine
    if intent.failures >= MAX_RUN_FAILURES:
        sentence = f"Terraform: {what} failed {intent.failures} times, last: {intent.error}"
        sentence += unmounted_by_hand(situation, intent)
        return wait(WaitReason.RUN_FAILED, sentence, next_command=_resume(situation), patience_s=0)
    if intent.failed_at is not None:
        since_s = situation.seconds_since(intent.failed_at)
        left = delay_s(intent.failures) - since_s
        if left > 0:
            sentence = f"Terraform: {what} failed {intent.failures} times ({intent.error}), again in {left:.0f} s"
            return wait(WaitReason.RUN_FAILED, sentence)
        if (unlisted := may_be_unlisted_s(situation, intent) - since_s) > 0:
            return wait(
                WaitReason.RUN_FAILED,
                f"Terraform: {what} failed ({intent.error}), again in {unlisted:.0f} s: what it may have made is not "
                "listed by the cloud at once, and would be made twice",
            )
    if (unmounting := unmounting_step(situation, intent, what)) is not None:
        return unmounting
    return still_lacking(situation, intent, act(f"Terraform: starting {what}", StartRun(intent.id, job_id(intent))))


def _is_let_in_again(situation: Situation, intent: IntentView) -> bool:
    """Credentials were refused, and the place has been listed since: they are good, and of its account, again."""
    if intent.failed_at is None or not intent.error.startswith(f"{AuthFailed.__name__}:"):
        return False
    inventory = situation.seen.fresh_inventory(situation.now)
    place = place_of_intent(situation.view, intent)
    return inventory is not None and inventory.at > intent.failed_at and not inventory.silence(place)


def _refused(situation: Situation, intent: IntentView, what: str) -> Decision:
    """A person has to look. Of a volume that a plan would make anew they are told how its node gets on without it."""
    view, sentence = situation.view, f"Terraform: {what} was refused: {intent.error}"
    unlisted = unlisted_volumes(view, situation.seen.fresh_inventory(situation.now))
    named = sorted(key for key in unlisted if f"volume/{key}" in intent.error)
    if not named:
        return wait(WaitReason.RUN_REFUSED, sentence, next_command=_resume(situation), patience_s=0)
    node = unlisted[named[0]].node
    sentence += f"; {place_of_intent(view, intent)} does not list {named[0]}: if it is gone, {node} needs a new disk"
    command = f"kedge replace {view.name} --node {node} --new-disk"
    return wait(WaitReason.RUN_REFUSED, sentence, next_command=command, patience_s=0)


def _resume(situation: Situation) -> str:
    return f"kedge resume {situation.view.name}"


def _confirm(situation: Situation, intent: IntentView, job: JobSeen, what: str) -> Decision:
    inventory = situation.seen.fresh_inventory(situation.now)
    if inventory is None or (job.ended_at and inventory.at <= job.ended_at):
        return wait(WaitReason.INVENTORY_UNKNOWN, f"{what} ran; waiting for an inventory newer than it")
    if unknown := inventory.silence(place_of_intent(situation.view, intent)):
        return wait(WaitReason.INVENTORY_UNKNOWN, f"{what} ran; {unknown}")
    if (dead := _died_unbound(situation, intent)) is not None:
        return dead
    in_vain = _bound_in_vain(situation, intent, what) if intent.kind == "bind" else None
    match intent.kind:
        case "surge":
            return _surged(situation, intent, inventory, job, what)
        case "release":
            return _unbound(situation, intent, inventory, what)
        case "bind":
            bound = _bound(situation, intent, inventory, job, what)
            return in_vain if in_vain is not None and bound.wait is not None else bound
        case "grow":
            return grown_step(situation, intent, inventory, what)
        case "retire":
            return _retired(situation, intent, inventory, what)
        case _:
            return _destroyed(situation, intent, inventory, what)


def _surged(situation: Situation, intent: IntentView, inventory: InventorySeen, job: JobSeen, what: str) -> Decision:
    view = situation.view
    made = _made(job)
    running = [c for key in intent.keys if (c := _running(inventory, key, intent.id, made.get(key, ""))) is not None]
    lost = [k for k in intent.keys if k in inventory.gone and k not in {c.key for c in running}]
    missing = [k for k in intent.keys if k not in lost and k not in {c.key for c in running}]
    deadline_s = situation.join_deadline_s
    if missing and situation.seconds_since(_ran_at(intent, job)) < deadline_s:
        sentence = f"{what}: {len(running)} of {len(intent.keys)} VMs run, waiting for {', '.join(missing)}"
        return wait(WaitReason.VMS_BOOT, sentence, patience_s=deadline_s)
    launched = tuple(facts.LaunchedInstance(c.key, c.id, c.address or "") for c in running)
    nodes = {view.instances[k].node for k in intent.keys}
    addresses = {n: a for n, a in inventory.addresses_in(place_of_intent(view, intent)).items() if n in nodes}
    failed = [facts.JoinFailed(k, "the VM died before its agent reported") for k in lost]
    failed += [facts.JoinFailed(k, f"the VM did not run within {deadline_s:.0f} s") for k in missing]
    vanished = [facts.InstanceLost(k, "the cloud says it is gone") for k in lost]
    sentence = f"{len(running)} of {len(intent.keys)} VMs run"
    return record(sentence, facts.SurgeCompleted(intent.id, launched, addresses), *vanished, *failed)


def _ran_at(intent: IntentView, job: JobSeen) -> datetime:
    """Since when its VMs have had time to run. Tries before may have taken hours: none of it counts."""
    return job.ended_at if intent.failed_at is not None and job.ended_at is not None else intent.requested_at


def _made(job: JobSeen) -> Mapping[str, str]:
    """Instance key -> cloud id, as far as the run's own state tells."""
    machines = job.result.get("instances")
    return {str(k): str(v) for k, v in machines.items()} if isinstance(machines, Mapping) else {}


def _running(inventory: InventorySeen, key: str, intent: str, made: str) -> CloudInstance | None:
    """The VM of a key that runs for the intent: of twins the one Terraform's state has, `made`, where it tells."""
    carrying = [c for c in inventory.carrying(key) if c.intent_id == intent]
    found = kept_twin(carrying, made) if carrying else None
    if found is None or found.state is not InstanceState.RUNNING:
        return None
    return found if found.address else None


def _attached(situation: Situation, inventory: InventorySeen, key: str) -> Sequence[str]:
    volumes = {v.key for v in situation.view.instances[key].planned.volumes}
    return [v.key for v in inventory.volumes.values() if v.key in volumes and v.attached_to == key]


def _unbound(situation: Situation, intent: IntentView, inventory: InventorySeen, what: str) -> Decision:
    key = intent.keys[0]
    left = _still_there(situation, intent, inventory, what) if intent.with_vm else None
    if left is not None:
        return left
    # A dead VM holds nothing, whatever the record of its disks still says.
    attached = [] if key in inventory.gone else _attached(situation, inventory, key)
    if attached:
        return wait(WaitReason.VOLUME_ATTACHED, f"{what} ran, but the cloud still shows {', '.join(attached)} attached")
    return record(f"{key} has given up its volumes and address", facts.ReleaseCompleted(intent.id))


def _bound(situation: Situation, intent: IntentView, inventory: InventorySeen, job: JobSeen, what: str) -> Decision:
    key = intent.keys[0]
    instance = situation.view.instances[key]
    wanted = instance.planned.volumes
    if instance.awaits_bind and (decision := _born(situation, intent, instance, inventory, job, what)) is not None:
        return decision
    attached = _attached(situation, inventory, key)
    if len(attached) < len(wanted):
        return wait(
            WaitReason.VOLUME_DETACHED,
            f"{what} ran, but the cloud shows {len(attached)} of {len(wanted)} volumes there",
        )
    made = _launched(instance, inventory, job) if instance.awaits_bind else ()
    return record(f"{key} holds the volumes and the address of its node", facts.BindCompleted(intent.id, made))


def _born(
    situation: Situation,
    intent: IntentView,
    instance: InstanceView,
    inventory: InventorySeen,
    job: JobSeen,
    what: str,
) -> Decision | None:
    """None once the VM its bind has made runs. One that does not is called bound at the deadline: its arrival then
    fails like any other's, and what it holds passes on.
    """
    key, deadline_s = instance.key, situation.join_deadline_s
    if _running(inventory, key, instance.intent, _made(job).get(key, "")) is not None:
        return None
    if key not in inventory.gone and situation.seconds_since(_ran_at(intent, job)) < deadline_s:
        return wait(WaitReason.VMS_BOOT, f"{what}: waiting for {key} to run", patience_s=deadline_s)
    launched = _launched(instance, inventory, job)
    return record(f"{key} was made and does not run", facts.BindCompleted(intent.id, launched))


def _launched(instance: InstanceView, inventory: InventorySeen, job: JobSeen) -> tuple[facts.LaunchedInstance, ...]:
    carrying = [c for c in inventory.carrying(instance.key) if c.intent_id == instance.intent]
    seen = kept_twin(carrying, _made(job).get(instance.key, "")) if carrying else None
    return (facts.LaunchedInstance(instance.key, seen.id if seen else "", (seen.address if seen else "") or ""),)


def _retired(situation: Situation, intent: IntentView, inventory: InventorySeen, what: str) -> Decision:
    left = _still_there(situation, intent, inventory, what)
    if left is not None:
        return left
    return record(f"{', '.join(intent.keys)} gone", facts.RetireCompleted(intent.id), *_replacements(situation, intent))


def _still_there(situation: Situation, intent: IntentView, inventory: InventorySeen, what: str) -> Decision | None:
    """None once each VM that was to be deleted is proved gone."""
    left = _left(situation, intent, inventory)
    if left:
        kills = tuple(TerminateInstance(c.key, c.id) for c in left)
        sentence = f"{what} ran, but {', '.join(c.key for c in left)} is still there: asking the cloud to terminate it"
        return wait(WaitReason.VM_LEFT_BEHIND, sentence, *kills)
    unproved = [k for k in intent.keys if not _proved_gone(situation, k, inventory)]
    if unproved:
        return wait(
            WaitReason.INVENTORY_UNKNOWN, f"{what} ran; the cloud has not yet answered for {', '.join(unproved)}"
        )
    return None


def _left(situation: Situation, intent: IntentView, inventory: InventorySeen) -> list[CloudInstance]:
    found = [c for k in intent.keys for c in inventory.carrying(k)]
    return [c for c in found if c.state in (InstanceState.RUNNING, InstanceState.PENDING)]


def _proved_gone(situation: Situation, key: str, inventory: InventorySeen) -> bool:
    never_ran = not situation.view.instances[key].cloud_id
    return key in inventory.gone or (never_ran and not inventory.carrying(key))


def _replacements(situation: Situation, intent: IntentView) -> list[facts.ReplacementCompleted]:
    def successor(old: InstanceView) -> InstanceView | None:
        later = [i for i in situation.view.of_node(old.node) if i.planned.generation > old.planned.generation]
        later += [coming] if (coming := situation.view.controller_moves().get(old.key)) else []
        return next((i for i in later if i.phase is Phase.JOINED), None)

    pairs = [(situation.view.instances[k], successor(situation.view.instances[k])) for k in intent.keys]
    return [facts.ReplacementCompleted(old.node, old.key, new.key) for old, new in pairs if new]


def _destroyed(situation: Situation, intent: IntentView, inventory: InventorySeen, what: str) -> Decision:
    elsewhere = {i.key for i in situation.view.alive()} - set(intent.keys) if intent.keys else set()
    keys = set(intent.keys) if elsewhere else {*inventory.instances, *inventory.twins}
    left = [c for k in sorted(keys) for c in inventory.carrying(k) if c.state is not InstanceState.GONE]
    if left:
        kills = tuple(TerminateInstance(c.key, c.id) for c in left)
        return wait(WaitReason.VM_LEFT_BEHIND, f"{what} ran, but {len(left)} VMs are still there", *kills)
    if elsewhere:
        place = place_of_intent(situation.view, intent)
        return record(f"nothing of the cluster is left in {place}", facts.DestroyCompleted(intent.id))
    return record("nothing of the cluster is left", facts.ClusterDeleted(retained=False))

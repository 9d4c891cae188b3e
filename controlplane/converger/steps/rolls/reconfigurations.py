"""VMs that refuse their configuration are told another one once there is one: the same VM, and its disk, start anew.

    another spec: settings, JVM    -> instance.reconfigured -> joined
    another spec: another VM       -> instance.join_failed, which counts as no failed try -> that VM
    the roll is aborted            -> the same, where the one it was to replace serves

Who does not refuse what it was told is left alone: it joins with that, and is restarted in order afterwards.
"""

from collections.abc import Mapping

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.sized_nodes import wanted_nodes
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.rolls.refusals import refused_arrivals
from controlplane.converger.questions.services.applied_settings import config_to_make, settings_to_make
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts
from events.jvm import jvm_change
from events.spec.settings import spec_config
from planner.rollout.desired import DesiredNode
from planner.rollout.diff import Change


def reconfiguration_step(situation: Situation) -> Decision | None:
    """Tells VMs that refuse what they were told what the spec says by now, and gives up those that a roll that was
    aborted, or another spec, does not want. None where nobody refuses anything, or there is nothing new to tell."""
    view, refused = situation.view, refused_arrivals(situation)
    if not refused:
        return None
    there = [view.instances[key] for key in sorted(refused)]
    others = (c for c in pending_changes(view) if c.change in _ANOTHER_VM)
    unwanted = {c.incumbent.key: c.reason for c in others if c.incumbent is not None}
    over = {i.key: why for i in there if (why := unwanted.get(i.key, "") or _taken_back(view, i))}
    if over:
        failed = [facts.JoinFailed(key, why, superseded=True) for key, why in over.items()]
        return record(f"{', '.join(over)} refused its configuration, and is not waited for any more", *failed)
    reconfigured = [event for i in there if (event := _reconfigured(view, i)) is not None]
    if not reconfigured:
        return None
    keys = ", ".join(e.key for e in reconfigured)
    return record(
        f"{keys}: told {reconfigured[0].reason}, on the same VM, which refused what it was told before", *reconfigured
    )


_ANOTHER_VM = (Change.REPLACE, Change.REMOVE)


def _taken_back(view: ClusterView, instance: InstanceView) -> str:
    """Whom an abort takes back: who is to replace a broker that serves on."""
    elders = [i for i in view.of_node(instance.node) if i.planned.generation < instance.planned.generation]
    serves = any(i.phase is Phase.JOINED and not i.lost for i in elders)
    return f"the roll was aborted: {view.requests.aborting}" if view.requests.aborting and serves else ""


def _reconfigured(view: ClusterView, instance: InstanceView) -> facts.InstanceReconfigured | None:
    """What the spec in force says otherwise than it was told; None where it was told that."""
    want, document = _wanted(view, instance), view.document
    if want is None or document is None or instance.start.config is None:
        return None
    wanted: Mapping[str, str] = spec_config(document, want.pool)
    settings: Mapping[str, str] = want.settings
    if instance.planned.service == "zookeeper":  # which knows none of them
        wanted, settings = instance.start.config, instance.settings
    elif any(i.served_at is not None for i in view.instances.values()):
        wanted, settings = (
            config_to_make(view, document, want.pool),
            settings_to_make(view, document, want.pool, want.settings),
        )
    config, values = _differing(instance.start.config, wanted), _differing(instance.settings, settings)
    jvm = jvm_change(instance.jvm, want.jvm)
    had, asked = instance.start.security, want.listeners.security
    security = asked.words(had) if asked is not None and had is not None else ""
    if not config and not values and not jvm and not security:
        return None
    process = [*([jvm.words(instance.jvm)] if jvm else []), *([security] if security else [])]
    said = ", ".join([*process, *(f"{n} unset" if v is None else f"{n}={v}" for n, v in (config or values).items())])
    return facts.InstanceReconfigured(
        instance.key, instance.start.count + 1, config, values, said, jvm.heap_mib, jvm.options, security
    )


def _wanted(view: ClusterView, instance: InstanceView) -> DesiredNode | None:
    return next((n for n in wanted_nodes(view) if n.node == instance.node), None)


def _differing(known: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str | None]:
    return {n: wanted.get(n) for n in sorted(known.keys() | wanted.keys()) if known.get(n) != wanted.get(n)}

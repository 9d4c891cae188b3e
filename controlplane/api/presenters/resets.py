"""Resets of offsets as the API and the pages ask for them and tell of them."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from controlplane.api.moments import as_utc
from controlplane.api.problems import ApiError
from controlplane.api.schemas import resets as reset_api
from controlplane.api.services import PortalServices
from controlplane.background.consumer_groups import resets
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaFault
from planner.consumers.reset import ResetWish, Whither
from planner.observed import TopicPartition

_T = TypeVar("_T")


def wish_of(body: reset_api.ResetPlanIn) -> ResetWish:
    """Raises ApiError 422 where its parts do not go together."""
    to = Whither(body.to)
    if (to is Whither.TIME) != (body.at is not None):
        raise _unfit("a time belongs to `time`", "Give `at` with `to: time` alone.")
    if to is Whither.OFFSET and body.number < 0:
        raise _unfit("no offset is negative", "Give an offset of the log, or `to: shift` to go back.")
    if to is Whither.SHIFT and body.number == 0:
        raise _unfit("a shift by nothing changes nothing", "Say by how many records, negative to go back.")
    return ResetWish(
        to=to,
        at=as_utc(body.at) if body.at else None,
        number=body.number,
        topics=frozenset(body.topics),
        partitions=frozenset(TopicPartition(p.topic, p.partition) for p in body.partitions),
    )


def plan_out(cluster: str, group: str, planned: resets.PlannedReset) -> reset_api.ResetPlanOut:
    """A plan as it is told."""
    plan = planned.plan
    return reset_api.ResetPlanOut(
        cluster=cluster,
        group=group,
        refused=planned.refused,
        changes=[
            reset_api.OffsetChangeOut(**asdict(c), again=c.again, skipped=c.skipped, beyond=c.beyond)
            for c in plan.changes
        ],
        same=plan.same,
        unknown=[
            reset_api.OffsetUnknownOut(topic=p.topic, partition=p.partition, why=why) for p, why in plan.unknown.items()
        ],
        again=sum(c.again for c in plan.changes),
        skipped=sum(c.skipped for c in plan.changes),
    )


def planned(services: PortalServices, view: ClusterView, group: str, wish: ResetWish) -> resets.PlannedReset:
    """Raises ApiError: 404 for a group nobody knows, 503 while Kafka cannot be asked."""
    return _asked(view, lambda: resets.planned_reset(services.brokers.group_offsets, view, group, wish))


def carried_out(services: PortalServices, view: ClusterView, order: resets.ResetOrder) -> reset_api.ResetOut:
    """Raises as `planned`, and what the handler raises."""
    sentence = _asked(
        view,
        lambda: resets.carry_out_reset(services.cluster.commands, services.brokers.group_offsets, order, view.name),
    )
    done = services.cluster.commands.current(view.name).requests.resets.get(order.group)
    return reset_api.ResetOut(
        cluster=view.name, group=order.group, sentence=sentence, refused=dict(done.refused) if done else {}
    )


def _asked(view: ClusterView, ask: Callable[[], _T]) -> _T:
    try:
        return ask()
    except resets.GroupUnknown as unknown:
        title = f"{view.name} has no group called {unknown}"
        raise ApiError(404, "group-not-found", title, next_step=f"kedge groups {view.name} lists them.") from unknown
    except KafkaFault as fault:
        title = f"offsets of {view.name} could not be asked for: {fault}"
        then = "Send the same again, with its idempotency key: what was begun is finished, nothing is done twice."
        raise ApiError(503, "kafka-unavailable", title, next_step=then) from fault


def _unfit(title: str, then: str) -> ApiError:
    return ApiError(422, "wish-unfit", title, next_step=then)

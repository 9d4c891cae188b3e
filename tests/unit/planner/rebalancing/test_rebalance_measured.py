"""What the server knows of traffic and CPU reaches the balancer as the benchmark's figures do."""

from dataclasses import replace

import numpy as np

from benchmarks.balance import plan_of
from planner.balance.cpu import BrokerCpu, with_cpu
from planner.balance.loads import MeasuredLoads
from planner.balance.rebalance import rebalance
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.rebalancing.ask import _state, measured_loads, plan_rebalance
from planner.rebalancing.request import RebalanceRequest
from tests.unit.planner.rebalancing.rebalance_cases import ALL, MIB, OLD, asked, seen

NIC = 234.5e6
FIGURES = Capacity(
    disk_bytes=100_000 * MIB,
    ingress_bytes_per_s=0.75 * NIC,
    egress_bytes_per_s=0.75 * NIC,
    nic_in_bytes_per_s=NIC,
    nic_out_bytes_per_s=NIC,
)


def known(**more: object) -> RebalanceRequest:
    names = [p.name for p in seen().partitions]
    return asked(
        capacities=(FigureSource(origin=FigureOrigin.CATALOGUE, everyone=FIGURES),),
        write_bytes_per_s={n: MIB * (1 + i % 5) for i, n in enumerate(names)},
        read_bytes_per_s={n: 3 * MIB * (1 + i % 4) for i, n in enumerate(names)},
        cpu_used={b: 0.5 if b in OLD else 0.01 for b in ALL},
        processors=dict.fromkeys(ALL, 8),
        **more,
    )


def test_what_the_server_runs_is_what_the_planner_answers_for_the_same_figures() -> None:
    request, kafka = known(), seen()
    state = _state(request, kafka).state
    shares = np.array([request.cpu_used[int(b)] for b in state.brokers.id])
    figures = with_cpu(
        state,
        MeasuredLoads(nic_in_bytes_per_s=np.full(6, NIC), nic_out_bytes_per_s=np.full(6, NIC)),
        BrokerCpu(shares * 8, np.full(6, 8.0)),
    )
    answer = plan_of(rebalance(state, measured=figures, excluded_topics=frozenset({HEARTBEAT_TOPIC})))
    plan = plan_rebalance(request, kafka)
    assert plan.copies.certificate.measures.bytes.value == answer.bytes_moved
    assert [(g.goal, g.broken_before, g.broken_after, g.why) for g in plan.goals] == [
        (str(g.goal), g.broken_before, g.broken_after, g.why) for g in answer.goals
    ]
    ids = state.brokers.id
    moves = {(m.topic, m.partition): m.after for m in plan.copies.moves}
    rows = answer.schedule.row
    assert moves == {
        (state.partitions.topics[state.partitions.topic[r]], int(state.partitions.partition[r])): tuple(
            int(b) for b in ids[after[after >= 0]]
        )
        for r, after in zip(rows.tolist(), answer.schedule.after, strict=True)
    }


def test_cpu_and_reads_are_judged_where_they_are_known() -> None:
    goals = {g.goal: g for g in plan_rebalance(known(), seen()).goals}
    assert goals["cpu"].broken_before
    assert "not judged" not in goals["cpu"].why
    assert goals["nic-out"].broken_before


def test_cpu_of_some_brokers_alone_is_not_judged() -> None:
    request = known()
    some = replace(request, cpu_used={b: share for b, share in request.cpu_used.items() if b != 1003})
    state = _state(some, seen()).state
    assert measured_loads(some, state).cpu is None
    assert "not judged" in {g.goal: g for g in plan_rebalance(some, seen()).goals}["cpu"].why
    blind = replace(request, processors={})
    assert measured_loads(blind, state).cpu is None

"""Network and volumes as two bandwidths again: how much of its volumes each broker writes with, and reads with.

A target writes what it takes, and a source reads what it gives, as if none of it were in the page cache any more. Who
does both shares its volumes between the two. Writing comes first, since racks and destinations bind it: it is levelled
over the targets. Reading is then levelled over the brokers in sync, beside what they write. The shares are in that
proportion, so the kernels know two bandwidths for each broker, whose sum is never more than its volumes do.
"""

from dataclasses import replace

import numpy as np

from planner.drain.model.hardware import Hardware, disk_figures
from planner.drain.model.state import NO_BROKER, ClusterState, Floats
from planner.drain.model.volumes import Volumes
from planner.drain.solver.demand import affected, demand_of
from planner.drain.solver.intake import filled, intake_of
from planner.drain.solver.level import level_reads
from planner.drain.solver.repair import healthy

LEAST_SHARE = 0.02
"""Of its volumes, for what a broker is not meant to do: a plan may still find that it has to, a little."""

_SWEEPS = 20


def within_volumes(state: ClusterState, writing: Floats | None = None) -> ClusterState:
    """The state with bandwidths that its volumes can keep up with; the same where nobody knows any volume's limit, or
    that was done before. `writing`: float64[B], the share of writing where it was settled already (`writing_share`).
    """
    if state.volumes is not None or state.hardware is None or not _limits(state.hardware):
        return state
    volumes = _volumes(state, state.hardware)
    both = replace(
        state,
        volumes=volumes,
        brokers=replace(state.brokers, ingress_bytes_per_s=volumes.most_in, egress_bytes_per_s=volumes.most_out),
    )
    shared = np.isfinite(volumes.io) & (volumes.most_in + volumes.most_out > volumes.io)
    if not shared.any():
        return both
    part = writing_share(both) if writing is None else writing
    io = np.where(shared, volumes.io, 0.0)
    into = np.where(shared, np.minimum(volumes.most_in, part * io), volumes.most_in)
    out = np.where(shared, np.minimum(volumes.most_out, io - into), volumes.most_out)
    into = np.where(shared, np.minimum(volumes.most_in, io - out), into)
    return replace(both, brokers=replace(state.brokers, ingress_bytes_per_s=into, egress_bytes_per_s=out))


def writing_share(state: ClusterState) -> Floats:
    """float64[B]: the share of writing in what each broker's volumes do in this drain, at least `LEAST_SHARE` and at
    most 1 less that; 0 for who only leaves, 1 for who holds nothing that is read. A half where nothing is drained: what
    is rebalanced may go both ways.
    """
    written, read = np.zeros((2, len(state.brokers)))
    rows = affected(state)
    if not rows.size:
        return np.full(len(state.brokers), 0.5)
    demand = demand_of(state, rows[healthy(state, rows)])
    sources = np.unique(demand.sources[demand.sources != NO_BROKER])
    if len(demand):
        intake = intake_of(state, demand)
        endless = np.where(state.brokers.may_receive, 3 * demand.copied_bytes + 1.0, 0.0)
        busy_s = filled(state, intake, endless)[1]
        written = busy_s * state.brokers.ingress_bytes_per_s
        read = _read(state, demand.size * demand.copies, demand.sources, written)
    share = np.where(written + read > 0, written / np.maximum(written + read, 1.0), 0.5)
    share = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
    share[~np.isin(np.arange(share.size), sources)] = 1.0
    share[state.brokers.must_empty] = 0.0
    return share


def _read(state: ClusterState, amount: Floats, sources: np.ndarray, written: Floats) -> Floats:
    """float64[B]: bytes each broker reads where all is levelled beside what it writes."""
    busy = np.flatnonzero(written > 0)
    own = np.full((busy.size, sources.shape[1]), NO_BROKER, dtype=np.int32)
    own[:, 0] = busy
    load = np.zeros(written.size)
    rate = np.maximum(state.brokers.egress_bytes_per_s, 1.0)
    level_reads(
        np.concatenate([written[busy], amount]), np.concatenate([own, sources.astype(np.int32)]), rate, load, _SWEEPS
    )
    return np.maximum(load - written, 0.0)


def _limits(hardware: Hardware) -> bool:
    return any(not np.isnan(figure).all() for figure in disk_figures(hardware))


def _volumes(state: ClusterState, hardware: Hardware) -> Volumes:
    return Volumes(
        write=np.nan_to_num(hardware.disk_write_bytes_per_s, nan=np.inf, posinf=np.inf),
        read=np.nan_to_num(hardware.disk_read_bytes_per_s, nan=np.inf, posinf=np.inf),
        io=np.nan_to_num(hardware.disk_io_bytes_per_s, nan=np.inf, posinf=np.inf),
        network_in=state.brokers.ingress_bytes_per_s,
        network_out=state.brokers.egress_bytes_per_s,
    )

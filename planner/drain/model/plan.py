"""A schedule of moves as arrays: where every replica goes, who is read, in which order, how many, how fast.

How it is to be executed (and replayed) is fixed by the plan file's definition (docs/planning.md): an entry starts
as soon as its source and each of its targets have a free slot; the list is scanned from its head at t = 0 and after
every completion; flows share bandwidth max-min fairly under throttles and `flow_bytes_per_s`.
"""

from dataclasses import dataclass, field

from planner.drain.model.state import Floats, Int32s

UNLIMITED_SLOTS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """M entries in release order, each a partition at most once; brokers are rows of the state's table.

    `row`: int32[M], index into the state's partitions. `after`: int32[M, W], replicas in preferred order, padded
    with NO_BROKER. `source`: int32[M], the row read from, NO_BROKER = the leader. `slots_in`, `slots_out`: int32[B],
    UNLIMITED_SLOTS where a broker has no limit. `throttle_in_bytes_per_s`, `throttle_out_bytes_per_s`: float64[B],
    inf where a broker has its bandwidth. `checkpoints`: entry counts, ascending, the last = M. `log_dirs`: int32[M, W],
    aligned with `after`, the state's log directory each new replica goes to; NOWHERE, or None for all of them: Kafka
    chooses, or the replica is there already.
    """

    row: Int32s
    after: Int32s
    source: Int32s
    slots_in: Int32s
    slots_out: Int32s
    throttle_in_bytes_per_s: Floats
    throttle_out_bytes_per_s: Floats
    checkpoints: tuple[int, ...]
    assumptions: tuple[str, ...] = field(default=())
    log_dirs: Int32s | None = None

    def __len__(self) -> int:
        return int(self.row.size)

"""Log directories as one more column, `log_dirs`, of each of the two Arrow tables; only where the state knows any.

Of a broker: a list of (path, disk_bytes, used_bytes). Of a partition: the path of each replica, null where it is not
known. Readers that do not know the columns see every broker as one disk.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from planner.drain.model.log_dirs import broker_log_dirs, replica_log_dirs
from planner.drain.model.state import NOWHERE, ClusterState, Int32s, LogDirs

COLUMN = "log_dirs"

_ENTRIES = pa.list_(pa.struct([("path", pa.string()), ("disk_bytes", pa.int64()), ("used_bytes", pa.int64())]))


def with_broker_dirs(table: pa.Table, state: ClusterState) -> pa.Table:
    if state.log_dirs is None:
        return table
    entries: list[Any] = [broker_log_dirs(state.log_dirs, row) for row in range(len(state.brokers))]
    return table.append_column(COLUMN, pa.array(entries, _ENTRIES))


def with_replica_dirs(table: pa.Table, state: ClusterState) -> pa.Table:
    if state.log_dirs is None:
        return table
    paths = replica_log_dirs(state.log_dirs, state.partitions.replicas)
    return table.append_column(COLUMN, pa.array(paths, pa.list_(pa.string())))


def log_dirs_in(brokers: pa.Table, partitions: pa.Table, ids: Int32s, replicas: Int32s) -> LogDirs | None:
    """The directory table of two tables as made above; `ids` and `replicas` as they were read from them. Raises
    KeyError for a path that its broker does not have.
    """
    if COLUMN not in brokers.column_names:
        return None
    row_of = {broker: row for row, broker in enumerate(ids.tolist())}
    told = zip(brokers["id"].to_pylist(), brokers[COLUMN].to_pylist(), strict=True)
    rows = sorted(
        (row_of[broker], e["path"], e["disk_bytes"], e["used_bytes"]) for broker, of in told for e in of or ()
    )
    if not rows:
        return None
    index = {(broker, path): n for n, (broker, path, _, _) in enumerate(rows)}
    located = np.full(replicas.shape, NOWHERE, dtype=np.int32)
    lists = partitions[COLUMN].to_pylist() if COLUMN in partitions.column_names else []
    for row, paths in enumerate(lists):
        for place, path in enumerate(paths or ()):
            if path is not None:
                located[row, place] = index[int(replicas[row, place]), path]
    return LogDirs(
        broker=np.array([r[0] for r in rows], dtype=np.int32),
        path=tuple(r[1] for r in rows),
        disk_bytes=np.array([r[2] for r in rows], dtype=np.int64),
        used_bytes=np.array([r[3] for r in rows], dtype=np.int64),
        located=located,
    )

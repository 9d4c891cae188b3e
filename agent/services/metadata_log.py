"""A broker's copy of the cluster's metadata log, where Kafka's recovery left nothing of it but the leader's name.

A broker never votes. Its `__cluster_metadata-0` is a copy of what the controllers hold, and Kafka copies it anew where
there is none. Killed by a full disk in its first minute, before a byte of the copy was flushed, Kafka 4.1.1 finds an
"invalid offset during recovery" at its next start and cuts the log to nothing, voters included; the file `quorum-state`
goes on naming the leader. A leader that is no voter is followed by nobody: each start ends in "Expected to be Follower,
but the current state is UnattachedState", room or not. Without that file the broker starts as it did the first time.
"""

import json
import logging
from pathlib import Path

from agent.durable import sync_directory

_log = logging.getLogger(__name__)

_LOG = "__cluster_metadata-0"
_NO_NODE = -1


def forget_leader_of_empty_log(data: Path) -> bool:
    """Removes `quorum-state` in a log directory of a broker whose metadata log holds nothing, and is true if it did.

    Left alone: a log with a byte or a snapshot, a vote (that is a controller's), and what cannot be read.
    """
    directory = data / _LOG
    state = directory / "quorum-state"
    try:
        recorded = json.loads(state.read_bytes())
        holds_some = any(directory.glob("*.checkpoint")) or any(p.stat().st_size for p in directory.glob("*.log"))
    except (OSError, ValueError):
        return False  # none, or Kafka is the one to say what is wrong with it
    if holds_some or not isinstance(recorded, dict) or recorded.get("votedId", _NO_NODE) != _NO_NODE:
        return False
    if recorded.get("leaderId", _NO_NODE) == _NO_NODE:
        return False
    state.unlink()
    sync_directory(directory)
    _log.warning("%s is empty and names leader %s: forgotten, Kafka copies it anew", directory, recorded["leaderId"])
    return True

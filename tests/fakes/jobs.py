"""Jobs in memory."""

import threading
from collections.abc import Iterable

from controlplane.storage.job import OPEN_STATES, Job, JobNotFound, JobState
from controlplane.storage.job_store import JobSteps, Step, refuse_unended
from events.clock import Clock, utc_now
from events.ids import ClusterUid, Epoch, IntentId


class MemoryJobStore(JobSteps):
    """Jobs of one process, for tests and the simulator."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._jobs: dict[IntentId, Job] = {}

    def create(self, intent_id: IntentId, *, cluster_uid: ClusterUid, kind: str, epoch: Epoch, owner: str) -> Job:
        """See JobStore."""
        with self._lock:
            now = self._clock()
            fresh = Job(intent_id, cluster_uid, kind, JobState.QUEUED, epoch, owner, now, now)
            return self._jobs.setdefault(intent_id, fresh)

    def forget(self, intent_id: IntentId, *, epoch: Epoch) -> None:
        """See JobStore."""
        with self._lock:
            job = self._jobs.get(intent_id)
            if job is not None:
                refuse_unended(job, epoch)
                del self._jobs[intent_id]

    def get(self, intent_id: IntentId) -> Job | None:
        """See JobStore."""
        with self._lock:
            return self._jobs.get(intent_id)

    def of_cluster(self, cluster_uid: ClusterUid) -> list[Job]:
        """See JobStore."""
        with self._lock:
            return _oldest_first(job for job in self._jobs.values() if job.cluster_uid == cluster_uid)

    def open_jobs(self) -> list[Job]:
        """See JobStore."""
        with self._lock:
            return _oldest_first(job for job in self._jobs.values() if job.state in OPEN_STATES)

    def newest(self, limit: int) -> list[Job]:
        """See JobStore."""
        with self._lock:
            return _oldest_first(self._jobs.values())[::-1][:limit]

    def _change(self, intent_id: IntentId, step: Step) -> Job:
        with self._lock:
            if intent_id not in self._jobs:
                raise JobNotFound(intent_id)
            self._jobs[intent_id] = changed = step(self._jobs[intent_id], self._clock())
            return changed


def _oldest_first(jobs: Iterable[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: (job.created_at, job.intent_id))

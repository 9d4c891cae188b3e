"""Plans of one process; the SQL store passes the same contract."""

from controlplane.storage.plan_store import sha256_of, verified


class MemoryPlanStore:
    """Plans by the SHA-256 of their bytes."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def put(self, body: bytes) -> str:
        """See PlanStore."""
        key = sha256_of(body)
        self._bodies[key] = body
        return key

    def get(self, sha256: str) -> bytes | None:
        """See PlanStore."""
        return verified(sha256, self._bodies.get(sha256))

"""Keys of one process; the SQL store passes the same contract."""

import threading
from dataclasses import replace

from controlplane.api.idempotency_keys import KEPT_FOR, CallKey


class MemoryCallKeys:
    """Keys of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, CallKey] = {}

    def claim(self, wanted: CallKey) -> CallKey | None:
        """See CallKeys."""
        with self._lock:
            self._keys = {k: v for k, v in self._keys.items() if wanted.at - v.at < KEPT_FOR}
            found = self._keys.get(wanted.id)
            self._keys.setdefault(wanted.id, wanted)
            return found

    def settle(self, key_id: str, status: int) -> None:
        """See CallKeys."""
        with self._lock:
            if key_id in self._keys:
                self._keys[key_id] = replace(self._keys[key_id], status=status)

    def forget(self, key_id: str) -> None:
        """See CallKeys."""
        with self._lock:
            self._keys.pop(key_id, None)

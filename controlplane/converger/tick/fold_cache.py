"""The views of all clusters as of a position of the log, folded as it grows, by whomever."""

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import datetime

from controlplane.cluster.fold import evolve
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.storage.log_context import tell_event
from controlplane.storage.streams import cluster_uid_of
from events.envelope import Recorded
from events.ids import ClusterUid
from events.store import EventStore

_log = logging.getLogger(__name__)


class FoldCache:
    """Thread-safe. Of the servers that fold the log the one that leads also tells it (`tells`)."""

    def __init__(
        self,
        store: EventStore,
        *,
        born: datetime,
        on_view: Callable[[ClusterView], None],
        on_event: Callable[[Recorded], None],
    ) -> None:
        """`on_view` is told each view that is new, `on_event` then each event, of whatever stream. What was recorded
        before `born` is not told."""
        self._store, self._born = store, born
        self._on_view, self._on_event = on_view, on_event
        self._lock = threading.RLock()
        self.position = 0
        self.views: dict[ClusterUid, ClusterView] = {}
        self._by_name: list[ClusterUid] | None = None
        """Those, in the order of `all`; None once one has come, or another name."""
        self.tells = False
        """Whether what is recorded from now on is written to the log, too."""

    def catch_up(self) -> None:
        """Folds what was recorded since the last look, by whomever."""
        with self._lock:
            while True:
                page = self._store.read_all(self.position, limit=1000)
                self._take_in(page)
                if len(page) < 1000:
                    return

    def all(self) -> list[ClusterView]:
        """All clusters as of the last fold, by name."""
        with self._lock:
            if self._by_name is None:
                self._by_name = sorted(self.views, key=lambda uid: (self.views[uid].name, uid))
            return [self.views[uid] for uid in self._by_name]

    def of(self, uid: ClusterUid) -> ClusterView | None:
        """As of the last fold. Waits for nobody: `catch_up` holds the lock while the database is slow."""
        return self.views.get(uid)

    def advance(self, view: ClusterView, recorded: Iterable[Recorded]) -> ClusterView:
        """The view after our own events, at once; `catch_up` will see them as known."""
        for event in recorded:
            view = evolve(view, event)
        with self._lock:
            current = self.views.get(view.uid)
            if current is None or current.version < view.version:
                self._put(view)
        return view

    def _take_in(self, page: Iterable[Recorded]) -> None:
        for recorded in page:
            self._fold_in(recorded)
            if self.tells and recorded.recorded_at > self._born:
                uid = cluster_uid_of(recorded.stream)
                tell_event(_log, recorded, self.views[uid].name if uid else "")

    def _fold_in(self, recorded: Recorded) -> None:
        self.position = recorded.position
        uid = cluster_uid_of(recorded.stream)
        if uid is not None:
            view = self.views.get(uid) or empty_view(uid)
            if recorded.version > view.version:
                self._put(evolve(view, recorded))
        self._on_event(recorded)

    def _put(self, view: ClusterView) -> None:
        before = self.views.get(view.uid)
        if before is None or before.name != view.name:
            self._by_name = None
        self.views[view.uid] = view
        self._on_view(view)

"""`get -w`: redraws a table in place, or writes what changed, one record each, where nothing can be redrawn."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.live import Live

from controlplane.api.schemas.clusters import ClusterOut
from controlplane.cli.errors import Unreachable
from controlplane.cli.session import Session

POLL_S = 1.0

UNSTABLE = frozenset({"sentence_at", "report_age_s", "metadata_age_s"})
"""Fields that differ at every look; alone they are no change."""


class StatusWatch:
    """Looks again and again until Ctrl-C. A server that goes away is waited for."""

    def __init__(self, session: Session, look: Callable[[], Sequence[ClusterOut]]) -> None:
        self._session = session
        self._look = look
        self._answered = False
        self._silent = False

    def redraw(self, picture: Callable[[Sequence[ClusterOut]], RenderableType]) -> None:
        """One picture, kept current. Never returns by itself."""
        with Live(console=self._session.out, auto_refresh=False) as live:
            while True:
                clusters = self._next()
                if clusters is not None:
                    live.update(picture(clusters), refresh=True)
                self._session.around.sleep(POLL_S)

    def changes(self, write: Callable[[ClusterOut], None]) -> None:
        """One record for each cluster at first, then one for each that changed. Never returns by itself."""
        known: dict[str, Any] = {}
        while True:
            for cluster in self._next() or ():
                content = stable(cluster.model_dump(mode="json"))
                if known.get(cluster.uid) != content:
                    known[cluster.uid] = content
                    write(cluster)
            self._session.around.sleep(POLL_S)

    def _next(self) -> Sequence[ClusterOut] | None:
        try:
            clusters = self._look()
        except Unreachable as error:
            if not self._answered:
                raise
            if not self._silent:
                self._session.tell(f"{error.what} ({error.why}); waiting for it to come back")
            self._silent = True
            return None
        self._answered, self._silent = True, False
        return clusters


def stable(content: Any) -> Any:
    """A document without what differs at every look."""
    if isinstance(content, dict):
        return {key: stable(value) for key, value in content.items() if key not in UNSTABLE}
    if isinstance(content, list):
        return [stable(item) for item in content]
    return content

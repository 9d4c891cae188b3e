"""Is each cloud ready for clusters, as this server reaches it? What `kedge doctor` looks at, with the server's own
settings, credentials and budget of calls. A cloud is asked on a thread of its own, again no sooner than `KEPT_FOR`."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from controlplane.api.cloud_readiness import KEPT_FOR, CloudUnknown, Examination
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of, places_of
from controlplane.cluster.view import ClusterView
from controlplane.server.clouds import settings_file_of
from controlplane.server.settings import Settings
from controlplane.server.terraform_runs import mirrored
from events.clock import Clock, utc_now
from providers.base import CloudProvider, Place
from providers.doctor import examine
from providers.finding import Finding
from providers.reach import Endpoint, Reach
from providers.registry import names

Begin = Callable[[Callable[[], None]], None]
"""Has something done, beside whoever asks for it."""

_log = logging.getLogger(__name__)


def begin_on_thread(look: Callable[[], None]) -> None:
    """It changes nothing and holds nothing, so a server that stops need not wait for it."""
    threading.Thread(target=look, name="doctor", daemon=True).start()


class Examiner:
    """`Examinations`: keeps the last one of each cloud in memory. Thread-safe.

    `in_use` are the clouds told of where nobody names one, `look` examines one and changes nothing.
    """

    def __init__(
        self,
        in_use: Callable[[], Iterable[str]],
        look: Callable[[str], Iterable[Finding]],
        clock: Clock,
        begin: Begin = begin_on_thread,
    ) -> None:
        self._in_use = in_use
        self._look = look
        self._clock = clock
        self._begin = begin
        self._kept: dict[str, Examination] = {}
        self._lock = threading.Lock()

    def results(self, cloud: str = "") -> Sequence[Examination]:
        if cloud and cloud not in names():
            raise CloudUnknown(f"there is no cloud {cloud!r}; there is {', '.join(names())}")
        wanted = [cloud] if cloud else sorted(set(self._in_use()))
        for one in wanted:
            if self._is_due(one):
                self._begin(partial(self._examine, one))
        with self._lock:
            return [self._kept[one] for one in wanted]

    def _is_due(self, cloud: str) -> bool:
        """Whether the caller is to begin one. Of several callers one is told so."""
        with self._lock:
            kept, now = self._kept.get(cloud, Examination(cloud)), self._clock()
            due = not kept.asking and (kept.ended_at is None or now - kept.ended_at >= KEPT_FOR)
            self._kept[cloud] = replace(kept, asking=True) if due else kept
            return due

    def _examine(self, cloud: str) -> None:
        began_at = self._clock()
        try:
            found = tuple(self._look(cloud))
        except Exception as error:  # noqa: BLE001 - whoever asked is told, and asks again
            _log.exception("%s could not be examined", cloud)
            sentence = f"the look failed: {type(error).__name__}: {error}"
            found = (Finding(cloud, None, sentence, "the server's log has more"),)
        with self._lock:
            self._kept[cloud] = Examination(cloud, False, began_at, self._clock(), found)


def examiner_of(
    settings: Settings,
    clouds: Callable[[str], CloudProvider],
    views: Callable[[], Iterable[ClusterView]],
    begin: Begin = begin_on_thread,
) -> Examiner:
    """That of a server, as it starts: it asks clouds that living clusters are in, and those it has settings of."""

    def in_use() -> Iterator[str]:
        lived_in = {place.cloud for view in views() if not view.deleted for place in places_of(view)}
        for cloud in names():
            file = settings_file_of(settings, cloud)
            if cloud in lived_in or (file is not None and file.exists()):
                yield cloud

    reach = Reach(known=lambda place: brokers_at(views(), place))
    return Examiner(in_use, partial(_look, settings, clouds, utc_now(), reach), utc_now, begin)


def brokers_at(views: Iterable[ClusterView], place: Place) -> tuple[Endpoint, ...]:
    """Brokers that joined their clusters, in that account and region: whom the server dials."""
    return tuple(
        Endpoint(view.name, i.node, view.address_of(i), view.port_of(i))
        for view in views
        if not view.deleted
        for i in view.brokers()
        if i.phase is Phase.JOINED and not i.lost and str(place_of(view, i)) == str(place) and view.address_of(i)
    )


def _look(
    settings: Settings, clouds: Callable[[str], CloudProvider], started_at: datetime, reach: Reach, cloud: str
) -> Iterator[Finding]:
    file = settings_file_of(settings, cloud)
    if file is not None and _is_newer(file, started_at):
        sentence = f"{file} was written after this server started, which may go by what was there before"
        yield Finding("settings of this server", None, sentence, "start the server anew for it to read them")
    yield from examine(cloud, file, lambda: clouds(cloud), mirrored=mirrored(settings), reach=reach)


def _is_newer(file: Path, started_at: datetime) -> bool:
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC) > started_at
    except OSError:
        return False

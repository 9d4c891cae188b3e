"""Asks the metadata service every few seconds whether the VM is going to be taken back. Nobody waits for it."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

import httpx

from agent.preemption.clouds import CLOUDS, Ask, Cloud, MetadataSilent, PreemptionNotice
from agent.wire import PreemptionReport

_log = logging.getLogger(__name__)

METADATA_URL = "http://169.254.169.254"
"""The same address in all three clouds; link-local, so nobody else answers there."""

_ANSWERS_S = 2.0


class PreemptionWatch:
    """`look` asks; `told` is what is known. A silence changes nothing: what was announced stays so until it is taken
    back."""

    def __init__(self, cloud: Cloud, now: Callable[[], datetime]) -> None:
        self._cloud, self._now = cloud, now
        self._notice: PreemptionNotice | None = None
        self._silent = ""
        self.report: PreemptionReport | None = None

    def look(self) -> None:
        now = self._now()
        try:
            notice = self._cloud.look(now)
        except MetadataSilent as error:
            if not self._silent:
                _log.warning("the cloud's metadata service does not tell whether this VM is taken back: %s", error)
            self._silent = str(error)
            return
        self._silent = ""
        before = self._notice
        if notice is not None and before is not None and (notice.kind, notice.words) == (before.kind, before.words):
            notice = replace(notice, deadline=before.deadline)  # of a cloud without a date the first look counts
        if notice != before:
            _log.warning("the cloud says of this VM: %s", notice.words if notice else "it stays after all")
            self._notice = notice
            self.report = _report(notice, now) if notice else None


def _report(notice: PreemptionNotice, now: datetime) -> PreemptionReport:
    since = now.replace(microsecond=0)
    return PreemptionReport(kind=notice.kind, deadline=notice.deadline, since=since, words=notice.words)


def start_watch(watch: PreemptionWatch, *, every_s: float, leaving: threading.Event) -> threading.Thread:
    """A daemon thread: neither the agent's passes nor its end wait for it."""

    def run() -> None:
        while not leaving.is_set():
            watch.look()
            leaving.wait(every_s)

    thread = threading.Thread(target=run, name="preemption", daemon=True)
    thread.start()
    return thread


def cloud_at(name: str, url: str = METADATA_URL) -> Cloud:
    """The cloud of that name (`aws`, `google`, `azure`), by its metadata service at `url`."""
    return CLOUDS[name](asking(httpx.Client(base_url=url, timeout=_ANSWERS_S, trust_env=False)))


def asking(client: httpx.Client) -> Ask:
    """Requests by HTTP. Never by a proxy: a token of the metadata service is nobody else's business."""

    def ask(method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
        try:
            answer = client.request(method, path, headers=dict(headers))
        except httpx.HTTPError as error:
            raise MetadataSilent(f"{type(error).__name__}: {error}") from error
        return answer.status_code, answer.text

    return ask

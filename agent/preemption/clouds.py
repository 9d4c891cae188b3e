"""The metadata services of three clouds, as far as they tell a VM that it is going to be taken back.

- AWS: `spot/instance-action` two minutes ahead, 404 before; `events/recommendations/rebalance` earlier, without a date
  (EC2 user guide, "Spot Instance interruption notices", "EC2 instance rebalance recommendations"). IMDSv2 alone.
- Google: `instance/preempted` is TRUE from 30 s ahead on (Compute Engine, "Preemptible VM instances").
- Azure: Scheduled Events of the type Preempt, 30 s ahead at least (Azure, "Scheduled Events for Linux VMs").
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Protocol

GOOGLE_WARNS_S = 30.0

Kind = Literal["preempt", "rebalance"]


class MetadataSilent(Exception):
    """It did not answer, or not with anything usable. Says nothing about the VM; try again."""


@dataclass(frozen=True, slots=True)
class PreemptionNotice:
    """`preempt`: the VM goes at `deadline`. `rebalance`: it may go soon, and nobody knows when. `words` are the
    cloud's."""

    kind: Kind
    deadline: datetime | None
    words: str


class Ask(Protocol):
    """One request to the metadata service: status and text. Raises `MetadataSilent`."""

    def __call__(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]: ...


class Cloud(Protocol):
    def look(self, now: datetime) -> PreemptionNotice | None:
        """None when the VM stays. Raises `MetadataSilent`."""


class Aws:
    """IMDSv2. A token is asked for once, and again when it is refused."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self._token = ask, ""

    def look(self, now: datetime) -> PreemptionNotice | None:
        answer = self._get("/latest/meta-data/spot/instance-action")
        if answer is not None:
            at = _moment(_field(answer, "time"))
            return PreemptionNotice("preempt", at, f"spot {_field(answer, 'action')} at {at:%H:%M:%S} UTC")
        answer = self._get("/latest/meta-data/events/recommendations/rebalance")
        if answer is not None:
            at = _moment(_field(answer, "noticeTime"))
            return PreemptionNotice("rebalance", None, f"rebalance recommendation of {at:%H:%M:%S} UTC")
        return None

    def _get(self, path: str) -> str | None:
        for _ in range(2):
            if not self._token:
                self._token = _answered(
                    self._ask("PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "21600"})
                )
            status, text = self._ask("GET", path, {"X-aws-ec2-metadata-token": self._token})
            if status != 401:
                return None if status == 404 else _answered((status, text))
            self._token = ""
        raise MetadataSilent("its token is refused")


class Google:
    """No date is told: it is so long after the first look that saw it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def look(self, now: datetime) -> PreemptionNotice | None:
        path = "/computeMetadata/v1/instance/preempted"
        text = _answered(self._ask("GET", path, {"Metadata-Flavor": "Google"})).strip()
        if text not in ("TRUE", "FALSE"):
            raise MetadataSilent(f"{path} says {text[:40]!r}")
        return (
            PreemptionNotice("preempt", now + timedelta(seconds=GOOGLE_WARNS_S), "preempted")
            if text == "TRUE"
            else None
        )


class Azure:
    """Events are told to every VM of the same group: the VM's own name has to be among those they are about."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self._name = ask, ""

    def look(self, now: datetime) -> PreemptionNotice | None:
        if not self._name:
            self._name = self._get("/metadata/instance/compute/name?api-version=2021-02-01&format=text").strip()
        answer = _json(self._get("/metadata/scheduledevents?api-version=2020-07-01"))
        try:
            events = [e for e in answer["Events"] if e["EventType"] == "Preempt" and self._name in e["Resources"]]
            dates = [_azure_moment(e.get("NotBefore", ""), now) for e in events]
        except (KeyError, TypeError, ValueError) as error:
            raise MetadataSilent(f"scheduled events cannot be read: {error!r}") from error
        return PreemptionNotice("preempt", min(dates), "scheduled event Preempt") if dates else None

    def _get(self, path: str) -> str:
        return _answered(self._ask("GET", path, {"Metadata": "true"}))


CLOUDS: Mapping[str, Callable[[Ask], Cloud]] = {"aws": Aws, "google": Google, "azure": Azure}


def _answered(answer: tuple[int, str]) -> str:
    status, text = answer
    if status != 200:
        raise MetadataSilent(f"it answers {status}")
    return text


def _json(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise MetadataSilent(f"no JSON: {text[:40]!r}") from error
    if not isinstance(document, dict):
        raise MetadataSilent(f"no JSON object: {text[:40]!r}")
    return document


def _field(text: str, name: str) -> str:
    value = _json(text).get(name)
    if not isinstance(value, str):
        raise MetadataSilent(f"{name} is missing in {text[:80]!r}")
    return value


def _moment(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise MetadataSilent(f"{text[:40]!r} is not a time") from error
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _azure_moment(text: str, now: datetime) -> datetime:
    """Empty once it has begun."""
    return parsedate_to_datetime(text).astimezone(UTC) if text else now

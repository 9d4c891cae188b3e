"""What a walk came to, as a person reads it and as it may be sent to others: no address, no account, no id. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.cli.cloud_verify.bound import CostBound
from controlplane.cli.cloud_verify.stages import Ending, StageResult
from controlplane.cli.cloud_verify.trial import TrialCluster
from controlplane.runtime.quantities import human_seconds

_ADDRESS = re.compile(
    r"\b\d{1,3}([.-])\d{1,3}\1\d{1,3}\1\d{1,3}(/\d{1,2})?\b"
    r"|(?<![\w:])(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){7})[0-9a-f:]+(%\w+)?(/\d{1,3})?",
    re.IGNORECASE,
)
"""Dotted, or with the dashes of names that clouds make of them; of IPv6 with `::`, or whole."""
_ID = re.compile(r"\b(?:[a-z]+-)?[0-9a-f]{8,}(?:-[0-9a-f]{4,}){0,4}\b|\b\d{6,}\b", re.IGNORECASE)
"""Ids as clouds write them, in hex or digits, with a word before them or not."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """One walk. `kedge` is the server's version."""

    kedge: str
    trial: TrialCluster
    began: datetime
    bound: CostBound | None
    results: Sequence[StageResult]

    @property
    def passed(self) -> bool:
        return all(one.ending in (Ending.PASSED, Ending.LEFT_OUT) for one in self.results)

    def lines(self) -> Iterator[str]:
        """As Markdown."""
        trial, verdict = self.trial, "passed" if self.passed else "failed"
        yield f"# kedge cloud verify: {trial.cloud}, {verdict}"
        yield ""
        yield f"- {self.began:%Y-%m-%d %H:%M} UTC, Kedge {self.kedge}, Kafka {trial.kafka_version}"
        yield f"- region {trial.region}, zone {trial.zone}, machine `{trial.machine}`, {trial.disk_gib} GiB a disk"
        if self.bound is not None:
            yield f"- cost: {self.bound}"
        yield ""
        yield "| stage | ended | after | told |"
        yield "|---|---|---|---|"
        for one in self.results:
            after = human_seconds(one.seconds) if one.ending is not Ending.NOT_REACHED else ""
            yield f"| {one.stage} | {one.ending} | {after} | {self._masked(one)} |"

    def record(self) -> dict[str, Any]:
        """For programs; the caller's own, so that nothing is taken out."""
        trial = self.trial
        return {
            "cloud": trial.cloud,
            "region": trial.region,
            "zone": trial.zone,
            "machine": trial.machine,
            "kafkaVersion": trial.kafka_version,
            "kedge": self.kedge,
            "began": self.began.isoformat(timespec="seconds"),
            "passed": self.passed,
            "cost": str(self.bound) if self.bound is not None else "",
            "stages": [
                {
                    "stage": str(one.stage),
                    "shows": one.stage.shows,
                    "ended": str(one.ending),
                    "seconds": round(one.seconds, 1),
                    "told": one.told,
                    "next": one.next_step,
                }
                for one in self.results
            ],
        }

    def _masked(self, one: StageResult) -> str:
        """Without what is the caller's own; a line of a table has no bars."""
        told = _ID.sub("ID", _ADDRESS.sub("ADDRESS", one.told))
        if self.trial.account:
            told = re.sub(rf"\b{re.escape(self.trial.account)}\b", "ACCOUNT", told)
        return " ".join(told.replace("|", "/").split())

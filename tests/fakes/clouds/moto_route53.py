"""Where moto 5.2's Route 53 is not AWS's and a test would meet it: what a change batch checks before it changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from moto.core.responses import ActionResult
from moto.route53.exceptions import Route53ClientError
from moto.route53.models import Route53Backend
from moto.route53.responses import Route53

_change = Route53Backend.change_resource_record_sets


@contextmanager
def whole_batches() -> Iterator[None]:
    """Route 53 with batches as AWS has them, for as long as the block runs."""
    with patch.object(Route53Backend, "change_resource_record_sets", batch_is_judged_whole):
        yield


@dataclass
class SlowChanges:
    """Whether changes have come to all of Route 53's servers."""

    status: str = "PENDING"

    def arrive(self) -> None:
        """All of them."""
        self.status = "INSYNC"


@contextmanager
def slow_changes() -> Iterator[SlowChanges]:
    """Route 53 with changes that take their time, for as long as the block runs; moto's are there at once."""
    changes, asked = SlowChanges(), Route53.get_change

    def get_change(self: Route53) -> ActionResult:
        found = asked(self)
        found.result["ChangeInfo"]["Status"] = changes.status  # type: ignore[index]
        return found

    with patch.object(Route53, "get_change", get_change):
        yield changes


def batch_is_judged_whole(self: Route53Backend, zoneid: str, change_list: list[dict[str, Any]]) -> None:
    """AWS deletes only what is named to the letter, creates only what is not there once the batch's deletes are done,
    and does all or nothing (API Reference, ChangeResourceRecordSets). moto goes by its journal of past changes: it
    deletes whatever has the name, and refuses to create in a batch what the same batch deletes."""
    there = {(r.name, r.type): r for r in self.get_hosted_zone(zoneid).rrsets}
    asked = [(c["Action"], c["ResourceRecordSet"]) for c in change_list]
    deleted = {_key(r) for action, r in asked if action == "DELETE"}
    created = {_key(r) for action, r in asked if action == "CREATE"}
    for action, wanted in asked:
        found = there.get(_key(wanted))
        if action == "DELETE" and (found is None or _content(wanted) != _held(found)):
            raise _refused(f"Tried to delete {_key(wanted)} but it was not found, or the values provided do not match")
        if action == "CREATE" and found is not None and _key(wanted) not in deleted:
            raise _refused(f"Tried to create {_key(wanted)} but it already exists")
    _change(
        self,
        zoneid,
        [
            {**change, "Action": "UPSERT" if action == "CREATE" else action}
            for change, (action, wanted) in zip(change_list, asked, strict=True)
            if not (action == "DELETE" and _key(wanted) in created)
        ],
    )


def _key(record_set: dict[str, Any]) -> tuple[str, str]:
    return f"{record_set['Name'].rstrip('.')}.", record_set["Type"]


def _content(record_set: dict[str, Any]) -> tuple[int, list[str]]:
    return int(record_set["TTL"]), sorted(r["Value"] for r in record_set["ResourceRecords"])


def _held(record_set: Any) -> tuple[int, list[str]]:
    return int(record_set.ttl), sorted(record_set.records)


def _refused(message: str) -> Route53ClientError:
    return Route53ClientError("InvalidChangeBatch", message)

"""A hosted zone of Route 53. One change batch is carried out whole or not at all; a DELETE names what it deletes to the
letter and a CREATE refuses what exists (Route 53 API Reference, ChangeResourceRecordSets), so nothing is overwritten
unseen."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError

from providers.aws.errors import translated
from providers.aws.session import session_of
from providers.dns.zone import NOTHING, OWNER_LABEL, HeldName, changed_meanwhile
from providers.errors import NotFound, RateLimited, ResourceConflict

_FAMILIES = ("A", "AAAA")
_ATTEMPTS = 2
_CONNECT_S, _READ_S = 2.0, 3.0


@dataclass(slots=True)
class HostedZone:
    """A `DnsZone` by its id in Route 53. Thread-safe. The first call checks that the id is of the zone named."""

    name: str
    zone_id: str
    profile: str | None = None
    endpoint_url: str | None = None
    _client: Any = field(init=False)
    _proved: bool = False
    _changes: dict[str, tuple[HeldName, str]] = field(default_factory=dict)
    """The last change of each name by this process: to what, and its id in Route 53, "" once all of its servers have
    it."""

    def __post_init__(self) -> None:
        config = Config(
            connect_timeout=_CONNECT_S,
            read_timeout=_READ_S,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        )
        with translated(f"zone {self.name}: credentials"):
            session = session_of(self.profile)
            # Route 53 has one endpoint for the world; its region is us-east-1 (AWS General Reference).
            self._client = session.client(
                "route53", region_name="us-east-1", endpoint_url=self.endpoint_url, config=config
            )

    def read(self, name: str) -> HeldName:
        self._prove()
        with self._errors_translated(f"reading {name}"):
            sets = {r["Type"]: r for r in self._sets(name)}
            owners = [r for r in self._sets(f"{OWNER_LABEL}.{name}") if r["Type"] == "TXT"]
        addresses = frozenset(v["Value"] for kind in _FAMILIES for v in sets.get(kind, {}).get("ResourceRecords", ()))
        # An alias, a weight, a region: not a plain record of ours, and nothing that could be put back as it was.
        if any(_is_special(r) for kind, r in sets.items() if kind in (*_FAMILIES, "CNAME")):
            raise ResourceConflict(f"{name} has records of another kind (alias, routing policy, CNAME)")
        owner = owners[0]["ResourceRecords"][0]["Value"].strip('"') if owners else ""
        if not addresses and not owner:
            return NOTHING
        ttl_s = max((int(sets[kind]["TTL"]) for kind in _FAMILIES if kind in sets), default=0)
        return HeldName(addresses, ttl_s, owner, owner_ttl_s=int(owners[0]["TTL"]) if owners else 0)

    def replace(self, name: str, before: HeldName, after: HeldName) -> None:
        self._prove()
        changes = [
            {"Action": action, "ResourceRecordSet": each}
            for action, held in (("DELETE", before), ("CREATE", after))
            for each in _record_sets(name, held)
        ]
        if not changes:
            return
        with self._errors_translated(f"changing {name}"):
            try:
                made = self._client.change_resource_record_sets(
                    HostedZoneId=self.zone_id, ChangeBatch={"Changes": changes}
                )
            except ClientError as error:
                if _code(error) == "InvalidChangeBatch":
                    raise changed_meanwhile(name) from error
                raise
        self._changes[name] = after, str(made["ChangeInfo"]["Id"]).removeprefix("/change/")

    def tells_everywhere(self, name: str, held: HeldName) -> bool:
        """See `DnsZone`. INSYNC is a change that all of Route 53's servers have (API Reference, GetChange). Of one that
        another process made nobody has the id: the same records are put once more, which has one."""
        if self._changes.get(name, (NOTHING, ""))[0] != held:
            self.replace(name, held, held)
        _, change = self._changes.get(name, (held, ""))
        if not change:
            return True
        with self._errors_translated(f"whether all servers tell {name}"):
            try:
                status = self._client.get_change(Id=change)["ChangeInfo"]["Status"]
            except ClientError as error:
                if _code(error) != "NoSuchChange":
                    raise
                self._changes.pop(name, None)  # forgotten by now: the next look makes another one
                return False
        if status != "INSYNC":
            return False
        self._changes[name] = held, ""
        return True

    def _sets(self, name: str) -> list[dict[str, Any]]:
        """The record sets of exactly this name: the listing starts there and goes on with what comes after it."""
        page = self._client.list_resource_record_sets(
            HostedZoneId=self.zone_id, StartRecordName=f"{name}.", MaxItems="10"
        )
        return [r for r in page["ResourceRecordSets"] if r["Name"].rstrip(".").lower() == name.lower()]

    def _prove(self) -> None:
        if self._proved:
            return
        with self._errors_translated("who am I"):
            found = self._client.get_hosted_zone(Id=self.zone_id)["HostedZone"]["Name"].rstrip(".")
        if found != self.name:
            raise NotFound(f"hosted zone {self.zone_id} is {found}, the settings say {self.name}")
        self._proved = True

    @contextmanager
    def _errors_translated(self, what: str) -> Iterator[None]:
        """AWS's words become ours; the codes of Route 53 that EC2 does not have are here."""
        with translated(f"zone {self.name}: {what}"):
            try:
                yield
            except ClientError as error:
                if _code(error) == "NoSuchHostedZone":
                    raise NotFound(f"zone {self.name}: {what}: {error}") from error
                if _code(error) == "PriorRequestNotComplete":
                    raise RateLimited(f"zone {self.name}: {what}: {error}") from error
                raise


def _record_sets(name: str, held: HeldName) -> Iterator[dict[str, Any]]:
    for kind in _FAMILIES:
        if values := held.of_family(kind):
            yield _record_set(name, kind, values, held.ttl_s)
    if held.owner:
        yield _record_set(f"{OWNER_LABEL}.{name}", "TXT", (f'"{held.owner}"',), held.owner_ttl_s)


def _record_set(name: str, kind: str, values: tuple[str, ...], ttl_s: int) -> dict[str, Any]:
    return {"Name": f"{name}.", "Type": kind, "TTL": ttl_s, "ResourceRecords": [{"Value": v} for v in values]}


def _is_special(record_set: dict[str, Any]) -> bool:
    return record_set["Type"] == "CNAME" or "AliasTarget" in record_set or "SetIdentifier" in record_set


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))

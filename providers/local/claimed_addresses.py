"""Addresses of VMs and nodes, claimed machine-wide: two installations on one machine never share one.

A claim is a file named like the address in a folder all installations of the machine use
(KEDGE_LOCAL_CLAIMS). An installation also keeps a record of every address it ever gave out, by owner: the
same owner always gets the same one again, and no address is given to a second owner, because events name
addresses for ever.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import chain
from pathlib import Path

from providers.errors import NoCapacity, ResourceConflict
from providers.local.ranges import RANGES
from providers.local.record import Record, locked, read_record, write_record

CLAIMS = "KEDGE_LOCAL_CLAIMS"
"""Environment variable that moves the folder of claims; all installations of a machine must agree on it."""


def claims_dir() -> Path:
    """The folder of claims: shared by all users, like /tmp, because loopback is."""
    return Path(os.environ.get(CLAIMS) or Path(tempfile.gettempdir()) / "kedge-addresses")


@dataclass(frozen=True, slots=True)
class ClaimedAddresses:
    """Addresses of one installation. `root` is its local cloud's directory."""

    root: Path
    installation_id: str
    claims: Path
    network: IPv4Network = RANGES["loopback"]

    def known(self, owner: str) -> str | None:
        """The owner's address, if it ever had one."""
        address = self._read()["owners"].get(owner)
        return None if address is None else str(address)

    def address_for(self, owner: str) -> str:
        """The owner's address, claimed now if it has none. Owners are `<uid>/<node>` (`<uid>/<node>@<region>` of a
        node that came there from elsewhere) and `<uid>/<node>.g<n>`.

        Raises `NoCapacity` when the network is used up.
        """
        known = self._read()["owners"].get(owner)
        if known is not None:
            return str(known)
        self._open_claims()
        with locked(self.claims / ".lock"):
            record = self._read_or_rebuild()
            if owner not in record["owners"]:
                start = IPv4Address(record.get("next", str(self.network[1])))
                address = next((a for a in _from(start, self.network) if self._free(a, owner, record)), None)
                if address is None:
                    raise NoCapacity(f"no address of {self.network} is left on this machine (claims: {self.claims})")
                self._take(address, owner, record)
            return str(record["owners"][owner])

    def adopt(self, owner: str, address: str) -> None:
        """Claim an address that an event already names. Raises `ResourceConflict` if it is somebody else's."""
        if self._read()["owners"].get(owner) == address:
            return
        self._open_claims()
        with locked(self.claims / ".lock"):
            record = self._read_or_rebuild()
            if not self._free(IPv4Address(address), owner, record):
                raise ResourceConflict(
                    f"address {address} recorded for {owner} is claimed by another owner on this machine"
                )
            self._take(IPv4Address(address), owner, record)

    def _take(self, address: IPv4Address, owner: str, record: Record) -> None:
        claim = {"root": str(self.root), "installation_id": self.installation_id, "owner": owner}
        self._claim(address).unlink(missing_ok=True)
        descriptor = os.open(self._claim(address), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps(claim))
        record["owners"][owner] = str(address)
        record["next"] = str(address + 1)
        write_record(self._path, record)

    def _free(self, address: IPv4Address, owner: str, record: Record) -> bool:
        """Under the lock: no claim, an unfinished one, our own for this owner, or one whose installation is gone."""
        if str(address) in record["owners"].values():
            return False
        claim = _claim_in(self._claim(address))
        if claim is None:
            return False
        if self._is_ours(claim):
            return bool(claim["owner"] == owner)
        return "root" not in claim or _proved_missing(Path(claim["root"]))

    def _read_or_rebuild(self) -> Record:
        """Under the lock. A lost record is made again from the claims, which are outside the installation."""
        if (record := read_record(self._path)) is not None:
            return record
        claims = ((path.name, _claim_in(path)) for path in self.claims.glob("[0-9]*.*"))
        return {"owners": {claim["owner"]: address for address, claim in claims if claim and self._is_ours(claim)}}

    def _is_ours(self, claim: Record) -> bool:
        return claim.get("root") == str(self.root) and claim.get("installation_id") == self.installation_id

    def _open_claims(self) -> None:
        if not self.claims.is_dir():
            self.claims.mkdir(parents=True, exist_ok=True)
            self.claims.chmod(0o1777)
        lock = self.claims / ".lock"
        if not lock.exists():
            lock.touch()
            lock.chmod(0o666)

    def _claim(self, address: IPv4Address) -> Path:
        return self.claims / str(address)

    def _read(self) -> Record:
        return read_record(self._path) or {"owners": {}}

    @property
    def _path(self) -> Path:
        return self.root / "addresses.json"


def _claim_in(path: Path) -> Record | None:
    """Empty for no claim and for one whose writer died before its first byte; None for one we cannot read."""
    try:
        return dict(json.loads(path.read_text() or "{}"))
    except FileNotFoundError:
        return {}
    except (ValueError, PermissionError):
        return None


def _from(start: IPv4Address, network: IPv4Network) -> Iterator[IPv4Address]:
    """Addresses from `start` upwards, then from the beginning; .0 and .255 are left out, they read like networks."""
    first, last = int(network[1]), int(network[-2])
    begin = min(max(int(start), first), last)
    for number in chain(range(begin, last + 1), range(first, begin)):
        if number & 0xFF not in (0, 0xFF):
            yield IPv4Address(number)


def _proved_missing(root: Path) -> bool:
    """Only a definite "no such file" frees a claim; a directory we may not look into is somebody's."""
    try:
        root.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False

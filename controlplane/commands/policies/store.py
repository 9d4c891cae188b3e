"""The policies in force. They are read again when a file changes; a broken file never opens anything.

The last good set stays in force, and `fault` says what is wrong. A server that has never read a good set refuses every
change until the files are mended.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controlplane.commands.policies.files import PoliciesUnreadable, parse, read_texts, try_out
from controlplane.commands.policies.model import Policy
from providers.errors import PlaceUnknown
from providers.price_list import PriceList

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """`is_good` False: nothing was ever read that made sense, so nothing may change."""

    policies: tuple[Policy, ...] = ()
    fault: str = ""
    is_good: bool = True


class Policies(Protocol):
    """Whoever knows the policies in force; `PolicyStore` is one."""

    def current(self) -> PolicySet: ...

    def prices(self) -> PriceList: ...


class NoPolicies:
    """`Policies` of an installation without any."""

    def current(self) -> PolicySet:
        return PolicySet()

    def prices(self) -> PriceList:
        return PriceList()


@dataclass(slots=True)
class PolicyStore:
    """`Policies` of the home's folder. Safe to ask from many threads; each asks the disk: a change counts at once."""

    folder: Path
    read_prices: Callable[[], PriceList] = PriceList
    _known: PolicySet = field(default_factory=lambda: PolicySet(is_good=False, fault="they were not read yet"))
    _texts: dict[str, str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self) -> PolicySet:
        with self._lock:
            try:
                texts = read_texts(self.folder)
                if self._is_gone(texts):
                    raise PoliciesUnreadable([f"{self.folder.name}/ is gone: to lift all policies, leave it empty"])
                if texts != self._texts:
                    self._known, self._texts = PolicySet(self._read(texts)), texts
                elif self._known.fault:
                    self._known = PolicySet(self._known.policies)
            except PoliciesUnreadable as broken:
                fault = "; ".join(broken.problems[:3])
                if fault != self._known.fault:
                    _log.error("policies: %s", fault)
                self._known = PolicySet(self._known.policies, fault, self._known.is_good)
            return self._known

    def prices(self) -> PriceList:
        """See Policies. A `catalog.yaml` that makes no sense leaves every price unknown: a person is asked."""
        try:
            return self.read_prices()
        except PlaceUnknown:
            return PriceList()

    def _is_gone(self, texts: dict[str, str]) -> bool:
        return not texts and bool(self._known.policies) and not self.folder.is_dir()

    def _read(self, texts: dict[str, str]) -> tuple[Policy, ...]:
        policies = parse(texts)
        failed = [t for t in try_out(policies, self.prices()) if t.fault]
        if failed:
            raise PoliciesUnreadable([f"policy `{t.policy}` fails its own test `{t.test}`: {t.fault}" for t in failed])
        return policies

"""A DNS zone in memory, as strict as the real ones: a change that does not find what it read is refused."""

from dataclasses import dataclass, field

from providers.dns.zone import NOTHING, HeldName, changed_meanwhile
from providers.errors import ProviderError


@dataclass
class FakeZone:
    """`failures` are raised by the next calls, one each; `calls` is what was asked. `lags`: another server of the zone
    has not heard of the last change."""

    name: str
    held: dict[str, HeldName] = field(default_factory=dict)
    failures: list[ProviderError] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    lags: bool = False

    def read(self, name: str) -> HeldName:
        self._called(f"read {name}")
        return self.held.get(name, NOTHING)

    def replace(self, name: str, before: HeldName, after: HeldName) -> None:
        self._called(f"replace {name}")
        if self.held.get(name, NOTHING) != before:
            raise changed_meanwhile(name)
        if after == NOTHING:
            self.held.pop(name, None)
        else:
            self.held[name] = after

    def tells_everywhere(self, name: str, held: HeldName) -> bool:
        self._called(f"everywhere {name}")
        return not self.lags and self.held.get(name, NOTHING) == held

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if self.failures:
            raise self.failures.pop(0)

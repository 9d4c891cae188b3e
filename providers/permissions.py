"""What several calls need together, of each cloud's own table of permissions."""

from collections.abc import Iterable, Mapping


def of_all(calls: Mapping[str, tuple[str, ...]], beside: Iterable[str] = ()) -> tuple[str, ...]:
    """Every permission that any of these calls needs, and those `beside`, once each and sorted."""
    return tuple(sorted({*beside, *(one for several in calls.values() for one in several)}))

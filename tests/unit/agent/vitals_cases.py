"""Vitals for tests, from their parts' fields side by side: `metadata_lag_ms` is `lag_ms` of the metadata."""

from dataclasses import fields, replace

from agent.health.vitals import JvmVitals, MetadataVitals, Vitals, ZooKeeperVitals

_PARTS = {"jvm": JvmVitals, "metadata": MetadataVitals, "zookeeper": ZooKeeperVitals}
_PLACES = {f.name: (part, f.name) for part, kind in _PARTS.items() for f in fields(kind)} | {
    **{f"metadata_{name}": ("metadata", name) for name in ("lag_ms", "errors", "applied", "log_end")},
    "zookeeper_session": ("zookeeper", "session"),
}


def changed(vitals: Vitals, **told: object) -> Vitals:
    """The same with these fields, whichever part they are of."""
    for name, value in told.items():
        part, own = _PLACES.get(name, ("", name))
        change = {part: replace(getattr(vitals, part), **{own: value})} if part else {own: value}
        vitals = replace(vitals, **change)
    return vitals


def told_of(vitals: Vitals, name: str) -> object:
    """The value of a field, whichever part it is of."""
    part, own = _PLACES.get(name, ("", name))
    return getattr(getattr(vitals, part) if part else vitals, own)

"""Finalising feature levels after an upgrade: which one next, and who is in the way. Pure.

`kafka-features.sh upgrade --release-version` bumps everything at once; features are driven one by one here,
each asked with validate-only first, so a refusal stops before anything changed. There is no way back from
most levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.observed import FeatureSeen, KafkaSnapshot

METADATA = "metadata.version"
KRAFT = "kraft.version"
"""0: a static quorum, named in every member's file. 1: voters are in its log, with directories, and may change."""

_NONE_YET = {"eligible.leader.replicas.version": 0, "share.version": 0, "streams.version": 0}

RELEASE_LEVELS: Mapping[int, Mapping[str, int]] = {
    21: {"transaction.version": 0, "group.version": 0, **_NONE_YET},  # 3.9, where a migration from ZooKeeper ends
    25: _NONE_YET,
    27: {**_NONE_YET, "eligible.leader.replicas.version": 1},
    29: {"eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1},
    30: {"eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1},
}
"""Levels a release turns on, by its metadata.version (`StorageTool version-mapping`, 4.1.1, 4.2.0 and 4.3.0, all of
which also take 3.9 and 4.0; held to them by tests/kafka/test_live_feature_levels.py). A broker may support more: share
groups of 4.1 are a preview that level 1 would switch on for good."""

_COMMON = {KRAFT: 1, "transaction.version": 2, "group.version": 1}
_METADATA_OF = {"3.9": 21, "4.0": 25, "4.1": 27, "4.2": 29, "4.3": 30}


@dataclass(frozen=True, slots=True)
class FeatureStep:
    """Ask with validate-only, then finalise."""

    name: str
    level: int
    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """Nothing can be finalised yet. `node` is who is in the way, None when Kafka does not name it."""

    reason: str
    node: int | None = None


def metadata_level_of(version: str) -> int:
    """metadata.version of a Kafka release, e.g. 27 for "4.1.1". Raises ValueError for a release not in the
    table."""
    release = ".".join(version.split(".")[:2])
    if release not in _METADATA_OF:
        known = ", ".join(sorted(_METADATA_OF))
        raise ValueError(
            f"no feature levels are known for Kafka {version} (known: {known}): add its row to features.py"
        )
    return _METADATA_OF[release]


def release_levels(metadata_level: int) -> dict[str, int]:
    """Levels of the features beside metadata.version that belong to a release, by its metadata.version."""
    return {**_COMMON, **RELEASE_LEVELS.get(metadata_level, {})}


def is_static(snapshot: KafkaSnapshot) -> bool:
    """Whether the quorum is one as before KIP-853: every member's file names its voters, and none can change."""
    kraft = snapshot.features.get(KRAFT)
    return snapshot.mode == "kraft" and (kraft is None or kraft.finalised < 1)


def next_feature_step(snapshot: KafkaSnapshot, target_metadata_level: int) -> FeatureStep | Blocked | None:
    """The next level to finalise: metadata.version first, as others depend on it, then the others by name.

    None when all that belongs to the target release is finalised. Blocked when a live broker supports less;
    controllers are known only through Kafka's answer to validate-only.
    """
    metadata = snapshot.features.get(METADATA)
    if metadata is None:
        return Blocked(f"no live broker tells {METADATA}: is this a KRaft cluster?")
    if metadata.finalised < target_metadata_level:
        return _step(METADATA, metadata, target_metadata_level)
    wanted = release_levels(target_metadata_level)
    for name in sorted(set(snapshot.features) - {METADATA}):
        feature = snapshot.features[name]
        level = wanted.get(name, feature.finalised)
        if feature.finalised < level:
            return _step(name, feature, level)
    return None


def _step(name: str, feature: FeatureSeen, level: int) -> FeatureStep | Blocked:
    if feature.max_supported < level:
        nodes = ", ".join(f"broker {b}" for b in feature.limited_by) or "every live broker"
        return Blocked(
            f"{name} {level} is wanted, {nodes} supports only {feature.max_supported}: roll to the new version first",
            feature.limited_by[0] if feature.limited_by else None,
        )
    return FeatureStep(name, level, f"{name} is finalised at {feature.finalised}, the target release has {level}")

"""Rules about Kafka itself: versions, properties, and replication that the pools can carry."""

from collections.abc import Iterator, Mapping

from events.quantities import counted
from events.spec import problems as p
from events.spec.fields import FieldClass
from events.spec.model import KafkaSection, Pool
from events.spec.pool_properties import of_all_because
from events.spec.positions import Positions
from events.spec.problems import Path, Problem, shorten
from events.spec.properties import SUCCESSORS, owned_because, property_class, unsafe_because
from events.spec.releases import (
    IN_ZOOKEEPER_MODE,
    MIGRATES,
    SUPPORTED,
    as_numbers,
    is_of_migrations,
    is_supported,
    levels,
    lines,
    metadata_level_of,
    rolled_here,
)
from events.spec.setting_synonyms import time_setting
from events.spec.setting_table import (
    Setting,
    UpdateMode,
    came_with,
    has_table,
    lines_with,
    newest_known,
    release_line,
    settings_of,
)
from events.spec.setting_values import unreadable_because
from events.spec.settings import DEFAULT_RF, REPLICATION_KEYS, as_integer, broker_count, shape_defaults, zone_count
from events.spec.suggestions import did_you_mean

_KAFKA: Path = ("spec", "kafka")
_CONFIG: Path = (*_KAFKA, "config")
_UNCLEAN = "unclean.leader.election.enable"


def kafka_problems(kafka: KafkaSection, where: Positions) -> Iterator[Problem]:
    """Everything wrong with the Kafka section alone."""
    yield from _version(kafka, where)
    yield from _metadata_pin(kafka, where)
    for key, value in kafka.config.items():
        yield from _property(key, value, kafka.version, where, _CONFIG)
    if kafka.config.get(_UNCLEAN, "").lower() == "true":
        message = f"`{_UNCLEAN}` is on: a replica that lags may lead, and records are lost"
        fix = "Remove it, or leave it if losing acknowledged records is acceptable here."
        yield where.problem(p.UNCLEAN, (*_CONFIG, _UNCLEAN), message, fix)


def pool_config_problems(kafka: KafkaSection, pools: Mapping[int, Pool], where: Positions) -> Iterator[Problem]:
    """Everything wrong with the properties of single pools, and with what may be adopted of all of them."""
    for index, pool in pools.items():
        base: Path = ("spec", "pools", index, "config")
        for key, value in pool.config.items():
            found = list(_property(key, value, kafka.version, where, base))
            yield from found or _pool_property(key, pool, kafka.version, where, base)
    yield from _adopted(kafka, pools, where)


def _pool_property(key: str, pool: Pool, version: str, where: Positions, base: Path) -> Iterator[Problem]:
    """A property that is sound, and not one pool's to say."""
    shown, why = f"`{shorten(key)}`", of_all_because(key)
    if not pool.is_broker and not pool.is_controller:
        message = f"pool `{pool.name}` has ZooKeeper servers, which know no Kafka property {shown}"
        yield where.problem(p.POOL_PROPERTY, (*base, key), message, "Remove it.", key=True)
    elif why is not None:
        message = f"{shown} is one for all pools: {why}"
        yield where.problem(p.POOL_PROPERTY, (*base, key), message, "Write it into spec.kafka.config.", key=True)
    elif not pool.is_broker and property_class(key, version) is FieldClass.DYNAMIC:
        message = f"Kafka takes {shown} live, and what is live for the cluster wins over the file of a controller"
        yield where.problem(p.POOL_PROPERTY, (*base, key), message, "Write it into spec.kafka.config.", key=True)


def replication_problems(kafka: KafkaSection, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Replication factors and min ISRs, as they will be in effect, against the pools that have to carry them."""
    if any(pool.is_broker for pool in pools):
        yield from _replication(kafka, pools, where)


def _version(kafka: KafkaSection, where: Positions) -> Iterator[Problem]:
    version, path = kafka.version, (*_KAFKA, "version")
    if not is_supported(version, kafka.mode) and not is_migrated(kafka):
        newest = max(rolled_here(kafka.mode), key=as_numbers)
        yield where.problem(p.KAFKA_VERSION, path, _why_not(kafka), f"Use {newest}{_or_else(kafka)}.")
    elif version not in (*SUPPORTED, *IN_ZOOKEEPER_MODE):
        line = metadata_level_of(version)
        rolled = next(v for v in (*SUPPORTED, *IN_ZOOKEEPER_MODE) if metadata_level_of(v) == line)
        message = f"Kafka {version} was never rolled by this release of Kedge; of line {line} it was {rolled}"
        fix = f"Try it in a cluster whose data may be lost first, or use {rolled}."
        yield where.problem(p.NEVER_ROLLED, path, message, fix)


def is_migrated(kafka: KafkaSection) -> bool:
    """Whether it is what a migration from ZooKeeper leads to; that no new cluster is asks who knows the clusters."""
    return kafka.mode == "kraft" and is_of_migrations(kafka.version)


def _why_not(kafka: KafkaSection) -> str:
    known = ", ".join(f"{line}.x" for line in lines(kafka.mode))
    if kafka.mode == "zookeeper":
        new = ": Kafka 4 keeps its metadata itself" if as_numbers(kafka.version) >= (4,) else ""
        return f"Kafka {kafka.version} is not supported in mode `zookeeper`{new}; supported there: {known}"
    older = " or ".join(f"{line}.x" for line in lines("zookeeper"))
    needs = f" (versions below 4 need `mode: zookeeper`, with {older})"
    old = needs if as_numbers(kafka.version) < (4,) else ""
    return f"Kafka {kafka.version} is not supported{old}; supported: {known}"


def _or_else(kafka: KafkaSection) -> str:
    if kafka.mode == "kraft" and is_supported(kafka.version, "zookeeper"):
        return ", or write `mode: zookeeper`; docs/zookeeper.md tells of migrating from there"
    return ", or remove `mode`" if kafka.mode == "zookeeper" and is_supported(kafka.version, "kraft") else ""


def _metadata_pin(kafka: KafkaSection, where: Positions) -> Iterator[Problem]:
    pin, version = kafka.metadata_version, kafka.version
    if pin is None:
        return
    path = (*_KAFKA, "metadataVersion")
    known = [metadata_level_of(MIGRATES)] if is_migrated(kafka) else levels(kafka.mode)
    fitting = [level for level in known if as_numbers(level) <= as_numbers(metadata_level_of(version))]
    fix = f"Use {' or '.join(fitting)}, or remove the pin." if fitting else "Remove the pin."
    if as_numbers(pin) > as_numbers(metadata_level_of(version)):
        message = f"metadata level {pin} is newer than Kafka {version}, which cannot know it"
        yield where.problem(p.METADATA_PIN, path, message, fix)
    elif pin not in known:
        message = f"metadata level {pin} is not supported; supported: {', '.join(known)}"
        yield where.problem(p.METADATA_PIN, path, message, fix)


def _adopted(kafka: KafkaSection, pools: Mapping[int, Pool], where: Positions) -> Iterator[Problem]:
    """What may be adopted: a property the spec sets, which is what brokers are held to, and which Kafka takes live."""
    path: Path = (*_KAFKA, "adopt")
    known = settings_of(kafka.version) if has_table(kafka.version) else {}
    for index, key in enumerate(kafka.adopt):
        shown, setting = f"`{shorten(key)}`", known.get(key)
        if key in kafka.adopt[:index]:
            yield where.problem(p.REPEATED, (*path, index), f"{shown} is listed twice", "List it once.")
        elif key not in kafka.config and all(key not in pool.config for pool in pools.values()):
            message = f"`config` does not set {shown}: what it does not set is left as it is on every broker anyway"
            yield where.problem(p.ADOPTED, (*path, index), message, "Remove it, or set it in `config`.")
        elif setting is not None and setting.update_mode is UpdateMode.READ_ONLY and time_setting(key) is None:
            message = f"Kafka reads {shown} when it starts: nobody can change it on a running broker"
            yield where.problem(p.ADOPTED, (*path, index), message, "Remove it.")


def _property(key: str, value: str, version: str, where: Positions, base: Path) -> Iterator[Problem]:
    """At most one problem for each property: the first reason is the one to mend."""
    path = (*base, key)
    shown = shorten(key)
    owned, unsafe = owned_because(key), unsafe_because(key, value)
    known = settings_of(version).get(key) if has_table(version) else newest_known(key)
    if owned is not None:
        message = f"`{shown}` is set by Kedge: {owned}"
        yield where.problem(p.OWNED_PROPERTY, path, message, "Remove it.", key=True)
    elif unsafe is not None:
        message = f"`{shown}` is refused: {unsafe}"
        yield where.problem(p.UNSAFE_PROPERTY, path, message, "Remove it.", key=True)
    elif known is None:
        yield _unknown(key, version, where, path)
    else:
        yield from _value(known, value, version, where, path)


def _unknown(key: str, version: str, where: Positions, path: Path) -> Problem:
    """No broker of that version knows it: it is gone, not there yet, or was never there."""
    shown = shorten(key)
    lines, since = lines_with(key), came_with(key)
    if lines and as_numbers(lines[-1]) < as_numbers(release_line(version)):
        message = f"Kafka {version} has no property `{shown}` any more; {lines[-1]} was the last to have it"
        return where.problem(p.REMOVED_PROPERTY, path, message, f"{_instead(key)} before the upgrade.", key=True)
    if since is not None:
        message = f"Kafka {version} has no property `{shown}`; it came with {since}"
        fix = f"Remove it, or raise the version to {since} first."
        return where.problem(p.UNKNOWN_PROPERTY, path, message, fix, key=True)
    message = f"Kafka has no property `{shown}`; it would ignore it"
    fix = f"{did_you_mean(key, settings_of(_judged_by(version)))}Correct the name, or remove it."
    return where.problem(p.UNKNOWN_PROPERTY, path, message, fix, key=True)


def _value(setting: Setting, value: str, version: str, where: Positions, path: Path) -> Iterator[Problem]:
    shown = f"`{setting.name}`"
    unreadable = unreadable_because(setting, value)
    if unreadable is not None:
        message = f"{shown} is `{shorten(value)}`, but {unreadable.why}"
        meant = f"Did you mean `{unreadable.meant}`? " if unreadable.meant else ""
        yield where.problem(p.PROPERTY_VALUE, path, message, f"{meant}Correct the value.")
    elif setting.deprecated:
        message = f"{shown} is deprecated in Kafka {version}: it still works, and a later version will not know it"
        yield where.problem(p.DEPRECATED_PROPERTY, path, message, f"{_instead(setting.name)}.", key=True)


def _instead(key: str) -> str:
    return f"Use {SUCCESSORS[key]} instead of it" if key in SUCCESSORS else "Remove it"


def _judged_by(version: str) -> str:
    """The version whose names are offered: that of the spec, or the newest one if its own has no table."""
    return version if has_table(version) else max(SUPPORTED, key=as_numbers)


def _replication(kafka: KafkaSection, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Replication factors and min ISRs as they will be in effect, those of Kedge's defaults included."""
    effective = {**shape_defaults(kafka, pools), **kafka.config}
    reported: set[str] = set()
    for rf_key, isr_key in REPLICATION_KEYS.items():
        factor, min_isr = as_integer(effective[rf_key]), as_integer(effective[isr_key])
        if factor is None:
            continue  # reported as unreadable
        yield from _factor(rf_key, factor, kafka, pools, where)
        said = rf_key in kafka.config or isr_key in kafka.config
        if said and min_isr is not None and factor >= 1 and isr_key not in reported:
            found = list(_min_isr((rf_key, factor), (isr_key, min_isr), kafka, where))
            reported.update([isr_key] if found else [])
            yield from found


def _factor(key: str, factor: int, kafka: KafkaSection, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    path, said = _origin(key, kafka, pools), _by_default(key, kafka)
    brokers, zones = broker_count(pools), zone_count(pools)
    if factor < 1 and key == DEFAULT_RF:  # the only one whose range Kafka does not name itself
        message = f"`{key}` is {factor}, but must be at least 1"
        yield where.problem(p.PROPERTY_VALUE, path, message, "Correct the value.")
    elif factor > brokers:
        message = (
            f"`{key}` is {factor}{said}, but the pools hold {counted(brokers, 'broker')}; each replica needs its own"
        )
        fix = f"Use at most {brokers}, or add brokers."
        yield where.problem(p.RF_OVER_BROKERS, path, message, fix)
    elif factor > zones:
        message = (
            f"`{key}` is {factor}{said}, but brokers stand in {counted(zones, 'zone')}; "
            "two replicas in one zone would be lost together"
        )
        fix = f"Add zones, or write `{key}: {zones}` into spec.kafka.config."
        yield where.problem(p.RF_OVER_ZONES, path, message, fix)
    elif factor == 1 and (key == DEFAULT_RF or key in kafka.config):
        message = f"`{key}` is 1{said}: there is one copy only, and a lost disk is lost data"
        fix = "Use three brokers in three zones, or leave it if the data may be lost."
        yield where.problem(p.SINGLE_COPY, path, message, fix)


def _min_isr(rf: tuple[str, int], isr: tuple[str, int], kafka: KafkaSection, where: Positions) -> Iterator[Problem]:
    """Min ISR has to leave room for one replica to be away; with one replica there is no room to leave."""
    (rf_key, factor), (isr_key, min_isr) = rf, isr
    path = (*_CONFIG, isr_key if isr_key in kafka.config else rf_key)
    if min_isr >= factor and not min_isr == factor == 1:
        message = (
            f"`{isr_key}` is {min_isr}{_by_default(isr_key, kafka)} and `{rf_key}` is {factor}"
            f"{_by_default(rf_key, kafka)}: no replica may be away, so every roll would stop writes"
        )
        fix = f"Use a min ISR of at most {max(1, factor - 1)}, or raise `{rf_key}`."
        yield where.problem(p.MIN_ISR, path, message, fix)


def _by_default(key: str, kafka: KafkaSection) -> str:
    return "" if key in kafka.config else " by default"


def _origin(key: str, kafka: KafkaSection, pools: tuple[Pool, ...]) -> Path:
    """Where a replication factor comes from: its own line, or the zones that are too few for Kedge's default."""
    if key in kafka.config:
        return (*_CONFIG, key)
    index = next(index for index, pool in enumerate(pools) if pool.is_broker)
    return ("spec", "pools", index, "place", "zones")

"""From a cluster that others made to the spec that takes it on. Pure: what was read in, YAML out.

What Kafka does not tell is a comment and is in `unknown`; nothing is guessed. The text is read back by the rules of
every spec before anybody sees it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from controlplane.converger.steps.quorum.external import why_it_stays_static
from controlplane.kafka.features import KRAFT, METADATA, is_static
from controlplane.kafka.import_reader import ForeignCluster
from controlplane.kafka.settings_live import SettingSource
from controlplane.runtime.untrusted_text import on_one_line
from events.spec.document import load_documents
from events.spec.external_rules import JOINABLE_LISTENER
from events.spec.problems import shorten
from events.spec.properties import owned_because, unsafe_because
from events.spec.releases import SUPPORTED, KafkaRelease
from events.spec.setting_table import settings_of
from events.spec.setting_values import unreadable_because
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes

PLAINTEXT = "PLAINTEXT"
_PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""`SecurityProtocol` of Kafka."""
_GIVEN = (SettingSource.CLUSTER_LIVE, SettingSource.FILE)


_EMPTIED = (
    "  # Kedge's own brokers. To empty others' onto them: add a pool and apply; once it serves, take brokers",
    "  # off `external.brokers` and apply again (docs/import.md).",
)
_WATCHED = ("  # None of Kedge's: VMs could not join the cluster's own TLS, so it is watched (docs/import.md).",)


class ImportRefused(Exception):
    """Such a cluster is not taken on; the message says why, `next_step` what could be done."""

    def __init__(self, why: str, next_step: str) -> None:
        super().__init__(why)
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class ImportedSpec:
    """`text` is a whole spec file that the rules accept; `unknown` what only a person can tell."""

    text: str
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Settings:
    """`given` is the same on every broker and may stand in a spec; the rest, by why not, in words."""

    given: Mapping[str, str]
    differ: tuple[str, ...]
    own: tuple[str, ...]
    refused: tuple[str, ...]


def imported_spec(found: ForeignCluster, *, name: str, client_properties: str = "") -> ImportedSpec:
    """The spec; `client_properties` is what it calls those by which brokers are spoken to, "" for plaintext. Raises
    ImportRefused, with words, for a cluster that Kedge cannot work with."""
    seen = found.seen
    listener = _joining_listener(found, is_secured=bool(client_properties))
    release, unknown = _release(seen)
    settings = _settings(found, release.version)
    unknown = (*unknown, *_unknown(found, settings, listener, client_properties))
    text = "\n".join(
        [
            *(f"# {on_one_line(line)}" for line in _heading(seen, is_secured=bool(client_properties))),
            *(f"# unknown: {on_one_line(line)}" for line in unknown),
            "apiVersion: kedge/v1alpha1",
            "kind: KafkaCluster",
            "metadata:",
            f"  name: {name}",
            "spec:",
            "  kafka:",
            f"    version: {release.version}",
            *_config(settings),
            *_external(found, listener, client_properties),
            *(_WATCHED if client_properties else _EMPTIED),
            "  pools: []",
            "  deletionPolicy: retain",
            "",
        ]
    )
    _accepted(text)
    return ImportedSpec(text, unknown)


def _accepted(text: str) -> None:
    """Nobody wrote this spec: what its rules refuse is as the cluster has it, and the limit is Kedge's."""
    loaded = load_documents(text, file="import.yaml")
    if not loaded.ok:
        first = next(problem for problem in loaded.problems if problem.is_error)
        line = text.splitlines()[first.line - 1].strip()
        raise ImportRefused(
            f"Kedge has no way to write down what the cluster has: `{shorten(line)}` ({first.message})",
            "This is a limit of Kedge, nothing is wrong with the cluster: `kedge state export` reads it all the same. "
            "Tell those who make Kedge; docs/import.md has what is not there yet",
        )


def _joining_listener(found: ForeignCluster, *, is_secured: bool) -> str:
    """The listener brokers speak to one another at. Raises ImportRefused where that, or the quorum's, is not plaintext
    and no client properties say that the cluster is to be watched alone."""
    for broker in sorted(found.settings) if not is_secured else ():
        running = {name: setting.value or "" for name, setting in found.settings[broker].items()}
        protocols = _protocols(running.get("listener.security.protocol.map", ""))
        listener = _listener_of(running)
        quorum = running.get("controller.listener.names", "").split(",")[0].strip().upper()
        for one, whose in ((listener, "brokers speak to one another"), (quorum, "the quorum is spoken to")):
            # A broker that has no map of its own names its listeners by their protocols (Kafka's own default).
            protocol = protocols.get(one, one if one in _PROTOCOLS else PLAINTEXT)
            if one and protocol != PLAINTEXT:
                raise ImportRefused(
                    f"broker {broker}: {whose} at listener {one}, which is {protocol}, not plaintext",
                    "name how it is spoken to, `--client-properties FILE`: it is watched then (docs/import.md)",
                )
    names = {_listener_of({n: s.value for n, s in settings.items()}) for settings in found.settings.values()}
    if len(names) > 1:
        raise ImportRefused(
            f"brokers speak to one another at listeners of several names: {', '.join(sorted(names))}",
            "import it once its brokers agree",
        )
    return names.pop() if names else PLAINTEXT


def _listener_of(settings: Mapping[str, str | None]) -> str:
    """In capitals, as Kafka compares names of listeners (`ListenerName.normalised`)."""
    for key in ("inter.broker.listener.name", "security.inter.broker.protocol"):
        value = (settings.get(key) or "").strip()
        if value:
            return value.upper()
    return PLAINTEXT


def _protocols(text: str) -> Mapping[str, str]:
    """By the listener's name in capitals; protocols are read in any case, too (`SecurityProtocol.forName`)."""
    pairs = (entry.partition(":") for entry in text.split(",") if entry.strip())
    return {listener.strip().upper(): protocol.strip().upper() for listener, _, protocol in pairs}


def _release(seen: KafkaSnapshot) -> tuple[KafkaRelease, tuple[str, ...]]:
    """What pools would run: the newest release that is no newer than the brokers there. Raises ImportRefused."""
    metadata = seen.features.get(METADATA)
    if metadata is None or not metadata.finalised:
        raise ImportRefused(f"no live broker tells {METADATA}: this is not a KRaft cluster", "see docs/import.md")
    oldest, newest = min(SUPPORTED.values(), key=_level), max(SUPPORTED.values(), key=_level)
    if metadata.finalised > newest.level:
        raise ImportRefused(
            f"{METADATA} {metadata.finalised} is finalised there, and the newest Kafka of this release is "
            f"{newest.version}, which reads up to {newest.level}",
            "import it by a release of Kedge that has that Kafka",
        )
    fitting = [r for r in SUPPORTED.values() if metadata.finalised <= r.level <= metadata.max_supported]
    release = max(fitting, key=_level, default=next(r for r in (oldest, newest) if r.level >= metadata.finalised))
    comment = (
        f"which patch release its brokers run; they support {METADATA} up to {metadata.max_supported}. "
        f"`version` is what Kedge's own brokers would run"
    )
    if release.level > metadata.max_supported:
        comment += f", and is newer than theirs (level {release.level})"
    return release, (comment,)


def _level(release: KafkaRelease) -> int:
    return release.level


def _settings(found: ForeignCluster, version: str) -> _Settings:
    """Values that somebody gave, in a file or live. Kafka's own defaults are left to Kafka."""
    by_name: dict[str, dict[int, str]] = {}
    own: list[str] = []
    for broker, running in sorted(found.settings.items()):
        for name, setting in running.items():
            if setting.source is SettingSource.BROKER_LIVE:
                own.append(f"{name} (broker {broker})")
            elif setting.source in _GIVEN and owned_because(name) is None:
                by_name.setdefault(name, {})[broker] = "" if setting.is_sensitive else setting.value or ""
    given, differ, refused = {}, [], []
    for name, values in sorted(by_name.items()):
        if len(set(values.values())) > 1 or len(values) < len(found.settings):
            differ.append(name)
            continue
        value = next(iter(values.values()))
        known = settings_of(version).get(name)
        if known is None or unsafe_because(name, value) or unreadable_because(known, value):
            refused.append(name)
        else:
            given[name] = value
    return _Settings(given, tuple(differ), tuple(sorted(own)), tuple(refused))


def _heading(seen: KafkaSnapshot, *, is_secured: bool) -> Iterator[str]:
    """What the cluster is, in a few lines: no part of the spec."""
    yield f"Cluster {seen.cluster_id}, read {seen.at:%Y-%m-%d %H:%M} UTC from its own brokers."
    topics = {p.name.topic for p in seen.partitions}
    factors = Counter(len(p.target) for p in seen.partitions)
    factors_text = ", ".join(f"{count} with {rf} replicas" for rf, count in sorted(factors.items()))
    yield f"{len(topics)} topics, {len(seen.partitions)} partitions ({factors_text or 'none'})."
    isrs = Counter(p.configured_min_isr for p in seen.partitions)
    if isrs:
        factors_text = ", ".join(f"{isr} on {count} partitions" for isr, count in sorted(isrs.items()))
        yield f"min.insync.replicas: {factors_text}."
    for broker, disk in sorted(seen.log_dirs.items()):
        yield f"broker {broker} holds {human_bytes(disk.used_bytes)} of {human_bytes(disk.total_bytes)}."
    levels = ", ".join(f"{name} {f.finalised}" for name, f in sorted(seen.features.items()) if f.finalised)
    yield f"Finalised: {levels}."
    if not is_static(seen) or is_secured:
        return
    yield f"Its quorum is static ({KRAFT} 0): it can be watched, and takes no pool before it is dynamic."
    impossible = why_it_stays_static(seen)
    if impossible:
        yield f"{impossible} (docs/import.md)."
    else:
        yield "`quorum: dynamic` under `external` asks Kedge for that; Kafka has no way back from it (docs/import.md)."


def _unknown(found: ForeignCluster, settings: _Settings, listener: str, client_properties: str) -> Iterator[str]:
    seen = found.seen
    yield "who owns it: write metadata.owner"
    if client_properties:
        yield (
            f"whether the server has the client properties `{client_properties}`: its settings name the file, mode "
            f"0600, in [kafka.client_properties] (docs/import.md)"
        )
    else:
        yield "how much the machines there carry: write rollout.throttleMibPerS with the first pool"
    silent = sorted(set(seen.brokers) - set(found.settings))
    if silent:
        yield f"what {_ids('broker', silent)} run with: they do not serve now"
    full = sorted(set(seen.live_brokers()) - set(seen.log_dirs))
    if full:
        yield f"how full the disks of {_ids('broker', full)} are: they did not tell"
    if settings.differ:
        yield f"which value is meant of settings that differ from broker to broker: {', '.join(settings.differ)}"
    if settings.own:
        yield f"whether settings of single brokers are meant for Kedge's, too: {', '.join(settings.own)}"
    if settings.refused:
        yield f"settings that no spec may hold, or that the version does not have: {', '.join(settings.refused)}"
    if listener != JOINABLE_LISTENER and not client_properties:
        yield (
            f"how brokers of Kedge would be found: those there speak at {listener}, Kedge's at {JOINABLE_LISTENER}; "
            "until they have that one, too, no pool can be added"
        )


def _ids(what: str, ids: Sequence[int]) -> str:
    return f"{what} {', '.join(map(str, ids))}"


def _config(settings: _Settings) -> Iterator[str]:
    if settings.given:
        yield "    config:"
        yield from (f"      {_quoted(name)}: {_quoted(value)}" for name, value in settings.given.items())


def _external(found: ForeignCluster, listener: str, client_properties: str) -> Iterator[str]:
    seen = found.seen
    voters = sorted((m for m in seen.quorum.members if m.is_voter), key=lambda m: m.id)
    missing = [v.id for v in voters if v.id not in found.controllers]
    if missing:
        raise ImportRefused(
            f"no broker reports the address of {_ids('controller', missing)}: its Kafka is older than 3.9",
            "upgrade it first (docs/import.md)",
        )
    yield "  external:"
    yield f"    clusterId: {_quoted(seen.cluster_id)}"
    yield f"    listener: {_quoted(listener)}"
    if client_properties:
        yield f"    clientProperties: {_quoted(client_properties)}"
    yield "    controllers:"
    for voter in voters:
        at = found.controllers[voter.id]
        directory = "" if set(voter.directory_id) == {"A"} else f", directoryId: {_quoted(voter.directory_id)}"
        yield f"      - {{id: {voter.id}, host: {_quoted(at.host)}, port: {at.port}{directory}}}"
    yield "    brokers:"
    for broker in sorted(seen.brokers.values(), key=lambda b: b.id):
        rack = f", rack: {_quoted(broker.rack)}" if broker.rack else ""
        yield f"      - {{id: {broker.id}, host: {_quoted(broker.host)}, port: {broker.port}{rack}}}"


def _quoted(text: str) -> str:
    """A YAML double-quoted scalar: JSON's strings are a part of those, but for its pairs of half characters."""
    return json.dumps(text, ensure_ascii=False)

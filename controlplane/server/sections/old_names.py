"""Settings had one flat list of names before there were sections. Those are read for one era more."""

import json
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PREFIX = "KEDGE_"

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "process": {name: name for name in ("only", "host", "port", "graceful_stop_s", "log_level", "log_format")},
    "database": {"database_url": "url", "lease_term_s": "lease_term_s", "query_limit_s": "query_limit_s"},
    "portal": {f"portal_{name}": name for name in ("host", "port", "names", "cert", "key")},
    "agents": {
        "agent_host": "host",
        "agent_port": "port",
        "agent_name": "name",
        "credential_life_s": "credential_life_s",
        "agents_soak_s": "soak_s",
        "agents_poll_s": "poll_s",
        "agent_signing_key": "signing_key",
    },
    "terraform": {
        **{f"terraform_{name}": name for name in ("modules", "mirror", "state", "state_versions")},
        "terraform_threads": "runs",
    },
    "loop": {
        name: name
        for name in (
            *("tick_interval_s", "rest_s", "loss_grace_s", "workers"),
            *("max_rolling", "max_surge_per_account", "max_cures_per_day"),
        )
    },
    "planner": {name: name for name in ("spark_master", "require_spark")},
    "telemetry": {
        "metrics": "metrics",
        "logs": "logs",
        "metrics_lake": "lake",
        "anomalies_poll_s": "anomalies_poll_s",
        "slow_window_s": "slow_window_s",
    },
    "kafka": {"kafka_dir": "dir", "watch_groups": "watch_groups", "groups_poll_s": "groups_poll_s"},
    "clouds": {
        name: name
        for name in (
            *("server_addresses", "cost_tags", "audits_at_once", "audit_every_s", "audit_poll_s", "dns_poll_s"),
            *("enforce_disk", "vm_network"),
        )
    },
    "allow": {"egress_allow": "calls", "external_allow": "brokers", "git_local_paths": "git_paths"},
}

SECTIONS = frozenset(_SECTIONS)

NEW_NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {old: (section, new) for section, names in _SECTIONS.items() for old, new in names.items()}
)
"""Section and key by the flat name of before."""

_LISTS = frozenset(
    ("portal_names", "server_addresses", "cost_tags", "egress_allow", "external_allow", "git_local_paths")
)


class NamedTwice(ValueError):
    """A setting stands there by its old and by its new name. What now: give up; a person removes the old one."""


def in_sections(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with every flat name in its section. Raises NamedTwice."""
    found = {name: value for name, value in given.items() if name not in NEW_NAMES}
    for old in given.keys() & NEW_NAMES.keys():
        section, new = NEW_NAMES[old]
        there = dict(found.get(section) or {})
        if new in there:
            raise NamedTwice(f"{old} and {section}.{new} are one setting, and both are set: remove {old}")
        found[section] = {**there, new: given[old]}
    return found


def old_variables() -> dict[str, Any]:
    """What the environment says by flat names, in sections. Raises ValueError for a list that is none in JSON."""
    given: dict[str, Any] = {}
    for old in NEW_NAMES:
        text = os.environ.get(f"{PREFIX}{old.upper()}")
        if text is not None:
            given[old] = json.loads(text) if old in _LISTS else text
    return in_sections(given)


def variable_of(section: str, key: str) -> str:
    """The variable of a setting."""
    return f"{PREFIX}{section.upper()}__{key.upper()}"


def old_names_among(given: Mapping[str, Any]) -> list[str]:
    """Sentences for the log: the flat names in use, of a file and of the environment, each with the new one."""
    found = [
        f"the setting `{old}` is called `{section}.{new}` by now: a line `{new} = ...` under `[{section}]`"
        for old, (section, new) in NEW_NAMES.items()
        if old in given
    ]
    found += [
        f"the variable {PREFIX}{old.upper()} is called {variable_of(section, new)} by now"
        for old, (section, new) in NEW_NAMES.items()
        if f"{PREFIX}{old.upper()}" in os.environ
    ]
    return found

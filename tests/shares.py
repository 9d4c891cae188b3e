"""What each area of Kedge takes of `make test`: durations of tests as pytest wrote them, summed by the tests' modules.

A stage's time is split over its tests as their durations are to each other: two at a time (`-n 2`) they take half of
their sum, and what a stage needs beside its tests (starting, collecting) is everybody's.
"""

from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

REST = "rest"
LIMITS_S: Mapping[str, float] = {
    "clouds": 300,
    "lifecycle": 240,
    "healing": 240,
    "kafka's listeners": 240,
    "ways in": 240,
}

_CLOUDS = ("aws", "azure", "digitalocean", "google", "hetzner", "upcloud", "cloud")

# Below `tests/`; `*` stands for folders too. What none takes is `rest`: events, plans, Spark, agents, the main job.
PATTERNS: Mapping[str, tuple[str, ...]] = {
    "clouds": (
        "terraform/*",
        "unit/providers/*",
        "unit/controlplane/background/dns/*",
        "unit/controlplane/background/drift/*",
        "unit/controlplane/fleet/networks/*",
        *(f"boot/test_{name}.py" for name in ("debian_boots", "default_route", "living_hetzner")),
        *(f"contract/test_{cloud}_*" for cloud in _CLOUDS),
        *(f"unit/controlplane/commands/test_{name}_admission.py" for name in ("architecture", "aws", "azure")),
        *(
            f"unit/controlplane/commands/test_{name}_admission.py"
            for name in ("digitalocean", "hetzner", "ipv6", "spot")
        ),
        *(f"contract/test_{name}.py" for name in ("boot_keys", "dns_zone", "machines_refresh", "price_readers")),
        *(f"contract/test_{name}.py" for name in ("served_states", "state_locks", "state_move", "state_versions")),
        *(f"contract/test_{name}.py" for name in ("state_backup", "terraform_states")),
        *(f"sim/test_{name}.py" for name in ("cloud_mishaps", "cloud_seeds", "network_crashes", "place_seeds")),
        *(f"sequences/test_golden_{name}.py" for name in ("maintenance", "networks", "places")),
        *(f"e2e/test_{name}.py" for name in ("names_in_dns", "places")),
        *(f"unit/controlplane/commands/test_{name}.py" for name in ("costs", "rack_warnings")),
        "unit/controlplane/cluster/test_places.py",
        "unit/controlplane/cluster/test_traffic.py",
        *(
            f"unit/controlplane/converger/*test_{name}.py"
            for name in ("announcements", "capacity", "consoles", "orphans")
        ),
        *(f"unit/controlplane/converger/*test_{name}.py" for name in ("listed_inventory", "missing_volumes")),
        *(f"unit/events/test_spec_{name}.py" for name in ("domains", "ipv6", "network_rules", "place", "spot")),
        "unit/workshop/test_standin_schemas.py",
    ),
    "lifecycle": (
        "unit/controlplane/fleet/images/*",
        "unit/controlplane/kafka/zookeeper/*",
        "unit/planner/rollout/*",
        *(f"e2e/test_{name}.py" for name in ("agent_upgrades", "controllers_move", "handovers", "migration", "quorum")),
        *(f"e2e/test_{name}.py" for name in ("node_requests", "restarts_together", "settings_change", "several_disks")),
        *(f"e2e/test_{name}.py" for name in ("change_of_mind", "cordoned_drain", "ephemeral_disks", "fleet_order")),
        "e2e/test_quorum_of_five.py",
        *(f"e2e/test_server_killed_{where}.py" for where in ("at_points_of_no_return", "elsewhere")),
        *(f"e2e/test_{name}.py" for name in ("ensemble_of_five", "hands_in_zookeeper_mode", "lost_ensemble")),
        "e2e/test_strange_ids_in_kraft.py",
        "e2e/test_operations_in_both_modes.py",
        "e2e/test_strange_brokers.py",
        *(f"e2e/test_zookeeper_{name}.py" for name in ("mode", "operations")),
        *(
            f"agent/test_{name}.py"
            for name in ("agent_upgrades", "migration_through_agents", "zookeeper_through_agents")
        ),
        *(f"kafka/test_live_{name}.py" for name in ("ensemble_faults", "feature_levels", "old_clients", "settings")),
        *(f"kafka/test_live_{name}.py" for name in ("static_quorum", "topics", "zookeeper_mode")),
        *(f"contract/test_{name}.py" for name in ("cordons", "migrating_gateway", "zookeeper_ensemble")),
        *(
            f"sequences/test_golden_{name}.py"
            for name in ("agents", "controller_moves", "cordons", "disks", "handovers")
        ),
        *(
            f"sequences/test_golden_{name}.py"
            for name in ("images", "migration", "nodes", "parallel_restarts", "quorum")
        ),
        *(f"sequences/test_golden_{name}.py" for name in ("settings", "storage", "topics", "windows", "zookeeper")),
        "sequences/test_golden_setting_canaries.py",
        "sequences/test_port_rolls.py",
        *(
            f"sim/test_{name}_seeds.py"
            for name in ("controller_move", "disk", "migration", "parallel_restart", "topic")
        ),
        *(f"sim/test_{name}_seeds.py" for name in ("window", "zookeeper")),
        "sim/test_deaths_at_each_step.py",
        "sim/test_growth_crashes.py",
        "sim/test_static_quorum_crashes.py",
    ),
    "healing": (
        "unit/controlplane/background/anomalies/*",
        "unit/planner/anomalies/*",
        "unit/planner/placement/*",
        *(f"e2e/test_{name}.py" for name in ("anomalies", "brokers_die", "chaos", "chaos_faults", "frozen_broker")),
        *(f"e2e/test_{name}.py" for name in ("frozen_controller", "half_seen", "healing", "heartbeats_in_a_roll")),
        *(f"e2e/test_{name}.py" for name in ("fifty_faults", "hot_broker", "placement", "stale_orders")),
        *(f"e2e/test_{name}.py" for name in ("rebalance", "splits", "told_findings", "two_at_once")),
        "e2e/test_strange_registrations.py",
        *(
            f"agent/test_{name}_live.py"
            for name in ("agent_cost", "agent_findings", "agent_journal", "agent_last_words")
        ),
        *(f"agent/test_{name}_live.py" for name in ("agent_metrics", "broker_findings", "busy_broker", "heartbeats")),
        "agent/test_provoked_findings_live.py",
        *(f"kafka/test_live_{name}.py" for name in ("conditions", "registrations")),
        *(
            f"sequences/test_golden_{name}.py"
            for name in ("consumers", "healing", "heaps", "placements", "stuck_moves")
        ),
        "sequences/test_golden_rebalances.py",
        "sequences/test_heartbeat_rolls.py",
        *(f"sim/test_{name}_seeds.py" for name in ("anomaly", "heap", "loss", "placement", "rebalance", "split")),
        "sim/test_agent_death_seeds.py",
        *(f"sim/test_{name}.py" for name in ("cure_brake", "forgiven", "heap_history", "plan_ahead")),
        "spark/test_metric_outliers.py",
        "boot/test_local_network.py",
    ),
    "kafka's listeners": (
        "unit/planner/rights/*",
        *(f"e2e/test_{name}.py" for name in ("authority_replaced", "listeners_that_ask", "plaintext_to_tls")),
        *(f"e2e/test_{name}.py" for name in ("tls_between_nodes", "tls_roll", "tls_way_back", "users_sign_in")),
        *(f"e2e/test_{name}_over_tls.py" for name in ("loop_and_portal", "metric_chain", "rebuild")),
        *(f"contract/test_{name}.py" for name in ("door_scan", "kafka_rights")),
        *(f"e2e/test_{name}.py" for name in ("listeners_that_take_tokens", "tls_in_zookeeper_mode")),
        *(f"kafka/test_live_{name}.py" for name in ("authorizer", "kedge_rights")),
        "spark/test_metric_stream_over_tls.py",
        *(f"sequences/test_golden_{name}.py" for name in ("certificates", "listeners", "quotas", "tls_way")),
        *(f"sequences/test_golden_{name}.py" for name in ("tokens", "users")),
        "sequences/test_kedge_rights.py",
        "sim/test_certificate_crashes.py",
        *(f"unit/events/test_spec_{name}.py" for name in ("authorization", "oauth", "quotas", "security", "users")),
    ),
    "ways in": (
        "portal/*",
        "unit/controlplane/cli/*",
        "unit/controlplane/background/forges/*",
        "unit/controlplane/fleet/freezes/*",
        "unit/controlplane/background/git_sync/*",
        "unit/controlplane/commands/policies/*",
        "unit/controlplane/api/*",
        "unit/controlplane/portal/*",
        "unit/controlplane/background/topic_names/*",
        "contract/test_api_*",
        "contract/test_forge*",
        "contract/test_git_*",
        "contract/test_portal_*",
        *(f"contract/test_{name}.py" for name in ("notice_outbox", "notifiers", "oidc_provider", "proposal_fold")),
        "contract/test_topic_names.py",
        *(f"e2e/test_{name}.py" for name in ("import", "import_static")),
        "kafka/test_live_import.py",
        "kafka/test_live_import_secured.py",
        "sequences/test_golden_imports.py",
        "sim/test_import_crashes.py",
    ),
}


def areas_of(file: str) -> list[str]:
    """The areas that take a test file (`contract/test_cloud_calls.py`, as below `tests/`)."""
    return [area for area, patterns in PATTERNS.items() if any(fnmatchcase(file, p) for p in patterns)]


def durations_by_area(report: Path) -> dict[str, float]:
    """Seconds of the tests in a JUnit file of pytest (family `xunit1`), by area; none where it is cut short."""
    found: defaultdict[str, float] = defaultdict(float)
    try:
        tests = ElementTree.parse(report).iter("testcase")
    except (OSError, ElementTree.ParseError):
        return found
    for test in tests:
        file = _file_of(test.get("classname") or "")
        found[next(iter(areas_of(file)), REST)] += float(test.get("time") or 0)
    return found


def _file_of(class_name: str) -> str:
    """The file that pytest took a test from, as below `tests/`. `file` of a report is where the function was written:
    schemathesis's own for tests that it makes, another test's for those of a suite that several stores pass.
    """
    parts = class_name.removeprefix("tests.").split(".")
    module = next((at for at, part in enumerate(parts, 1) if part.startswith("test_")), len(parts))
    return "/".join(parts[:module]) + ".py"


def split(took_s: float, durations: Mapping[str, float]) -> dict[str, float]:
    """`took_s` of a command over the areas, as their tests' seconds are to each other. `rest` where none is known."""
    total = sum(durations.values())
    if not total:
        return {REST: took_s}
    return {area: took_s * seconds / total for area, seconds in durations.items()}


def table(shares: Mapping[str, float]) -> str:
    """A line for each area: seconds of `make test` and what it may take. Told, not asserted: CI's machines differ."""
    lines = [f"{'area':12} {'took':>8} {'limit':>8}"]
    for area in (*LIMITS_S, REST):
        limit = f"{LIMITS_S[area]:6.0f} s" if area in LIMITS_S else f"{'none':>8}"
        lines.append(f"{area:12} {shares.get(area, 0):6.0f} s {limit}")
    return "\n".join(lines)

"""Which events a portal may add is a list; what people ask for is written in many files. The two are held together."""

import ast
from collections.abc import Iterator
from pathlib import Path

from controlplane.server.database_roles import APPEND_ONLY, PORTAL, RIGHTS, grants
from controlplane.server.portal_rights import ASKED_BY_PEOPLE, EVENTS, LATEST, PORTAL_RIGHTS
from events.registry import REGISTRY

ROOT = Path("controlplane")
PEOPLES = (
    *sorted((ROOT / "commands" / "deciders").glob("*.py")),
    *(ROOT / "commands" / name for name in ("handler.py", "failovers.py", "failover_orders.py")),
    ROOT / "cluster/spec_source.py",
    *(ROOT / "fleet" / name for name in ("cluster_names.py", "proposals/stream.py")),
    *(ROOT / f"fleet/{name}/commands.py" for name in ("freezes", "images", "networks")),
    *(ROOT / f"background/{name}/service.py" for name in ("agent_upgrades", "consumer_groups")),
    *(ROOT / f"background/{name}/service.py" for name in ("git_sync", "notifications")),
    *sorted((ROOT / "api").rglob("*.py")),
    *sorted((ROOT / "portal").rglob("*.py")),
)
"""Where what people ask for becomes an event."""

NOT_A_PORTALS = {
    "AgentPublished": "signed by a key of the loop",
    "ChaosEnded": "of a fault that hands on VMs could not begin",
    "ChaosInjected": "needs hands on VMs",
    "ConditionChanged": "what git sync found of a source",
    "DemoteRequested": "a cure",
    "DemotionEnded": "a cure",
    "AuthoritiesMade": "an agent asks: it needs the keys of CAs",
    "NextAuthorityMade": "an agent asks: it needs the keys of CAs",
    "CertificateIssued": "an agent asks: it needs the keys of CAs",
    "UserCertificateIssued": "it needs the keys of CAs",
    "UserPasswordDelivered": "it needs the key that passwords are sealed under",
    "UsersUndelivered": "it needs the key that passwords are sealed under",
    "UserPasswordCollected": "it needs the key that passwords are sealed under",
}


def recorded_in(file: Path) -> Iterator[str]:
    """Names of event classes that are made there. A `case` names one too, and makes none."""
    names = {entry.cls.__name__ for entry in REGISTRY}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in names:
                yield name


def test_every_event_that_people_ask_for_is_a_portals_or_named_here_with_the_reason() -> None:
    made = {name for file in PEOPLES for name in recorded_in(file)}
    allowed = {cls.__name__ for cls in ASKED_BY_PEOPLE}
    assert made - allowed == NOT_A_PORTALS.keys()
    assert len(EVENTS) == len(ASKED_BY_PEOPLE) == len(set(ASKED_BY_PEOPLE))


def test_nothing_that_makes_drains_or_deletes_a_vm_is_a_portals() -> None:
    acting = (
        *("surge.", "drain.", "retire.", "destroy.", "instance.", "release.", "bind.", "restart.", "recycle."),
        *("run.", "replacement.", "volume.", "voter.", "agent.", "cluster.deleted"),
    )
    assert not [name for name in EVENTS if name.startswith(acting)]
    assert not {"agent-report", "agent-findings", "loop-word", "loop-said"} & set(LATEST)


def test_a_portal_has_less_of_every_table_than_a_server_and_not_all_of_them() -> None:
    for table, rights in PORTAL_RIGHTS.items():
        assert set(rights.split(", ")) <= set(RIGHTS[table].split(", ")), table
    assert PORTAL.columns.keys() | PORTAL_RIGHTS.keys() < RIGHTS.keys()
    assert {("lease", "SELECT"), ("terraform_state", "SELECT"), ("event", "UPDATE")} <= set(PORTAL.refused)


def test_grants_turn_row_security_on_only_where_there_is_a_portal() -> None:
    plain, apart = list(grants("app", "eyes")), list(grants("app", "eyes", portal="por'tal"))
    assert not [line for line in plain if "ENABLE ROW LEVEL SECURITY" in line]
    assert [line for line in apart if "ENABLE" in line] == [
        f'ALTER TABLE "public"."{table}" ENABLE ROW LEVEL SECURITY;' for table in ("event", "latest")
    ]
    assert all(line.endswith(";") and "\n" not in line for line in apart)
    for table in APPEND_ONLY:
        assert not [line for line in apart if table in line and "UPDATE" in line and line.startswith("GRANT")]

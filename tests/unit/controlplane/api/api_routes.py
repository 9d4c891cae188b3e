"""Every call of people's programs (`/v1`), what it asks of whoever makes it, and a body that is understood.

A call that is not in here fails the tests: a refusal is to be one of rights, never one of a body that made no sense.
"""

import re
from typing import Any

from controlplane.api.access.roles import Verb
from tests.unit.events.spec_texts import ORDERS

OURS = ORDERS.replace("name: orders", "name: orders\n  owner: payments\n  labels: {env: prod}")

KNOWN = "known"
"""Whoever shows a token: the answer has what they may see, which may be nothing."""
SOMEWHERE = "read somewhere"
"""Whoever may read anything at all: it is no cluster's."""

NO_TOKEN = "no token"
"""No program may: a token makes no token."""

Body = dict[str, Any] | None
_WHY: Body = {"reason": "x"}
_SPEC: Body = {"text": OURS.replace("sizeGib: 100", "sizeGib: 200"), "file": "orders.yaml"}
_MOVES: Body = {"reason": "x", "partitions": ["payments-0"]}
_PUT = {"topic": "payments", "partition": 0, "before": 5, "after": 1}
_BUILD = {"platform": "cp311-x86_64", "url": "https://m.example/a.tgz", "sha256": "0" * 64, "size_bytes": 1}
_BINDING: Body = {"subject": "user:zed", "role": "viewer", "scope": "*"}
_CLUSTER = "/v1/clusters/{name}"

API_ROUTES: dict[tuple[str, str], tuple[Verb | str, Body]] = {
    ("GET", "/v1/clusters"): (KNOWN, None),
    ("GET", "/v1/search"): (KNOWN, None),
    ("GET", "/v1/fleet"): (KNOWN, None),
    ("POST", "/v1/pull-requests"): (Verb.DECLARE, _SPEC),
    ("POST", "/v1/validate"): (KNOWN, _SPEC),
    ("POST", "/v1/plan"): (KNOWN, _SPEC),
    ("POST", "/v1/apply"): (Verb.DECLARE, _SPEC),
    ("GET", _CLUSTER): (Verb.READ, None),
    **{
        ("GET", f"{_CLUSTER}/{what}"): (Verb.READ, None)
        for what in (
            *("endpoints", "console/{node}", "events", "state", "generations", "restart-check", "rolls", "moves"),
            "certificates",
            *(
                "games",
                "games/{game}",
                "health",
                "anomalies",
                "anomalies/{anomaly}",
                "figures",
                "groups",
                "groups/{group:path}",
            ),
            "group",
            *("brokers/{broker}/dependents", "brokers/{broker}/settings", "logs", "drift", "topics", "topics/{topic}"),
            *("topics/{topic}/declarations", "topics/{topic}/logs", "topics/{topic}/partitions"),
            *("ailing-partitions", "acls"),
            *("topics/{topic}/settings", "brokers", "brokers/{broker}/partitions", "matrix", "diff", "compare"),
            "generations/{generation}",
            "figures",
        )
    },
    ("GET", f"{_CLUSTER}/acls/explain"): (Verb.READ, None),
    ("POST", f"{_CLUSTER}/losses"): (Verb.DELETE, {"racks": ["a"], "confirm": "orders", "reason": "x"}),
    ("POST", f"{_CLUSTER}/pause"): (Verb.STEER, _WHY),
    ("POST", f"{_CLUSTER}/resume"): (Verb.STEER, _WHY),
    ("POST", f"{_CLUSTER}/abort"): (Verb.STEER, _WHY),
    ("POST", f"{_CLUSTER}/roll-now"): (Verb.STEER, _WHY),
    ("POST", f"{_CLUSTER}/restart"): (Verb.STEER, {"brokers": [1000], "reason": "x"}),
    ("POST", f"{_CLUSTER}/replace-ca"): (Verb.DELETE, {"reason": "x"}),
    ("POST", f"{_CLUSTER}/revoke-certificates"): (
        Verb.DELETE,
        {"node": "brokers-a-0", "reason": "x", "confirm": "orders"},
    ),
    ("POST", f"{_CLUSTER}/replace"): (Verb.STEER, {"node": "brokers-a-0", "reason": "x"}),
    ("POST", f"{_CLUSTER}/readmit"): (Verb.STEER, {"brokers": [1000], "reason": "x"}),
    ("POST", f"{_CLUSTER}/replication-factor"): (Verb.STEER, {"topics": ["clicks"], "factor": 3, "reason": "x"}),
    ("POST", f"{_CLUSTER}/replication-factor/cancel"): (Verb.STEER, {"reason": "x"}),
    **{("GET", f"{_CLUSTER}/users{tail}"): (Verb.READ, None) for tail in ("", "/{user}")},
    ("POST", f"{_CLUSTER}/users/{{user}}/delete"): (Verb.DELETE, {"confirm": "alice"}),
    ("POST", f"{_CLUSTER}/users/{{user}}/password/rotate"): (Verb.DECLARE, {"reason": "x"}),
    ("POST", f"{_CLUSTER}/users/{{user}}/password/collect"): (Verb.DECLARE, {}),
    ("POST", f"{_CLUSTER}/users/{{user}}/certificate"): (Verb.DECLARE, {"request": "x"}),
    ("POST", f"{_CLUSTER}/empty-disk"): (Verb.STEER, {"broker": 1000, "disk": "data2", "reason": "x"}),
    ("POST", f"{_CLUSTER}/even-disks"): (Verb.STEER, {"broker": 1000, "reason": "x"}),
    ("POST", f"{_CLUSTER}/disk-moves/cancel"): (Verb.STEER, {"broker": 1000, "reason": "x"}),
    ("POST", f"{_CLUSTER}/fix-offline"): (Verb.STEER, {"brokers": [1000], "reason": "x"}),
    ("POST", f"{_CLUSTER}/demote"): (Verb.STEER, {"brokers": [1000], "reason": "x"}),
    ("POST", f"{_CLUSTER}/undemote"): (Verb.STEER, {"brokers": [1000], "reason": "x"}),
    ("POST", f"{_CLUSTER}/evacuate"): (Verb.STEER, {"brokers": [1000], "reason": "x"}),
    ("POST", f"{_CLUSTER}/moves/plan"): (Verb.STEER, {"kind": "rebalance"}),
    ("POST", f"{_CLUSTER}/moves/take-back"): (Verb.STEER, _MOVES),
    ("POST", f"{_CLUSTER}/moves/adopt"): (Verb.STEER, _MOVES),
    ("POST", f"{_CLUSTER}/rebalance"): (Verb.STEER, {"reason": "x"}),
    ("POST", f"{_CLUSTER}/rebalance/cancel"): (Verb.STEER, _WHY),
    ("POST", f"{_CLUSTER}/healing"): (Verb.STEER, {"on": False, "reason": "x"}),
    ("POST", f"{_CLUSTER}/drift/audit"): (Verb.STEER, None),
    ("POST", f"{_CLUSTER}/delete"): (Verb.DELETE, {"confirm": "orders", "reason": "x"}),
    ("POST", f"{_CLUSTER}/chaos"): (Verb.DELETE, {"fault": "pause", "vms": ["brokers-a-0"], "for_s": 5}),
    ("POST", f"{_CLUSTER}/games"): (Verb.DELETE, {"seed": 7, "reason": "x"}),
    ("POST", f"{_CLUSTER}/games/{{game}}/end"): (Verb.DELETE, _WHY),
    ("POST", f"{_CLUSTER}/source"): (Verb.HAND_OVER, {"source": "api", "reason": "x"}),
    ("POST", f"{_CLUSTER}/rollback"): (Verb.DECLARE, {"to": 1, "reason": "x"}),
    ("POST", f"{_CLUSTER}/topics/{{topic}}/rollback"): (Verb.DECLARE, {"to": 1, "reason": "x"}),
    ("POST", f"{_CLUSTER}/topics/{{topic}}/adopt"): (Verb.DECLARE, _WHY),
    ("POST", f"{_CLUSTER}/topics/{{topic}}/delete"): (Verb.DELETE, {"confirm": "payments", "reason": "x"}),
    ("POST", f"{_CLUSTER}/offset-resets/plan"): (Verb.DECLARE, {"group": "billing", "to": "earliest"}),
    ("POST", f"{_CLUSTER}/offset-resets"): (Verb.DECLARE, {"group": "billing", "offsets": [_PUT]}),
    ("GET", "/v1/anomalies"): (KNOWN, None),
    ("GET", "/v1/events"): (KNOWN, None),
    ("GET", "/v1/agents"): (KNOWN, None),
    ("GET", "/v1/failovers"): (SOMEWHERE, None),
    ("GET", "/v1/failovers/{name}"): (KNOWN, None),
    ("GET", "/v1/failovers/{name}/plan"): (KNOWN, None),
    ("POST", "/v1/failovers/{name}/failover"): (KNOWN, {"confirm": "both", "reason": "x"}),
    ("POST", "/v1/failovers/{name}/abort"): (KNOWN, _WHY),
    ("POST", "/v1/failovers/{name}/certify-shut"): (KNOWN, {"confirm": "both", "reason": "x"}),
    ("POST", "/v1/failovers/{name}/withdraw"): (KNOWN, {"confirm": "both", "reason": "x"}),
    ("GET", "/v1/freezes"): (KNOWN, None),
    ("GET", "/v1/images"): (KNOWN, None),
    ("GET", "/v1/images/{name}"): (KNOWN, None),
    ("GET", "/v1/proposals"): (KNOWN, None),
    ("GET", "/v1/proposals/{number}"): (Verb.READ, None),
    ("POST", "/v1/proposals/{number}/approve"): (Verb.APPROVE, {}),
    ("POST", "/v1/proposals/{number}/reject"): (Verb.APPROVE, {}),
    ("GET", "/v1/sources"): (KNOWN, None),
    ("POST", "/v1/sources/{name}/poll"): (KNOWN, None),
    ("POST", "/v1/sources/{name}/accept"): (KNOWN, {"commit": "0" * 40, "reason": "x"}),
    ("GET", "/v1/version"): (KNOWN, None),
    ("GET", "/v1/machines"): (KNOWN, None),
    ("GET", "/v1/whoami"): (KNOWN, None),
    ("GET", "/v1/tokens"): (KNOWN, None),
    ("POST", "/v1/tokens"): (NO_TOKEN, {"label": "x", "role": "viewer", "scope": "*", "days": 1}),
    ("POST", "/v1/tokens/{token_id}/revoke"): (KNOWN, None),
    ("GET", "/v1/metrics"): (SOMEWHERE, None),
    ("GET", "/v1/policies"): (SOMEWHERE, None),
    ("GET", "/v1/networks"): (SOMEWHERE, None),
    ("POST", "/v1/networks/{name}/remove"): (Verb.ADMINISTER, {"confirm": "orders", "reason": "x"}),
    ("POST", "/v1/networks/{name}/repair"): (Verb.ADMINISTER, {"reason": "x"}),
    ("POST", "/v1/agents"): (Verb.ADMINISTER, {"version": "1", "builds": [_BUILD]}),
    ("POST", "/v1/agents/resume"): (Verb.ADMINISTER, _WHY),
    ("POST", "/v1/agents/{version}/withdraw"): (Verb.ADMINISTER, _WHY),
    ("POST", "/v1/images"): (Verb.ADMINISTER, {"kafka": "4.1.1", "images": {"aws/eu-west-1": {"any": "ami-1"}}}),
    ("POST", "/v1/images/{name}/withdraw"): (Verb.ADMINISTER, _WHY),
    ("POST", "/v1/freezes"): (Verb.STEER, {"until": "2026-01-02T00:00:00Z", "reason": "x", "clusters": ["orders"]}),
    ("POST", "/v1/freezes/{name}/thaw"): (KNOWN, _WHY),
    ("GET", "/v1/notifiers"): (Verb.ADMINISTER, None),
    ("POST", "/v1/notifiers/{name}/test"): (Verb.ADMINISTER, _WHY),
    ("GET", "/v1/loop"): (Verb.ADMINISTER, None),
    ("GET", "/v1/doctor"): (Verb.ADMINISTER, None),
    ("POST", "/v1/backup"): (Verb.ADMINISTER, {"path": "/dev/null/nowhere"}),
    ("GET", "/v1/users"): (Verb.ADMINISTER, None),
    ("POST", "/v1/users"): (Verb.ADMINISTER, {"name": "zed"}),
    ("POST", "/v1/users/{name}/password"): (Verb.ADMINISTER, None),
    ("DELETE", "/v1/users/{name}"): (Verb.ADMINISTER, None),
    ("POST", "/v1/users/{name}/disable"): (Verb.ADMINISTER, None),
    ("POST", "/v1/users/{name}/enable"): (Verb.ADMINISTER, None),
    ("POST", "/v1/bindings"): (Verb.ADMINISTER, _BINDING),
    ("POST", "/v1/bindings/remove"): (Verb.ADMINISTER, _BINDING),
    ("GET", "/v1/audit"): (Verb.AUDIT, None),
    ("GET", "/v1/audit/check"): (Verb.AUDIT, None),
}

_THERE = {
    "generation": "1",
    "name": "orders",
    "node": "brokers-a-0",
    "topic": "payments",
    "group:path": "billing",
    "broker": "1000",
    "anomaly": "orders-1",
    "game": "g",
    "version": "1",
    "token_id": "0" * 12,
    "number": "waiting1",
    "user": "alice",
}


def address(path: str) -> str:
    """The address of a call, with things in it that are there."""
    if path.endswith("/reject"):
        path = path.replace("{number}", "waiting2")
    if path.endswith("/acls/explain"):
        path = f"{path}?user=alice&resource=topic&on=payments&operation=Read"
    return re.sub(r"\{([^}]+)\}", lambda found: _THERE[found[1]], path)

"""Every page of the portal and what it asks of whoever looks at it. A page that is not in here fails the tests."""

from controlplane.portal.access.roles import Verb

KNOWN = "known"
"""Whoever has signed in: the page shows what they may see, which may be nothing."""

PAGE_ROUTES: dict[tuple[str, str], Verb | str] = {
    ("GET", "/"): KNOWN,
    ("GET", "/search"): KNOWN,
    ("GET", "/sources"): KNOWN,
    ("GET", "/agents"): KNOWN,
    ("GET", "/events"): KNOWN,
    ("GET", "/events.csv"): KNOWN,
    ("GET", "/freezes"): KNOWN,
    ("POST", "/freezes"): KNOWN,
    ("POST", "/freezes/{name}/thaw"): KNOWN,
    ("GET", "/loop"): Verb.ADMINISTER,
    ("GET", "/clusters/{name}/past"): Verb.READ,
    ("GET", "/images"): KNOWN,
    ("GET", "/account"): KNOWN,
    ("GET", "/live"): KNOWN,
    ("GET", "/new"): KNOWN,
    ("POST", "/new"): KNOWN,
    ("GET", "/clusters/{name}/change"): Verb.DECLARE,
    ("POST", "/clusters/{name}/change"): Verb.DECLARE,
    ("GET", "/clusters/{name}/delete"): Verb.DELETE,
    ("POST", "/clusters/{name}/delete"): Verb.DELETE,
    ("GET", "/clusters/{name}/take-over"): Verb.HAND_OVER,
    ("POST", "/clusters/{name}/take-over"): Verb.HAND_OVER,
    ("GET", "/clusters/{name}/rollback"): Verb.DECLARE,
    ("POST", "/clusters/{name}/rollback"): Verb.DECLARE,
    ("GET", "/clusters/{name}/topics/{topic}/change"): Verb.DECLARE,
    ("POST", "/clusters/{name}/topics/{topic}/change"): Verb.DECLARE,
    ("GET", "/clusters/{name}/topics/{topic}/declarations"): Verb.READ,
    ("GET", "/clusters/{name}/topics/{topic}/rollback"): Verb.DECLARE,
    ("POST", "/clusters/{name}/topics/{topic}/rollback"): Verb.DECLARE,
    ("GET", "/clusters/{name}/topics/{topic}/delete"): Verb.DELETE,
    ("POST", "/clusters/{name}/topics/{topic}/delete"): Verb.DELETE,
    ("GET", "/clusters/{name}/topics/{topic}/adopt"): Verb.DECLARE,
    ("POST", "/clusters/{name}/topics/{topic}/adopt"): Verb.DECLARE,
    ("GET", "/proposals"): KNOWN,
    ("GET", "/proposals/{number}"): Verb.READ,
    ("POST", "/proposals/{number}/approve"): Verb.APPROVE,
    ("POST", "/proposals/{number}/reject"): Verb.APPROVE,
    ("POST", "/logout"): KNOWN,
    ("POST", "/account/password"): KNOWN,
    ("POST", "/account/zone"): KNOWN,
    ("POST", "/account/tokens"): KNOWN,
    ("POST", "/account/tokens/{token_id}/revoke"): KNOWN,
    ("GET", "/clusters/{name}"): Verb.READ,
    ("GET", "/clusters/{name}/rollout"): Verb.READ,
    ("GET", "/clusters/{name}/brokers"): Verb.READ,
    ("GET", "/clusters/{name}/brokers.csv"): Verb.READ,
    ("GET", "/clusters/{name}/brokers/{broker}"): Verb.READ,
    ("GET", "/clusters/{name}/topics"): Verb.READ,
    ("GET", "/clusters/{name}/topics.csv"): Verb.READ,
    ("GET", "/clusters/{name}/topics/{topic}"): Verb.READ,
    ("GET", "/clusters/{name}/topics/{topic}/settings"): Verb.READ,
    ("GET", "/clusters/{name}/topics/{topic}/logs"): Verb.READ,
    ("GET", "/clusters/{name}/brokers/{broker}/settings"): Verb.READ,
    ("GET", "/clusters/{name}/brokers/{broker}/dependents"): Verb.READ,
    ("GET", "/clusters/{name}/groups"): Verb.READ,
    ("GET", "/clusters/{name}/groups.csv"): Verb.READ,
    ("GET", "/clusters/{name}/anomalies"): Verb.READ,
    ("GET", "/clusters/{name}/anomalies.csv"): Verb.READ,
    ("GET", "/clusters/{name}/anomalies/{anomaly}"): Verb.READ,
    ("POST", "/clusters/{name}/healing"): Verb.STEER,
    ("GET", "/clusters/{name}/groups/{group:path}"): Verb.READ,
    ("POST", "/clusters/{name}/offset-resets/plan"): Verb.DECLARE,
    ("POST", "/clusters/{name}/offset-resets"): Verb.DECLARE,
    ("GET", "/clusters/{name}/moves"): Verb.READ,
    ("POST", "/clusters/{name}/moves/plan"): Verb.STEER,
    ("POST", "/clusters/{name}/moves/approve"): Verb.STEER,
    ("POST", "/clusters/{name}/moves/cancel"): Verb.STEER,
    ("GET", "/clusters/{name}/matrix"): Verb.READ,
    ("GET", "/clusters/{name}/history"): Verb.READ,
    ("GET", "/clusters/{name}/compare"): Verb.READ,
    ("GET", "/clusters/{name}/generations/{generation}"): Verb.READ,
    ("GET", "/clusters/{name}/diff"): Verb.READ,
    ("POST", "/clusters/{name}/pause"): Verb.STEER,
    ("POST", "/clusters/{name}/resume"): Verb.STEER,
    ("POST", "/clusters/{name}/abort"): Verb.STEER,
    ("POST", "/clusters/{name}/restart"): Verb.STEER,
    ("POST", "/clusters/{name}/replace"): Verb.STEER,
    ("POST", "/clusters/{name}/evacuate"): Verb.STEER,
    ("POST", "/clusters/{name}/readmit"): Verb.STEER,
    ("GET", "/people"): Verb.ADMINISTER,
    ("POST", "/people/add"): Verb.ADMINISTER,
    ("POST", "/people/bind"): Verb.ADMINISTER,
    ("POST", "/people/unbind"): Verb.ADMINISTER,
    ("POST", "/people/{name}/password"): Verb.ADMINISTER,
    ("POST", "/people/{name}/remove"): Verb.ADMINISTER,
    ("POST", "/people/{name}/disable"): Verb.ADMINISTER,
    ("POST", "/people/{name}/enable"): Verb.ADMINISTER,
    ("POST", "/people/tokens/{token_id}/revoke"): Verb.ADMINISTER,
    ("GET", "/audit"): Verb.AUDIT,
    ("GET", "/audit.csv"): Verb.AUDIT,
    ("GET", "/audit/{entry}/change"): Verb.AUDIT,
}


FORMS: dict[tuple[str, str], dict[str, str]] = {
    ("POST", "/clusters/{name}/moves/plan"): {"kind": "rebalance"},
    ("POST", "/clusters/{name}/moves/approve"): {"kind": "rebalance"},
    ("POST", "/clusters/{name}/restart"): {"sure": "true"},
    ("POST", "/clusters/{name}/replace"): {"sure": "true", "node": "brokers-a-0"},
    ("POST", "/clusters/{name}/evacuate"): {"sure": "true", "brokers": "1002"},
    ("POST", "/clusters/{name}/readmit"): {"sure": "true", "brokers": "1002"},
    ("POST", "/clusters/{name}/healing"): {"to": "off"},
    ("POST", "/clusters/{name}/rollback"): {"to": "1", "digest": "d", "key": "0" * 32},
    ("POST", "/clusters/{name}/offset-resets/plan"): {"group": "billing", "to": "earliest"},
    ("POST", "/clusters/{name}/offset-resets"): {"group": "billing", "offsets": '[["clicks", 0, 7, 0]]'},
    ("POST", "/clusters/{name}/topics/{topic}/rollback"): {"to": "1", "digest": "d", "key": "0" * 32},
}
"""What a form has to hold so that it is carried out for whoever may."""

AS_THINGS_ARE = {
    ("POST", "/clusters/{name}/moves/approve"),
    ("POST", "/clusters/{name}/moves/cancel"),
    ("POST", "/clusters/{name}/change"),
    ("POST", "/clusters/{name}/delete"),
    ("POST", "/clusters/{name}/take-over"),
    ("GET", "/clusters/{name}/rollback"),
    ("POST", "/clusters/{name}/rollback"),
    ("GET", "/clusters/{name}/topics/{topic}/change"),
    ("POST", "/clusters/{name}/topics/{topic}/change"),
    ("GET", "/clusters/{name}/topics/{topic}/rollback"),
    ("POST", "/clusters/{name}/topics/{topic}/rollback"),
    ("GET", "/clusters/{name}/topics/{topic}/delete"),
    ("POST", "/clusters/{name}/topics/{topic}/delete"),
    ("POST", "/clusters/{name}/topics/{topic}/adopt"),
}
"""Refused with 409 to whoever may, too: there is no plan or page they looked at, no rebalance to cancel, no form that
was filled, nobody has declared the topic, and what they would go back to is in force."""

ASKS_KAFKA = {
    ("GET", "/clusters/{name}/groups.csv"),
    ("POST", "/clusters/{name}/offset-resets/plan"),
    ("POST", "/clusters/{name}/offset-resets"),
}
"""Refused with 503 to whoever may, too: no broker answers, and a file has no place for the reason, nor has a plan."""


def filled(path: str) -> str:
    """The path of a route with things in it that are there."""
    names = {
        "{name}": "orders",
        "{broker}": "1000",
        "{anomaly}": "orders-1",
        "{entry}": "1",
        "{topic}": "payments",
        "{generation}": "1",
        "{stamp}": "0",
        "{token_id}": "0123456789ab",
        "{number}/reject": "waiting2/reject",
        "{number}": "waiting1",
        "{name:path}": "kedge.css",
    }
    for name, value in names.items():
        path = path.replace(name, value)
    return path

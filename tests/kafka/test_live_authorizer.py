"""`authorize` beside Kafka's own StandardAuthorizer: the class a broker has, without the broker."""

import random
import subprocess
from pathlib import Path

import pytest

from planner.rights.acls import OPERATIONS, Acl, AclRequest
from planner.rights.authorize import authorize
from tests.kafka_processes import JARS

ROUNDS, SEED = 300, 20261129
PRINCIPALS = ("User:alice", "User:bob", "User:*", "User:root")
NAMES = ("pay", "pay-in", "pay-out", "p", "*", "orders")
HOSTS = ("*", "10.0.0.7", "10.0.0.8")
_ENUM = {"transactional-id": "TRANSACTIONAL_ID", "delegation-token": "DELEGATION_TOKEN"}


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["4.1.1", pytest.param("4.3.0", marks=pytest.mark.soak)])
def test_kafkas_authorizer_decides_as_ours(version: str) -> None:
    dice = random.Random(SEED)
    lines, told, cases = [], [], []
    for _ in range(ROUNDS):
        resource = dice.choice(["topic", "group", "cluster", "transactional-id"])
        acls = frozenset(_acl(dice, resource) for _ in range(dice.randint(0, 6)))
        lines += ["fresh", *(_acl_line(acl) for acl in sorted(acls))]
        for operation in OPERATIONS[resource]:
            if operation == "All":
                continue
            for name in ("pay-in", "p", "other"):
                request = AclRequest(dice.choice(PRINCIPALS[:2]), resource, name, operation, dice.choice(HOSTS[1:]))
                lines.append(_ask_line(request))
                cases.append((request, acls))
                told.append("ALLOWED" if authorize(request, acls, {"User:root"}).allowed else "DENIED")
    lines += ["fresh", _ask_line(AclRequest("User:root", "topic", "pay", "Alter", "10.0.0.7"))]
    told.append("ALLOWED")
    answers = _asked(version, lines)
    assert len(answers) == len(told) > 1000
    different = [case for case, ours, theirs in zip(cases, told, answers, strict=False) if ours != theirs]
    assert different == []
    assert {"ALLOWED", "DENIED"} == set(answers)
    assert answers[-1] == "ALLOWED"


def _acl(dice: random.Random, resource: str) -> Acl:
    return Acl(
        dice.choice(PRINCIPALS),
        resource,
        dice.choice(NAMES),
        dice.choice(["literal", "prefix"]),
        dice.choice(OPERATIONS[resource]),
        dice.choice(["allow", "allow", "deny"]),
        dice.choice(HOSTS),
    )


def _acl_line(acl: Acl) -> str:
    pattern = "PREFIXED" if acl.pattern == "prefix" else "LITERAL"
    parts = (
        _enum(acl.resource),
        acl.name,
        pattern,
        acl.principal,
        acl.host,
        _enum(acl.operation),
        _enum(acl.permission),
    )
    return "\t".join(("acl", *parts))


def _ask_line(request: AclRequest) -> str:
    return "\t".join(
        ("ask", _enum(request.resource), request.name, request.principal, request.host, _enum(request.operation))
    )


def _enum(word: str) -> str:
    """`DescribeConfigs` as Java has it, `DESCRIBE_CONFIGS`."""
    return _ENUM.get(word) or "".join(f"_{c}" if c.isupper() else c for c in word).lstrip("_").upper()


def _asked(version: str, lines: list[str]) -> list[str]:
    source = Path(__file__).parent / "Decide.java"
    argv = ["java", "-Xmx256m", "-cp", f"{JARS / version / 'libs'}/*", str(source)]
    done = subprocess.run(argv, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line in ("ALLOWED", "DENIED")]

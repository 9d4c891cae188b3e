"""The metrics port of a JVM that a test starts by itself: what opens it, and whether it is open."""

from pathlib import Path

from agent.metrics import Jolokia, JolokiaSilent


def java_agent(libs: Path, *, host: str, port: int, policy: Path | None = None) -> str:
    """The argument that has a JVM answer at `host`:`port`, by the jar in `libs`; under a `policy` as on a VM."""
    (jar,) = libs.glob("jolokia-agent-jvm-*javaagent.jar")
    restricted = f",policyLocation=file:{policy}" if policy is not None else ""
    return f"-javaagent:{jar}=host={host},port={port},discoveryEnabled=false{restricted}"


def answers(jolokia: Jolokia) -> bool:
    """Whether the port is open by now."""
    try:
        return bool(jolokia.ask([{"type": "version"}]))
    except JolokiaSilent:
        return False

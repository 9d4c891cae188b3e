"""A spec that is accepted as it stands, and small edits of it: each test shows only the line it is about."""

from collections.abc import Mapping

from events.spec.document import LoadResult, load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem

ORDERS = """\
apiVersion: kedge/v1alpha1
kind: KafkaCluster
metadata:
  name: orders
spec:
  kafka:
    version: 4.1.1
    config:
      log.retention.hours: 72
  pools:
    - name: controllers
      services: [controller]
      size: 3
      machine: small
      disk: {kind: persistent, sizeGib: 10}
      place: {cloud: local, region: local-1, zones: [a, b, c]}
    - name: brokers
      services: [broker]
      size: 3
      machine: medium
      disk: {kind: persistent, sizeGib: 100}
      place: {cloud: local, region: local-1, zones: [a, b, c]}
  rollout:
    strategy: migrate
"""

FILE = "orders.yaml"


def edited(edits: Mapping[int, str], text: str = ORDERS) -> str:
    """The text with whole lines (counted from 1) replaced; an edit may hold several lines, or none."""
    lines = text.splitlines()
    assert all(1 <= number <= len(lines) for number in edits)
    kept = (edits.get(number, line) for number, line in enumerate(lines, start=1))
    return "\n".join(line for line in kept if line) + "\n"


def load(edits: Mapping[int, str] | None = None) -> LoadResult:
    return load_documents(edited(edits or {}), file=FILE)


def document(edits: Mapping[int, str] | None = None) -> KafkaClusterDocument:
    """The one accepted document of the edited text."""
    result = load(edits)
    assert result.ok, "\n".join(map(str, result.problems))
    return result.documents[0]


def positions(edits: Mapping[int, str] | None = None) -> Positions:
    return load(edits).positions[0]


def told(problems: LoadResult | list[Problem]) -> list[tuple[str, str, str, str]]:
    """(line:column, code, message, fix) of each problem."""
    found = problems.problems if isinstance(problems, LoadResult) else problems
    return [(f"{one.line}:{one.column}", one.code, one.message, one.fix) for one in found]

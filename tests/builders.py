"""Small, valid things with overrides, so that a test shows only what it is about."""

from typing import Any

from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument

_SPEC = """
apiVersion: kedge/v1alpha1
kind: KafkaCluster
metadata: {{name: {name}}}
spec:
  kafka: {{version: {version}{config}}}
  pools:
    - name: controllers
      services: [controller]
      size: {controllers}
      machine: small
      disk: {{kind: persistent, sizeGib: 1}}
      place: {{cloud: local, region: local-1, zones: [a, b, c]}}
    - name: brokers
      services: [broker]
      size: {brokers}
      machine: {machine}
      disk: {{kind: persistent, sizeGib: 100}}
      place: {{cloud: local, region: local-1, zones: [a, b, c]}}
  rollout: {{soak: {soak}, linger: {linger}, surge: {surge}, pause: {pause}, joinDeadline: {join_deadline}}}
  deletionPolicy: {deletion}
"""


def a_spec(**overrides: Any) -> str:
    """The YAML of a cluster of 3 brokers and 3 controllers on Kafka 4.1.1."""
    values: dict[str, Any] = {
        "name": "orders",
        "version": "4.1.1",
        "config": "",
        "controllers": 3,
        "brokers": 3,
        "machine": "small",
        "soak": "5s",
        "linger": "5s",
        "surge": 1,
        "pause": "false",
        "join_deadline": "120s",
        "deletion": "destroy",
    }
    return _SPEC.format(**{**values, **overrides})


def a_document(**overrides: Any) -> KafkaClusterDocument:
    """The document of `a_spec`."""
    result = load_documents(a_spec(**overrides), file="orders.yaml")
    assert result.ok, result.problems
    return result.documents[0]

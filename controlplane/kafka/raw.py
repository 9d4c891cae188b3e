"""Kafka messages kafka-python 3.0.12 does not know: UnregisterBroker (64), AddRaftVoter (80), RemoveRaftVoter
(81).

A subclass of `ApiMessage` compiles the layout of the same name in `schemas/`; defining a response class
registers its decoder. Any broker takes them and forwards to the active controller. Pinned to kafka-python
3.0.12: `load_json` is not a documented interface.
"""

import base64
import uuid

from kafka.protocol.api_message import ApiMessage

_SCHEMAS = "controlplane.kafka.schemas"


class UnregisterBrokerRequest(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Forget a broker's registration. Kafka does not check that it is stopped or empty: see
    `unregister.py`."""


class UnregisterBrokerResponse(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Error code and words."""


class AddRaftVoterRequest(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Make a caught-up observer a voter (KIP-853)."""


class AddRaftVoterResponse(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Error code and words."""


class RemoveRaftVoterRequest(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Take a voter, named by id and directory id, out of the quorum (KIP-853)."""


class RemoveRaftVoterResponse(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Error code and words."""


def directory_uuid(directory_id: str) -> uuid.UUID:
    """Kafka's text form of a uuid (url-safe base64, no padding; meta.properties, logs, tools) as a UUID."""
    return uuid.UUID(bytes=base64.urlsafe_b64decode(directory_id + "=="))


def directory_text(directory_id: uuid.UUID | str | None) -> str:
    """A UUID, or its hex form as kafka-python returns it, in Kafka's own text form. None is how that returns Kafka's
    zero, which the voters of a static quorum (kraft.version 0) are told with."""
    if directory_id is None:
        directory_id = uuid.UUID(int=0)
    value = directory_id if isinstance(directory_id, uuid.UUID) else uuid.UUID(directory_id)
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()

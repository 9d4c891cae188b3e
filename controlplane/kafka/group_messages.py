"""ConsumerGroupDescribe (69, KIP-848), which kafka-python 3.0.12 does not know; see `raw`."""

from kafka.protocol.api_message import ApiMessage

_SCHEMAS = "controlplane.kafka.schemas"


class ConsumerGroupDescribeRequest(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """Members and assignments of groups of the new protocol; DescribeGroups calls those not found."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=_SCHEMAS):  # type: ignore[misc, call-arg]
    """By group, with an error code each."""

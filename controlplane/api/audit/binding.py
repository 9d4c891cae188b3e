"""`[audit_topic]` of the settings: the Kafka topic that every entry of the audit is written to as well."""

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)
_OURS = "__kedge_"


class AuditTopicBinding(BaseModel):
    """Where to write. The topic is not made: who owns its cluster says how long it keeps what, and who may read it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bootstrap: tuple[str, ...] = Field(min_length=1, description="brokers, `HOST:PORT`")
    topic: str = Field(description="the topic; only its partition 0 is written to, so that entries stay in order")
    properties_file: Path | None = Field(
        default=None, description="file of librdkafka properties, credentials among them, only yours"
    )
    apart: bool = Field(
        default=False, description="of a server: `kedge server --only relay` writes it; here only how that does is told"
    )

    @field_validator("topic")
    @classmethod
    def _a_topic_of_its_own(cls, topic: str) -> str:
        if not _NAME.fullmatch(topic):
            raise ValueError(f"{topic!r} is not a name of a topic: a to z, 0 to 9, dots, dashes and underscores")
        if topic.startswith(_OURS):
            raise ValueError(f"{topic} is a topic that Kedge's agents write to: name one that is for the audit alone")
        return topic

    @property
    def where(self) -> str:
        """Where it is, for people."""
        return f"{self.topic} at {', '.join(self.bootstrap)}"

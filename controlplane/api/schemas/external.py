"""Brokers that others run, in the API's answers."""

from pydantic import BaseModel, ConfigDict, Field


class ExternalBrokerOut(BaseModel):
    """A broker that others run: no VM, no agent; Kedge moves replicas off it, and stops it never."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    rack: str
    address: str
    state: str = Field(description="in words: serves, to be emptied, being emptied, empty: stop it yourself, stopped")

"""What every message between a VM's agent and the control plane is."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """Base of every message: frozen; unknown keys are ignored so that a newer peer can add some."""

    model_config = ConfigDict(frozen=True, extra="ignore")

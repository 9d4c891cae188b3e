"""What every message between a VM's agent and the control plane is."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator


class Wire(BaseModel):
    """Base of every message: frozen; unknown keys are ignored so that a newer peer can add some. A boolean is no
    number: pydantic would take `true` for 1."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    _whole_numbers: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls._whole_numbers = tuple(n for n, field in cls.model_fields.items() if field.annotation in (int, int | None))

    @model_validator(mode="before")
    @classmethod
    def _without_booleans_for_numbers(cls, told: Any) -> Any:
        if isinstance(told, dict):
            for name in cls._whole_numbers:
                if isinstance(told.get(name), bool):
                    raise ValueError(f"{name} is {str(told[name]).lower()}: give a whole number")
        return told

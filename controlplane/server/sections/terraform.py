"""`[terraform]`: modules, providers, states."""

from typing import Literal

from pydantic import Field, field_validator

from controlplane.server.sections.section import AbsolutePath, Section
from controlplane.storage.terraform_states.versions import FEWEST_STATE_VERSIONS
from providers.tf.mirror import ProviderMirror


class TerraformSection(Section):
    """Of Terraform."""

    modules: AbsolutePath | None = Field(default=None, description="one folder per cloud; default: those shipped")
    mirror: str = Field(
        default="", description="folder, or https URL, that providers come from and nowhere else; empty: the registry"
    )
    state: Literal["local", "http"] = Field(
        default="local", description="`local`: files of the home; `http`: in the database, served by Kedge to Terraform"
    )
    state_versions: int = Field(
        default=50, ge=FEWEST_STATE_VERSIONS, le=10_000, description="with `http`: versions of each state that are kept"
    )
    runs: int | None = Field(
        default=None,
        ge=1,
        le=256,
        description="Terraform runs at a time; none: one for each GiB that is free when the server starts, 4 to 32",
    )
    runs_per_account: int = Field(default=8, ge=1, le=256, description="of them, those in one account of a cloud")

    @field_validator("mirror")
    @classmethod
    def _a_mirror(cls, value: str) -> str:
        return ProviderMirror.of(value).place if value else ""

    @property
    def provider_mirror(self) -> ProviderMirror | None:
        """Where providers come from; None where Terraform's registry may be asked."""
        return ProviderMirror(self.mirror) if self.mirror else None

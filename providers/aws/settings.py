"""What a person tells about their AWS accounts: `aws.yaml` in the home. It holds no secret; credentials are boto3's."""

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from providers.base import Place
from providers.errors import PlaceUnknown

_AccountId = Annotated[str, StringConstraints(pattern=r"^\d{12}$")]
_SubnetId = Annotated[str, StringConstraints(pattern=r"^subnet-[0-9a-f]{8,17}$")]
_GroupId = Annotated[str, StringConstraints(pattern=r"^sg-[0-9a-f]{8,17}$")]
_ImageId = Annotated[str, StringConstraints(pattern=r"^ami-[0-9a-f]{8,17}$")]
_Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[a-z]+)+-\d[a-z]$")]


class AwsRegion(BaseModel):
    """What exists in a region before Kedge: one subnet per zone, security groups, machine images."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subnets: dict[_Zone, _SubnetId] = Field(min_length=1)
    security_groups: tuple[_GroupId, ...] = Field(min_length=1)
    images: dict[str, dict[str, _ImageId]] = Field(default_factory=dict)
    """Kafka version -> architecture (`arm64`, `x86_64`) -> image. Keep an image for as long as VMs of it stand."""


class AwsAccount(BaseModel):
    """An account profile. `id` is checked against what the credentials turn out to be, before anything is believed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: _AccountId
    profile: str | None = None
    """Name in the AWS configuration files; without one, boto3's default chain."""
    regions: dict[str, AwsRegion] = Field(min_length=1)


class AwsSettings(BaseModel):
    """The whole file. `endpoint_url` and `plugins` are for networks without a way to AWS's and Terraform's hosts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    accounts: dict[str, AwsAccount] = Field(min_length=1)
    endpoint_url: AnyHttpUrl | None = None
    plugins: Path | None = None
    """Folder with `terraform/plugins/<host>/hashicorp/aws/<version>/<platform>/`, searched before the registry."""

    def account(self, place: Place) -> AwsAccount:
        """Raises `PlaceUnknown` naming the accounts there are."""
        if place.account not in self.accounts:
            raise PlaceUnknown(f"{place}: no such account in aws.yaml; it has {', '.join(sorted(self.accounts))}")
        return self.accounts[place.account]

    def region(self, place: Place) -> AwsRegion:
        """Raises `PlaceUnknown` naming the regions of that account."""
        regions = self.account(place).regions
        if place.region not in regions:
            raise PlaceUnknown(f"{place}: no such region in aws.yaml; it has {', '.join(sorted(regions))}")
        return regions[place.region]


def read_settings(path: Path) -> AwsSettings:
    """Raises `PlaceUnknown` when there is no such file, or it makes no sense; the message says where."""
    try:
        value = yaml.safe_load(path.read_text())
        return AwsSettings.model_validate(value)
    except FileNotFoundError:
        raise PlaceUnknown(f"no cloud `aws` here: {path} does not exist (docs/clouds.md shows what it holds)") from None
    except yaml.YAMLError as error:
        raise PlaceUnknown(f"{path} is no YAML: {error}") from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise PlaceUnknown(f"{path}: {wrong}") from None

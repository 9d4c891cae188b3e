"""The file of a revision to publish, and the same as options."""

from collections.abc import Iterable
from typing import Any

import yaml
from pydantic import ValidationError

from controlplane.api.schemas.images import ImageIn
from controlplane.cli.errors import CliError
from controlplane.cli.spec_file import read_spec

EXAMPLE = "docs/images-and-security.md has an example"


def image_in_file(name: str) -> ImageIn:
    """The revision a YAML or JSON file describes; `-` is standard input. Raises CliError with the place."""
    file = read_spec(name)
    try:
        # Every value as the text it is written as: a version like 4.10.0 or an id like 0123 is no number. The base
        # loader makes text, nothing else.
        document = yaml.load(file.text, Loader=yaml.BaseLoader)  # noqa: S506  # nosec B506
    except yaml.YAMLError as error:
        raise CliError("the file is not YAML", where=file.name, why=str(error), next_step=EXAMPLE) from None
    if not isinstance(document, dict):
        raise CliError("the file describes no image", where=file.name, why="it is not a mapping", next_step=EXAMPLE)
    return checked(document, file.name)


def checked(document: dict[str, Any], where: str) -> ImageIn:
    """The revision, or what is wrong with it, field by field. Raises CliError."""
    try:
        return ImageIn.model_validate(document)
    except ValidationError as error:
        wrong = "; ".join(_problem(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors()[:5])
        raise CliError("no image was published", where=where, why=wrong, next_step=EXAMPLE) from None


def images_of(options: Iterable[str]) -> dict[str, dict[str, str]]:
    """`aws/eu-west-1/arm64=ami-0123` -> the mapping of a file. Raises CliError."""
    found: dict[str, dict[str, str]] = {}
    for option in options:
        place, _, identity = option.partition("=")
        region, _, architecture = place.rpartition("/")
        if not identity or region.count("/") != 1:
            why = "it is not CLOUD/REGION/ARCHITECTURE=ID"
            example = "--image aws/eu-west-1/arm64=ami-0123456789abcdef0"
            raise CliError("no image was published", where=f"--image {option}", why=why, next_step=example)
        found.setdefault(region, {})[architecture] = identity
    return found


def _problem(field: str, message: str) -> str:
    return f"`{field}`: {message}" if field else message

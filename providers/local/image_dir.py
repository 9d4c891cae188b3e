"""An image of the local cloud: a directory of Kafka releases, `<version>/libs`, below the one of the settings.

Every provisioner loads this: it imports nothing of the provider.
"""

from collections.abc import Mapping
from pathlib import Path

IMAGE = "kedge-image"
"""The tag of a VM that says which directory it was made from; without it that of the settings itself."""


def image_dir(kafka_dir: str, given: Mapping[str, str]) -> str:
    """Where a VM with these tags finds its Kafka."""
    image = given.get(IMAGE)
    return str(Path(kafka_dir) / image) if image else kafka_dir

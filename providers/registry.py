"""Name of a cloud -> its provider, imported only when a spec first names it: SDKs are large and most users have one."""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from events.extras import extra_missing, how_to_add
from providers.base import CloudProvider
from providers.errors import PlaceUnknown, SdkMissing

_PROVIDERS = {
    "aws": "providers.aws.cloud:AwsCloud",
    "azure": "providers.azure.cloud:AzureCloud",
    "digitalocean": "providers.digitalocean.cloud:DigitaloceanCloud",
    "google": "providers.google.cloud:GoogleCloud",
    "hetzner": "providers.hetzner.cloud:HetznerCloud",
    "local": "providers.local.cloud:LocalCloud",
    "upcloud": "providers.upcloud.cloud:UpcloudCloud",
}


def names() -> tuple[str, ...]:
    """Clouds there is a provider for."""
    return tuple(sorted(_PROVIDERS))


def load(cloud: str, **settings: object) -> CloudProvider:
    """Build the provider of a cloud from its settings (the keyword arguments of its class).

    Raises `PlaceUnknown` for a name nobody implements, `SdkMissing` where this machine lacks what the cloud takes.
    """
    if cloud not in _PROVIDERS:
        raise PlaceUnknown(f"there is no cloud {cloud!r}; there is {', '.join(names())}")
    module, _, attribute = _PROVIDERS[cloud].partition(":")
    try:
        factory = cast(Callable[..., CloudProvider], getattr(import_module(module), attribute))
    except ModuleNotFoundError as missing:
        if not extra_missing(missing):
            raise
        told = f"cloud {cloud!r} takes `{missing.name}`, which is not installed here: {how_to_add(cloud)}"
        raise SdkMissing(told) from None
    return factory(**settings)

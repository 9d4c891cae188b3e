"""What a failed Terraform command means, in the words of its cloud."""

from providers.base import CloudProvider, Place
from providers.errors import ProviderError, RateLimited, TerraformFailed
from providers.tf.abilities import RecognisesErrors, SharesCalls


def diagnosed(error: TerraformFailed, provider: CloudProvider, place: Place) -> ProviderError:
    """The cloud's own error where it is recognised, else the same one. After a throttle nobody calls for a while."""
    recognised = provider.recognise(error.diagnostics) if isinstance(provider, RecognisesErrors) else None
    if isinstance(recognised, RateLimited) and isinstance(provider, SharesCalls):
        provider.calls(place).pause()
    return recognised or error

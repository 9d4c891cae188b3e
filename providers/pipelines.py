"""SDKs built on azure-core (Azure's own and DigitalOcean's): every try of every call takes a token of its account."""

from typing import Any

from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import SansIOHTTPPolicy

from providers.call_budget import PATIENCE_S, TokenBucket

_THROTTLED = 429


class CountedCalls(SansIOHTTPPolicy[Any, Any]):
    """Stands behind the retries (`per_retry_policies`), so that each of them counts."""

    def __init__(self, bucket: TokenBucket) -> None:
        self._bucket = bucket

    def on_request(self, request: PipelineRequest[Any]) -> None:
        """Raises `RateLimited` where the token comes too late."""
        self._bucket.take(patience_s=PATIENCE_S)

    def on_response(self, request: PipelineRequest[Any], response: PipelineResponse[Any, Any]) -> None:
        """A throttle makes everybody wait who calls for this account."""
        answer = response.http_response
        self._bucket.heard(dict(answer.headers), throttled=answer.status_code == _THROTTLED)

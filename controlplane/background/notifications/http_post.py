"""One POST to a service people named: never past what the settings allow, never with its URL in an error or a log."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx

from controlplane.background.notifications.binding import (
    PAGERDUTY,
    NotifierBinding,
    NotifierUnusable,
    kept_secret,
    require_safe,
)
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.runtime.egress import Egress, EgressRefused, keep_calls_out_of_logs


class HttpPost:
    """Posts to the URL of one notifier. Files are read at each call, so that a rotated secret needs no restart."""

    def __init__(self, binding: NotifierBinding, egress: Egress, timeout_s: float) -> None:
        self._binding, self._egress, self._timeout_s = binding, egress, timeout_s
        self._clients: dict[str, httpx.Client] = {}
        keep_calls_out_of_logs()

    def send(self, body: bytes, *, path: str = "", headers: Mapping[str, str] | None = None) -> None:
        """Returns once the answer is 2xx. Redirects are not followed. Raises NotDelivered, without a secret in it."""
        where = self._binding.where
        try:
            url = self._url() + path
            sent = {"Content-Type": "application/json", **(headers or {})}
            response = self._client(urlsplit(url).hostname or "").post(url, content=body, headers=sent)
        except EgressRefused as refused:
            raise NotDelivered(f"{where} was not called: {refused}") from None
        except (NotifierUnusable, ValueError) as error:
            raise NotDelivered(str(error)) from error
        except httpx.HTTPError as error:
            # Its text may name the URL, which may be a secret.
            raise NotDelivered(f"{where} did not answer: {type(error).__name__}") from None
        if not response.is_success:
            raise NotDelivered(f"{where} answered {response.status_code}")

    def close(self) -> None:
        """Gives its connections back."""
        for client in self._clients.values():
            client.close()

    def _client(self, host: str) -> httpx.Client:
        """One for the host the settings or their file name; a file may come to name another."""
        if host not in self._clients:
            self._clients[host] = self._egress.client({host}, timeout=self._timeout_s, by_proxy=False)
        return self._clients[host]

    def _url(self) -> str:
        binding = self._binding
        url = binding.url or (PAGERDUTY if binding.kind == "pagerduty" and binding.url_file is None else "")
        if not url and binding.url_file is not None:
            url = kept_secret(binding.url_file, f"notifier {binding.name}").get_secret_value()
        require_safe(url, binding.name)
        return url.rstrip("/") if binding.kind == "alertmanager" else url

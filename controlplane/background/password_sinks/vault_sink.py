"""Passwords as secrets of a HashiCorp Vault: KV engine of version 2, held to its HTTP API (api-docs/secret/kv/kv-v2).

Each write is checked and set (`cas`): against the version that was read just before, so that what somebody else puts
there meanwhile is not replaced unseen, and a second server that writes the same does it once. A secret that Kedge did
not write is left alone.
"""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.tokens import kept_token
from controlplane.background.password_sinks.sink import NotWritten, UserPassword
from controlplane.background.password_sinks.vault_binding import VaultBinding
from controlplane.runtime.bounded_answers import AnswerTooLong, whole_answer
from controlplane.runtime.egress import Egress, EgressRefused, keep_calls_out_of_logs
from controlplane.runtime.private_file import PrivateFileUnusable, private_text
from events.secrets import remember, without_secrets
from events.spec.problems import shorten

TIMEOUT_S = 10.0
MOST_BYTES = 1024 * 1024
_UNUSABLE, _AWAY, _CONFLICT = "SinkUnusable", "SinkAway", "SinkConflict"
_LATER = {412: "is not up to date yet", 429: "is asked too often", 473: "is a standby", 503: "is sealed, or is down"}
_BY = "kedge"
_CAS = "check-and-set"


@dataclass(frozen=True, slots=True)
class _KvAnswer:
    status: int
    data: Mapping[str, Any]
    errors: str


@dataclass(frozen=True, slots=True)
class VaultSink:
    """`name`: as specs call it. Token and CAs are read at each password: rotate at will."""

    name: str
    binding: VaultBinding
    egress: Egress
    timeout_s: float = TIMEOUT_S

    def put(self, one: UserPassword) -> None:
        """See PasswordSink."""
        remember(one.password.get_secret_value(), passing=True)  # Vault may repeat what it was sent in an error
        path, wanted = self.binding.secret_path(one.cluster, one.user), _secret_of(one)
        headers = self._headers()
        with self._client() as http:
            version, there = self._read(http, headers, path)
            if there == wanted:
                return
            if there and there.get("managed_by") != _BY:
                raise self._fault(
                    _UNUSABLE, path, "holds what Kedge did not write: move it away, or give the sink another `path`"
                )
            self._write(http, headers, path, {"options": {"cas": version}, "data": wanted})

    def _read(self, http: httpx.Client, headers: Mapping[str, str], path: str) -> tuple[int, Mapping[str, Any]]:
        """The version that is the last one there, 0 where none was ever written, and what it says, nothing where it was
        deleted."""
        answer = self._ask(http, headers, "GET", path)
        found = answer.data.get("metadata")
        version = found.get("version") if isinstance(found, dict) else None
        if answer.status == 404 and version is None and not answer.errors:
            return 0, {}
        if answer.status not in (200, 404) or type(version) is not int:
            raise self._refusal(answer, path, "read")
        said = answer.data.get("data")
        return version, said if isinstance(said, dict) else {}

    def _write(self, http: httpx.Client, headers: Mapping[str, str], path: str, body: Mapping[str, Any]) -> None:
        answer = self._ask(http, headers, "POST", path, body)
        if answer.status == 400 and _CAS in answer.errors:
            why = "was written by somebody else at the same time; it is read and written again"
            raise self._fault(_CONFLICT, path, why)
        if answer.status == 204 or (answer.status == 200 and type(answer.data.get("version")) is not int):
            why = f"was taken without a version: `{self.binding.mount}` is no KV engine of version 2; name one that is"
            raise self._fault(_UNUSABLE, path, why, of_sink=True)
        if answer.status != 200:
            raise self._refusal(answer, path, "written")

    def _ask(
        self,
        http: httpx.Client,
        headers: Mapping[str, str],
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
    ) -> _KvAnswer:
        """Raises NotWritten where it does not answer."""
        url = f"{self.binding.vault.rstrip('/')}/v1/{self.binding.mount.strip('/')}/data/{path}"
        try:
            with http.stream(method, url, json=body, headers=headers) as response:
                text = whole_answer(response.iter_raw(), most_bytes=MOST_BYTES, within_s=self.timeout_s)
        except EgressRefused as refused:
            raise self._fault(_UNUSABLE, "", f"was not called: {refused}", of_sink=True) from None
        except AnswerTooLong:
            why = f"answered more than {MOST_BYTES} bytes, or for longer than {self.timeout_s:g} s"
            raise self._fault(_AWAY, "", why, of_sink=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Its text may name what was sent.
            raise self._fault(_AWAY, "", f"did not answer ({type(error).__name__})", of_sink=True) from None
        return _answer_of(response.status_code, text)

    def _refusal(self, answer: _KvAnswer, path: str, done: str) -> NotWritten:
        status, said = answer.status, f" ({answer.errors})" if answer.errors else ""
        binding = self.binding
        if status == 403:
            why = (
                f"may not be {done}{said}: the token has ended, or its policy lacks `create`, `update` and `read` on "
                f"`{binding.mount}/data/{path}`"
            )
            return self._fault(_UNUSABLE, path, why)
        if status == 404 or (status == 200 and done == "read"):
            why = f"cannot be {done}{said}: there is no KV engine of version 2 at `{binding.mount}`; name one that is"
            return self._fault(_UNUSABLE, path, why, of_sink=True)
        if status in (301, 302, 307, 308):
            why = f"answers {status}, and sends elsewhere: name the active server's address, or let it forward requests"
            return self._fault(_UNUSABLE, "", why, of_sink=True)
        if status in _LATER or status >= 500:
            words = _LATER.get(status, "failed")
            return self._fault(_AWAY, "", f"{words}: it answered {status}{said}", of_sink=True)
        return self._fault(_UNUSABLE, path, f"was not {done}: it answered {status}{said}")

    def _headers(self) -> Mapping[str, str]:
        """Raises NotWritten."""
        binding = self.binding
        try:
            if binding.token_file is not None:
                private_text(binding.token_file)
            token = kept_token(binding.token_env, binding.token_file)
        except PrivateFileUnusable as unusable:
            why = f"has no token: the file {binding.token_file} (token_file) {unusable}"
            raise self._fault(_UNUSABLE, "", why, of_sink=True) from None
        except SourceFault as fault:
            raise self._fault(_UNUSABLE, "", f"has no token: {fault.message}", of_sink=True) from None
        if not token.get_secret_value().isascii():
            why = "has no token: what its file or variable holds has letters that no token of a Vault has"
            raise self._fault(_UNUSABLE, "", why, of_sink=True)
        headers = {
            "X-Vault-Token": token.get_secret_value(),
            "X-Vault-Request": "true",
            "Accept-Encoding": "identity",
        }
        return {**headers, "X-Vault-Namespace": binding.namespace} if binding.namespace else headers

    def _client(self) -> httpx.Client:
        """Raises NotWritten."""
        keep_calls_out_of_logs()
        file = self.binding.ca_file
        try:
            context = ssl.create_default_context(cafile=str(file) if file is not None else None)
        except (OSError, ssl.SSLError) as error:
            why = f"has no CA to be believed by: {file} (ca_file) cannot be read: {type(error).__name__}"
            raise self._fault(_UNUSABLE, "", why, of_sink=True) from None
        return self.egress.client({self.binding.host}, timeout=self.timeout_s, verify=context)

    def _fault(self, reason: str, path: str, why: str, *, of_sink: bool = False) -> NotWritten:
        where = f"{self.binding.vault}" + (f" `{self.binding.mount}/{path}`" if path else "")
        return NotWritten(reason, f"sink `{self.name}`: {where} {why}", of_sink=of_sink)


def _secret_of(one: UserPassword) -> dict[str, str]:
    """Text alone, as KV stores it. `number` tells this password from each other one of the cluster."""
    return {
        "username": one.user,
        "password": one.password.get_secret_value(),
        "mechanism": "SCRAM-SHA-512",
        "cluster": one.cluster,
        "number": str(one.number),
        "managed_by": _BY,
    }


def _answer_of(status: int, text: bytes) -> _KvAnswer:
    """What it says of an error, without what is secret to us; nothing of what is no JSON."""
    try:
        document = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        document = {}
    document = document if isinstance(document, dict) else {}
    data, errors = document.get("data"), document.get("errors")
    words = "; ".join(str(one) for one in errors) if isinstance(errors, list) else ""
    said = shorten(without_secrets(" ".join(words.split())), 300)
    return _KvAnswer(status, data if isinstance(data, dict) else {}, said)

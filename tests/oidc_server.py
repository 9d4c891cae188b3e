"""A real OpenID provider (npm's `oidc-provider`) on loopback, ended by its process id."""

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from joserfc.jwk import RSAKey

from tests.tools.oidc.install import FILES, HERE, folder

CACHE = Path(__file__).parents[1] / ".cache"
CLIENT, SECRET = "kedge", "a secret of the tests / with a slash"
PEOPLE: dict[str, dict[str, Any]] = {
    "ada": {"email": "ada@example.com", "email_verified": True, "groups": ["platform"]},
    "eve": {"email": "eve@evil.example", "email_verified": True, "groups": ["platform"]},
    "bob": {"email": "bob@example.com", "email_verified": False, "groups": ["platform"]},
}


@dataclass
class OidcServer:
    """`issuer` is known before it starts; it may be started again with other keys or people."""

    port: int
    redirects: list[str]
    ways_out: list[str]
    people: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(PEOPLE))
    kid: str = "first"
    backchannel: str = ""
    """Where it says that somebody was signed out; "" where it tells nobody."""

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """While it listens."""
        there, node = folder(CACHE), shutil.which("node")
        is_current = all((there / n).is_file() and (there / n).read_bytes() == (HERE / n).read_bytes() for n in FILES)
        assert node is not None, "install Node.js 20: the tests' OpenID provider runs on it"
        assert is_current, "`make setup` installs the tests' OpenID provider"
        key = RSAKey.generate_key(2048, {"kid": self.kid, "use": "sig", "alg": "RS256"})
        told = {
            "port": self.port,
            "client": CLIENT,
            "secret": SECRET,
            "redirects": self.redirects,
            "ways_out": self.ways_out,
            "people": self.people,
            "keys": [key.as_dict(private=True)],
            "backchannel": self.backchannel,
        }
        command = [node, "provider.mjs", json.dumps(told)]
        process = subprocess.Popen(command, cwd=there, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("listening"), "the provider does not start"
            yield
        finally:
            process.terminate()
            process.wait(timeout=10)


def sign_out_there(browser: httpx.Client, url: str) -> None:
    """Opens the provider's way out and says yes to it."""
    asked = browser.get(url)
    form = re.search(r'<form[^>]*action="([^"]+)"', asked.text)
    secret = re.search(r'name="xsrf" value="([^"]+)"', asked.text)
    assert form is not None, asked.text[:2000]
    assert secret is not None, asked.text[:2000]
    done = browser.post(asked.request.url.join(form[1]), data={"xsrf": secret[1], "logout": "yes"})
    assert done.is_redirect or done.is_success, done.text[:2000]


def free_port() -> int:
    """A port of loopback that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port: int = door.getsockname()[1]
        return port


def sign_in_there(browser: httpx.Client, url: str, login: str) -> httpx.URL:
    """Follows a browser through the provider's pages until it is sent back. Returns where to."""
    answer = browser.get(url)
    for _ in range(12):
        if answer.is_redirect:
            wanted = answer.request.url.join(answer.headers["location"])
            if wanted.path.endswith("/oidc/callback"):
                return wanted
            answer = browser.get(wanted)
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
        prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
        assert form is not None, answer.text[:2000]
        assert prompt is not None, answer.text[:2000]
        fields = {"prompt": prompt[1], "login": login, "password": "any"}
        answer = browser.post(answer.request.url.join(form[1]), data=fields)
    raise AssertionError("the provider goes round in circles")

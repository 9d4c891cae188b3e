"""A real server, a repository behind `git http-backend`, commits signed by a real key, and a forge on real HTTP.

Commits become statuses, a roll back becomes a pull request, and merging that is what rolls back.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.storage.home import Home
from tests.contract.git_repositories import Upstream, Web
from tests.contract.server_process import eventually
from tests.contract.test_api_server import PAUSED, Server
from tests.fakes.forges import PROJECT, TOKEN, ForgeWorld, served
from tests.fakes.github import GitHubFake
from tests.unit.events.spec_texts import edited

LARGER = edited({19: "      size: 6"}, PAUSED)
BROKEN = edited({7: "    version: 9.9.9"}, PAUSED)
ORDERS = "kafka/orders.yaml"


@dataclass
class Stage:
    """The server, whom it polls, and the forge that stands for the same repository."""

    server: Server
    upstream: Upstream
    world: ForgeWorld
    key: Path

    def push(self, files: dict[str, str]) -> str:
        """A signed commit, in the repository and on its forge."""
        for path, content in files.items():
            self.upstream.write(path, content)
        signing = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={self.key}")
        self.upstream.git("add", "--all")
        self.upstream.git(*signing, "commit", "--quiet", "-S", "--message", "change")
        commit = self.upstream.git("rev-parse", "HEAD")
        kept = self.world.files_of("main") or {}
        self.world.commits[commit] = self.world.add({**kept, **files}, "", "change", ("Ada", "ada@example.org"))
        self.world.commits[commit].id = commit
        self.world.branches["main"] = commit
        self.upstream.force_push()
        return commit

    def status(self, commit: str) -> dict[str, Any]:
        found = [one for one in self.world.statuses if one["commit"] == commit]
        return found[-1] if found else {"state": ""}

    def source(self) -> dict[str, Any]:
        found: dict[str, Any] = self.server.get("/v1/sources").json()[0]
        return found


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    upstream, key, signers = Upstream(tmp_path), tmp_path / "ada", tmp_path / "signers"
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(made, check=True, capture_output=True, timeout=30)
    signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    with Web(tmp_path).serving() as web, served(GitHubFake()) as world:
        binding = {
            "name": "teams",
            "repository": f"{web.url}/specs.git",
            "path": "kafka",
            "poll_s": 0.3,
            "signers_file": str(signers),
            "forge": {"kind": "github", "url": world.url, "project": PROJECT, "token_env": "BOT_TOKEN"},
        }
        server = Server(Home(tmp_path / "home"), KEDGE_GIT=json.dumps([binding]), BOT_TOKEN=TOKEN)
        try:
            yield Stage(server.wait_until_it_listens(), upstream, world, key)
        finally:
            server.end()


def test_a_signed_commit_gets_its_status_and_what_it_broke_is_rolled_back_by_a_request(stage: Stage) -> None:
    server, world = stage.server, stage.world
    first = stage.push({ORDERS: PAUSED})
    eventually(lambda: stage.status(first)["state"] == "success", server)
    assert stage.status(first)["description"] == "1 cluster in force"
    eventually(lambda: stage.source()["forge"]["commit"] == first, server)
    assert stage.source()["signed_by"].startswith("SHA256:")
    cluster = server.get("/v1/clusters/orders").json()
    assert cluster["source"]["signed_by"] == stage.source()["signed_by"]

    bad = stage.push({ORDERS: LARGER, "kafka/bad.yaml": BROKEN.replace("orders", "bad")})
    eventually(lambda: stage.status(bad)["state"] == "failure", server)
    assert stage.status(bad)["description"].startswith("1 error in 1 file: kafka/bad.yaml:7 ")
    eventually(lambda: len(world.comments) == 1, server)
    assert "    kafka/bad.yaml:7:" in world.comments[0][1]

    told = server.post("/v1/clusters/orders/rollback", {"to": 1, "reason": "too large"})
    assert told.status_code == 200, told.text
    branch = told.json()["request"]["branch"]
    files = world.files_of(branch)
    assert files is not None
    assert files[ORDERS] == PAUSED
    assert server.get("/v1/clusters/orders").json()["generation"] == 2

    merged = stage.push(files)
    eventually(lambda: server.get("/v1/clusters/orders").json()["generation"] == 3, server)
    eventually(lambda: stage.status(merged)["state"] == "failure", server)
    assert len([one for one in world.statuses if one["commit"] == first]) == 1
    assert TOKEN not in server.log

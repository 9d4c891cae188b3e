"""GitHub, its own and Enterprise servers. REST API of 2022-11-28; the document: npm `@octokit/openapi`.

The token needs: commit statuses, contents and pull requests, each to write (for a classic one: `repo`).
"""

from typing import Any
from urllib.parse import quote

from controlplane.background.forges.calls import ForgeCalls, listed
from controlplane.background.forges.forge import CommitStatus, FileChange, PullRequest, State
from controlplane.background.git_sync.forge_binding import ForgeAddress, ForgeBinding
from controlplane.runtime.egress import Egress
from events.clock import Clock

_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "kedge"}
_STATES: dict[str, State] = {"pending": "pending", "success": "success", "failure": "failure", "error": "failure"}


class GitHub:
    """A `Forge`."""

    longest_description = 140

    def __init__(self, binding: ForgeBinding, address: ForgeAddress, *, clock: Clock, egress: Egress) -> None:
        self.where = f"github {address.project}"
        self._owner = address.project.partition("/")[0]
        self._base = f"/repos/{address.project}"
        self._calls = ForgeCalls(binding, address.api, _HEADERS, where=self.where, clock=clock, egress=egress)

    def status(self, commit: str, context: str) -> CommitStatus | None:
        """See Forge. The newest is the first; contexts differ by more than case."""
        what = f"reading the statuses of {commit[:7]}"
        answer = self._calls.ask(
            "GET", f"{self._base}/commits/{commit}/statuses", what=what, query={"per_page": "100"}
        ).data
        for one in listed(answer):
            if str(one.get("context", "")).lower() == context.lower() and one.get("state") in _STATES:
                description, url = one.get("description") or "", one.get("target_url") or ""
                return CommitStatus(_STATES[one["state"]], description, context, url)
        return None

    def post_status(self, commit: str, status: CommitStatus) -> None:
        body = {"state": status.state, "description": status.description, "context": status.context}
        if status.url:
            body["target_url"] = status.url
        self._calls.ask("POST", f"{self._base}/statuses/{commit}", what=f"posting a status to {commit[:7]}", body=body)

    def comments(self, commit: str) -> list[str]:
        what = f"reading the comments of {commit[:7]}"
        answer = self._calls.ask(
            "GET", f"{self._base}/commits/{commit}/comments", what=what, query={"per_page": "100"}
        ).data
        return [str(one.get("body") or "") for one in listed(answer)]

    def comment(self, commit: str, text: str) -> None:
        what = f"commenting {commit[:7]}"
        self._calls.ask("POST", f"{self._base}/commits/{commit}/comments", what=what, body={"body": text})

    def read(self, path: str, ref: str) -> str | None:
        """See Forge. Contents come up to 1 MB."""
        return self._calls.file(f"{self._base}/contents/{quote(path)}", ref, what=f"reading {path}")

    def open_request(self, change: FileChange) -> PullRequest:
        """See Forge. The branch appears with its commit or not at all; one that is there has it."""
        known = self._open_request(change)
        if known is not None:
            return known
        commit = self._committed(change)
        ref = {"ref": f"refs/heads/{change.branch}", "sha": commit}
        self._made_branch(ref, change)
        body = {"title": change.title, "body": change.body, "head": change.branch, "base": change.base}
        what = f"opening a pull request from {change.branch}"
        return self._request(self._calls.ask("POST", f"{self._base}/pulls", what=what, body=body).data, change, what)

    def close(self) -> None:
        self._calls.close()

    def _open_request(self, change: FileChange) -> PullRequest | None:
        what = f"looking for a pull request from {change.branch}"
        query = {"head": f"{self._owner}:{change.branch}", "base": change.base, "state": "open"}
        found = listed(self._calls.ask("GET", f"{self._base}/pulls", what=what, query=query).data)
        return self._request(found[0], change, what) if found else None

    def _committed(self, change: FileChange) -> str:
        """A commit of the one file on top of the base, on no branch yet."""
        what = f"committing {change.path}"
        tip = self._part(f"/git/ref/heads/{quote(change.base)}", what, "object", "sha")
        tree = self._part(f"/git/commits/{tip}", what, "tree", "sha")
        file = {"path": change.path, "mode": "100644", "type": "blob", "content": change.text}
        fresh = self._made("/git/trees", {"base_tree": tree, "tree": [file]}, what)
        author = {"name": change.author_name, "email": change.author_email}
        commit = {"message": f"{change.title}\n\n{change.body}", "tree": fresh, "parents": [tip], "author": author}
        return self._made("/git/commits", commit, what)

    def _made_branch(self, ref: dict[str, str], change: FileChange) -> None:
        what = f"making the branch {change.branch}"
        answer = self._calls.ask("POST", f"{self._base}/git/refs", what=what, body=ref, also=(422,))
        if answer.status == 422:
            # It says the same of a branch that is there and of one that may not be: looking tells them apart.
            self._part(f"/git/ref/heads/{quote(change.branch)}", what, "object", "sha")

    def _part(self, path: str, what: str, *steps: str) -> str:
        answer = self._calls.ask("GET", f"{self._base}{path}", what=what).data
        try:
            for step in steps:
                answer = answer[step]
        except (KeyError, TypeError):
            raise self._calls.unreadable(what) from None
        return str(answer)

    def _made(self, path: str, body: dict[str, Any], what: str) -> str:
        answer = self._calls.ask("POST", f"{self._base}{path}", what=what, body=body).data
        try:
            return str(answer["sha"])
        except (KeyError, TypeError):
            raise self._calls.unreadable(what) from None

    def _request(self, answer: Any, change: FileChange, what: str) -> PullRequest:
        return self._calls.request(answer, change.branch, number="number", url="html_url", what=what)

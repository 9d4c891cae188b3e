"""GitLab, its own and self-managed. REST API v4; shapes after npm `@gitbeaker/core`.

The token needs the scope `api` and the role Developer; a commit status on a protected branch takes who may merge there.
"""

from typing import Any
from urllib.parse import quote

from controlplane.background.forges.calls import ForgeCalls, listed
from controlplane.background.forges.forge import CommitStatus, FileChange, PullRequest, State
from controlplane.background.git_sync.forge_binding import ForgeAddress, ForgeBinding
from controlplane.runtime.egress import Egress
from events.clock import Clock

_STATES: dict[str, State] = {"success": "success", "failed": "failure", "canceled": "failure", "skipped": "failure"}
"""All others are on their way."""
_WORDS = {"pending": "pending", "success": "success", "failure": "failed"}


class GitLab:
    """A `Forge`."""

    longest_description = 255

    def __init__(
        self, binding: ForgeBinding, address: ForgeAddress, branch: str, *, clock: Clock, egress: Egress
    ) -> None:
        self.where = f"gitlab {address.project}"
        self._branch = branch
        self._base = f"/projects/{quote(address.project, safe='')}"
        self._calls = ForgeCalls(
            binding, address.api, {"User-Agent": "kedge"}, where=self.where, clock=clock, egress=egress
        )

    def status(self, commit: str, context: str) -> CommitStatus | None:
        """See Forge. Ids grow, so the newest is the one with the highest."""
        what = f"reading the statuses of {commit[:7]}"
        query = {"name": context, "ref": self._branch, "per_page": "100"}
        answer = self._calls.ask(
            "GET", f"{self._base}/repository/commits/{commit}/statuses", what=what, query=query
        ).data
        found = [one for one in listed(answer) if one.get("name") == context and isinstance(one.get("id"), int)]
        if not found:
            return None
        newest = max(found, key=lambda one: int(one["id"]))
        state = _STATES.get(str(newest.get("status")), "pending")
        return CommitStatus(state, newest.get("description") or "", context, newest.get("target_url") or "")

    def post_status(self, commit: str, status: CommitStatus) -> None:
        """See Forge. A status that stays pending is refused as no change (400): then nothing is to be said."""
        body = {"state": _WORDS[status.state], "name": status.context, "ref": self._branch}
        body |= {"description": status.description} | ({"target_url": status.url} if status.url else {})
        what, stays = f"posting a status to {commit[:7]}", (400,) if status.state == "pending" else ()
        answer = self._calls.ask("POST", f"{self._base}/statuses/{commit}", what=what, body=body, also=stays)
        if answer.status == 400 and "Cannot transition" not in str(answer.data):
            raise self._calls.unreadable(what)

    def comments(self, commit: str) -> list[str]:
        what, query = f"reading the comments of {commit[:7]}", {"per_page": "100"}
        answer = self._calls.ask(
            "GET", f"{self._base}/repository/commits/{commit}/comments", what=what, query=query
        ).data
        return [str(one.get("note") or "") for one in listed(answer)]

    def comment(self, commit: str, text: str) -> None:
        what = f"commenting {commit[:7]}"
        self._calls.ask("POST", f"{self._base}/repository/commits/{commit}/comments", what=what, body={"note": text})

    def read(self, path: str, ref: str) -> str | None:
        file = quote(path, safe="")
        return self._calls.file(f"{self._base}/repository/files/{file}", ref, what=f"reading {path}")

    def open_request(self, change: FileChange) -> PullRequest:
        """See Forge. One call makes commit and branch; a branch that is there has its commit."""
        known = self._open_request(change)
        if known is not None:
            return known
        self._commit(change)
        body = {
            "source_branch": change.branch,
            "target_branch": change.base,
            "title": change.title,
            "description": change.body,
            "remove_source_branch": True,
        }
        what = f"opening a merge request from {change.branch}"
        answer = self._calls.ask("POST", f"{self._base}/merge_requests", what=what, body=body).data
        return self._request(answer, change, what)

    def close(self) -> None:
        self._calls.close()

    def _open_request(self, change: FileChange) -> PullRequest | None:
        what = f"looking for a merge request from {change.branch}"
        query = {"source_branch": change.branch, "target_branch": change.base, "state": "opened"}
        found = listed(self._calls.ask("GET", f"{self._base}/merge_requests", what=what, query=query).data)
        return self._request(found[0], change, what) if found else None

    def _commit(self, change: FileChange) -> None:
        what, branch = f"committing {change.path}", quote(change.branch, safe="")
        there = self._calls.ask("GET", f"{self._base}/repository/branches/{branch}", what=what, also=(404,))
        if there.status != 404:
            return
        body = {
            "branch": change.branch,
            "start_branch": change.base,
            "commit_message": f"{change.title}\n\n{change.body}",
            "author_name": change.author_name,
            "author_email": change.author_email,
            "actions": [
                {
                    "action": "create" if change.is_new else "update",
                    "file_path": change.path,
                    "content": change.text,
                }
            ],
        }
        self._calls.ask("POST", f"{self._base}/repository/commits", what=what, body=body)

    def _request(self, answer: Any, change: FileChange, what: str) -> PullRequest:
        return self._calls.request(answer, change.branch, number="iid", url="web_url", what=what)

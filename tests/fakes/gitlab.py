"""GitLab as far as Kedge asks it. Quirks: a status that stays pending is refused, so are commits to a branch that is
there with another start, and a second merge request of a branch; 255 characters a status. What is asked and sent is
held to GitLab's own document, and to the types of a client; what is answered to both."""

from collections.abc import Mapping
from typing import Any

from tests.fakes.forges import PROJECT, ForgeFake, Reply, encoded, sha
from tests.fakes.gitlab_document import kept
from tests.fakes.gitlab_published import faults_of_body, faults_of_query, published, unknown_fields

_COMMITS = "/projects/{id}/repository/commits"
_MISSING = Reply(404, {"message": "404 Project Not Found"})


class GitLabFake(ForgeFake):
    """See ForgeFake."""

    api = "/api/v4"
    stranger = "401 Unauthorized"
    document = kept()

    def routed(self, method: str, steps: list[str], query: Mapping[str, str], given: dict[str, Any]) -> Reply:
        """See ForgeFake."""
        if steps[:2] != ["projects", PROJECT]:
            return _MISSING
        call = f"{method} {_called(steps[2:])}"
        if call in published()["calls"] and method == "GET" and (refused := self._asked_wrongly(call, query)):
            return refused
        match method, *steps[2:]:
            case "GET", "repository", "commits", commit, "statuses":
                return self._statuses(commit, query)
            case "POST", "statuses", commit:
                return self._post_status(commit, given)
            case "GET", "repository", "commits", commit, "comments":
                found = [self.told(call, 200, note=text) for one, text in self.world.comments if one == commit]
                return Reply(200, found)
            case "POST", "repository", "commits", commit, "comments":
                return self._post_comment(commit, given)
            case "GET", "repository", "files", path:
                return self._file(path, query["ref"])
            case "GET", "repository", "branches", branch:
                return self._branch(branch)
            case "POST", "repository", "commits":
                return self._post_commit(given)
            case "GET", "merge_requests":
                return self._requests(query)
            case "POST", "merge_requests":
                return self._post_request(given)
        return _MISSING

    def wrong(self, call: str, given: dict[str, Any]) -> list[str]:
        """See ForgeFake."""
        return [*faults_of_body(call, given), *super().wrong(call, given)]

    def told(self, call: str, code: int, /, **said: Any) -> dict[str, Any]:
        """See ForgeFake."""
        assert not (strange := unknown_fields(call, said)), (call, strange)
        return super().told(call, code, **said)

    def _asked_wrongly(self, call: str, query: Mapping[str, str]) -> Reply | None:
        """GitLab itself passes over what it does not know; whoever sends that means something by it."""
        wrong = faults_of_query(call, query)
        return Reply(400, {"error": "; ".join(wrong)}) if wrong else None

    def _statuses(self, commit: str, query: Mapping[str, str]) -> Reply:
        if commit not in self.world.commits:
            return Reply(404, {"message": "404 Commit Not Found"})
        found = [one for one in self.world.statuses if one["commit"] == commit and one["name"] == query["name"]]
        return Reply(200, [self._status("GET", 200, one) for one in found if one["ref"] == query["ref"]][-1:])

    def _post_status(self, commit: str, given: dict[str, Any]) -> Reply:
        world = self.world
        wrong = self.wrong("POST /projects/{id}/statuses/{sha}", given)
        if len(given.get("description") or "") > 255:
            wrong.append("description is too long (maximum is 255 characters)")
        same = [s for s in world.statuses if (s["commit"], s["name"]) == (commit, given.get("name"))]
        if same and same[-1]["state"] == given.get("state") == "pending":
            wrong.append("Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition)")
        if wrong:
            return Reply(400, {"message": "; ".join(wrong)})
        if commit not in world.commits:
            return Reply(404, {"message": "404 Commit Not Found"})
        world.statuses.append({"commit": commit, "id": len(world.statuses) + 1, **given})
        return Reply(201, self._status("POST", 201, world.statuses[-1]))

    def _status(self, method: str, status: int, one: Mapping[str, Any]) -> dict[str, Any]:
        call = f"GET {_COMMITS}/{{sha}}/statuses" if method == "GET" else "POST /projects/{id}/statuses/{sha}"
        said = {"status": one["state"], "name": one["name"], "id": one["id"], "sha": one["commit"], "ref": one["ref"]}
        return self.told(
            call, status, **said, description=one.get("description", ""), target_url=one.get("target_url", "")
        )

    def _post_comment(self, commit: str, given: dict[str, Any]) -> Reply:
        call = f"POST {_COMMITS}/{{sha}}/comments"
        if wrong := self.wrong(call, given):
            return Reply(400, {"error": "; ".join(wrong)})
        self.world.comments.append((commit, given["note"]))
        return Reply(201, self.told(call, 201, note=given["note"]))

    def _file(self, path: str, ref: str) -> Reply:
        text = (self.world.files_of(ref) or {}).get(path)
        if text is None:
            return Reply(404, {"message": "404 File Not Found"})
        said = {"file_name": path.rpartition("/")[2], "file_path": path, "size": len(text.encode()), "ref": ref}
        content = encoded(text).replace("\n", "")
        call = "GET /projects/{id}/repository/files/{file_path}"
        return Reply(200, self.told(call, 200, **said, encoding="base64", content=content, blob_id=sha(text)))

    def _branch(self, branch: str) -> Reply:
        if branch not in self.world.branches:
            return Reply(404, {"message": "404 Branch Not Found"})
        return Reply(200, self.told("GET /projects/{id}/repository/branches/{branch}", 200, name=branch))

    def _post_commit(self, given: dict[str, Any]) -> Reply:
        world, wrong = self.world, self.wrong(f"POST {_COMMITS}", given)
        if given.get("branch") in world.branches:
            wrong.append(f"A branch called '{given['branch']}' already exists. Switch to that branch to make changes")
        start = world.branches.get(given.get("start_branch", ""), "")
        files = dict(world.commits[start].files) if start else {}
        for action in given.get("actions", ()) if not wrong else ():
            if (action["action"] == "create") == (action["file_path"] in files):
                wrong.append(
                    "A file with this name " + ("already exists" if action["file_path"] in files else "doesn't exist")
                )
            files[action["file_path"]] = action["content"]
        if wrong:
            return Reply(400, {"message": "; ".join(wrong)})
        author = (given["author_name"], given["author_email"])
        commit = world.add(files, start, given["commit_message"], author)
        world.branches[given["branch"]] = commit.id
        return Reply(201, self.told(f"POST {_COMMITS}", 201, id=commit.id, message=commit.message))

    def _requests(self, query: Mapping[str, str]) -> Reply:
        meant = (query["source_branch"], query["target_branch"], query["state"])
        found = [r for r in self.world.requests if (r["source_branch"], r["target_branch"], r["state"]) == meant]
        return Reply(200, [self._request("GET", 200, r) for r in found])

    def _post_request(self, given: dict[str, Any]) -> Reply:
        world, wrong = self.world, self.wrong("POST /projects/{id}/merge_requests", given)
        if wrong:
            return Reply(400, {"error": "; ".join(wrong)})
        branch = given["source_branch"]
        if any(r["source_branch"] == branch and r["state"] == "opened" for r in world.requests):
            return Reply(409, {"message": ["Another open merge request already exists for this source branch: !1"]})
        world.requests.append({**given, "iid": len(world.requests) + 1, "state": "opened"})
        return Reply(201, self._request("POST", 201, world.requests[-1]))

    def _request(self, method: str, status: int, request: Mapping[str, Any]) -> dict[str, Any]:
        url = f"https://gitlab.example.org/{PROJECT}/-/merge_requests/{request['iid']}"
        said = {"iid": request["iid"], "title": request["title"], "web_url": url, "state": request["state"]}
        return self.told(f"{method} /projects/{{id}}/merge_requests", status, **said)


def _called(steps: list[str]) -> str:
    """A path of a project as the document has it."""
    match steps:
        case "repository", "commits", _, what:
            return f"{_COMMITS}/{{sha}}/{what}"
        case "repository", "files", _:
            return "/projects/{id}/repository/files/{file_path}"
        case "repository", "branches", _:
            return "/projects/{id}/repository/branches/{branch}"
    return f"/projects/{{id}}/{'/'.join(steps)}"

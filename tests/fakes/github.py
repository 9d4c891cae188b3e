"""GitHub as far as Kedge asks it. Quirks: 422 for a branch or request that is there, 140 characters a status."""

from collections.abc import Mapping
from typing import Any

from tests.fakes.forges import PROJECT, ForgeFake, Reply, encoded, sha
from tests.fakes.github_document import kept

_REPO = "/repos/{owner}/{repo}"
_MISSING = {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}


class GitHubFake(ForgeFake):
    """See ForgeFake."""

    stranger = "Bad credentials"
    document = kept()

    def routed(self, method: str, steps: list[str], query: Mapping[str, str], given: dict[str, Any]) -> Reply:
        """See ForgeFake."""
        if "/".join(steps[:3]) != f"repos/{PROJECT}":
            return Reply(404, _MISSING)
        match method, *steps[3:]:
            case "GET", "commits", commit, "statuses":
                return self._statuses(commit)
            case "POST", "statuses", commit:
                return self._post_status(commit, given)
            case "GET", "commits", commit, "comments":
                return Reply(200, [self._comment(text) for one, text in self.world.comments if one == commit])
            case "POST", "commits", commit, "comments":
                return self._post_comment(commit, given)
            case "GET", "contents", *path:
                return self._contents("/".join(path), query["ref"])
            case "GET", "git", "ref", "heads", *branch:
                return self._ref("/".join(branch))
            case "GET", "git", "commits", commit:
                return self._commit("GET", commit)
            case "POST", "git", what:
                return self._post_git(what, given)
            case "GET", "pulls":
                return self._pulls(query)
            case "POST", "pulls":
                return self._post_pull(given)
        return Reply(404, _MISSING)

    def _statuses(self, commit: str) -> Reply:
        if commit not in self.world.commits:
            return Reply(404, _MISSING)
        call = f"GET {_REPO}/commits/{{ref}}/statuses"
        found = [self.told(call, 200, **_shown(one)) for one in self.world.statuses if one["commit"] == commit]
        return Reply(200, found[::-1])

    def _post_status(self, commit: str, given: dict[str, Any]) -> Reply:
        call = f"POST {_REPO}/statuses/{{sha}}"
        wrong = self.wrong(call, given)
        if len(given.get("description") or "") > 140:
            wrong.append("description is too long (maximum is 140 characters)")
        if wrong or commit not in self.world.commits:
            return _refused(*(wrong or ["No commit found for SHA"]))
        self.world.statuses.append({"commit": commit, **given})
        return Reply(201, self.told(call, 201, **_shown(self.world.statuses[-1])))

    def _comment(self, text: str) -> dict[str, Any]:
        return self.told(f"GET {_REPO}/commits/{{commit_sha}}/comments", 200, body=text)

    def _post_comment(self, commit: str, given: dict[str, Any]) -> Reply:
        call = f"POST {_REPO}/commits/{{commit_sha}}/comments"
        if wrong := self.wrong(call, given):
            return _refused(*wrong)
        self.world.comments.append((commit, given["body"]))
        return Reply(201, self.told(call, 201, body=given["body"]))

    def _contents(self, path: str, ref: str) -> Reply:
        text = (self.world.files_of(ref) or {}).get(path)
        if text is None:
            return Reply(404, _MISSING)
        call, name = f"GET {_REPO}/contents/{{path}}", path.rpartition("/")[2]
        said = {"type": "file", "encoding": "base64", "content": encoded(text), "size": len(text.encode())}
        return Reply(200, self.told(call, 200, **said, name=name, path=path, sha=sha(text)))

    def _ref(self, branch: str) -> Reply:
        commit = self.world.branches.get(branch)
        if commit is None:
            return Reply(404, _MISSING)
        point = {"type": "commit", "sha": commit}
        return Reply(200, self.told(f"GET {_REPO}/git/ref/{{ref}}", 200, ref=f"refs/heads/{branch}", object=point))

    def _commit(self, method: str, commit: str) -> Reply:
        call, status = (f"GET {_REPO}/git/commits/{{commit_sha}}", 200) if method == "GET" else (_COMMITS, 201)
        return Reply(status, self.told(call, status, sha=commit, tree={"sha": f"tree-of-{commit}"}))

    def _post_git(self, what: str, given: dict[str, Any]) -> Reply:
        if wrong := self.wrong(f"POST {_REPO}/git/{what}", given):
            return _refused(*wrong)
        world = self.world
        if what == "trees":
            base = world.commits[given["base_tree"].removeprefix("tree-of-")]
            files = {**base.files, **{one["path"]: one["content"] for one in given["tree"]}}
            tree = world.add(files, "", "tree", ("", ""))
            return Reply(201, self.told(f"POST {_REPO}/git/trees", 201, sha=f"tree-of-{tree.id}"))
        if what == "commits":
            files = world.commits[given["tree"].removeprefix("tree-of-")].files
            author = (given["author"]["name"], given["author"]["email"])
            return self._commit("POST", world.add(files, given["parents"][0], given["message"], author).id)
        branch = given["ref"].removeprefix("refs/heads/")
        if branch in world.branches:
            return _refused("Reference already exists")
        world.branches[branch] = given["sha"]
        point = {"type": "commit", "sha": given["sha"]}
        return Reply(201, self.told(f"POST {_REPO}/git/refs", 201, ref=given["ref"], object=point))

    def _pulls(self, query: Mapping[str, str]) -> Reply:
        owner, _, branch = query["head"].partition(":")
        meant = (branch, query["base"], query["state"])
        found = [r for r in self.world.requests if (r["head"], r["base"], r["state"]) == meant]
        return Reply(200, [self._pull("GET", 200, r) for r in found] if owner == PROJECT.split("/")[0] else [])

    def _post_pull(self, given: dict[str, Any]) -> Reply:
        wrong = self.wrong(f"POST {_REPO}/pulls", given)
        world = self.world
        if any(r["head"] == given.get("head") and r["state"] == "open" for r in world.requests):
            wrong.append(f"A pull request already exists for platform:{given['head']}.")
        if wrong or given["head"] not in world.branches:
            return _refused(*(wrong or ["head is invalid"]))
        world.requests.append({**given, "number": len(world.requests) + 1, "state": "open"})
        return Reply(201, self._pull("POST", 201, world.requests[-1]))

    def _pull(self, method: str, status: int, request: dict[str, Any]) -> dict[str, Any]:
        url = f"https://github.example.org/{PROJECT}/pull/{request['number']}"
        said = {"number": request["number"], "title": request["title"], "html_url": url, "state": "open"}
        return self.told(f"{method} {_REPO}/pulls", status, **said)


_COMMITS = f"POST {_REPO}/git/commits"


def _shown(status: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "state": status["state"],
        "description": status.get("description"),
        "context": status["context"],
        "target_url": status.get("target_url"),
    }


def _refused(*why: str) -> Reply:
    errors = [{"resource": "Status", "field": "", "code": "custom", "message": one} for one in why]
    return Reply(422, {"message": "Validation Failed", "errors": errors, "documentation_url": "https://docs"})

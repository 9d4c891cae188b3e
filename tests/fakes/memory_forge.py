"""A `Forge` without HTTP, on the same world as the fakes that have it. `fault` is raised by whatever is asked."""

from controlplane.background.forges.forge import CommitStatus, FileChange, ForgeFault, PullRequest
from tests.fakes.forges import PROJECT, ForgeWorld


class MemoryForge:
    """See Forge."""

    where = f"memory {PROJECT}"
    longest_description = 140

    def __init__(self, world: ForgeWorld | None = None) -> None:
        self.world = world or ForgeWorld()
        self.fault: ForgeFault | None = None
        self.calls: list[str] = []

    def status(self, commit: str, context: str) -> CommitStatus | None:
        self._asked("status")
        found = [s["status"] for s in self.world.statuses if (s["commit"], s["status"].context) == (commit, context)]
        return found[-1] if found else None

    def post_status(self, commit: str, status: CommitStatus) -> None:
        self._asked("post_status")
        if len(status.description) > self.longest_description:
            why = "the description is too long"
            raise ForgeFault("Refused", what="posting a status", where=self.where, why=why)
        self.world.statuses.append({"commit": commit, "status": status})

    def comments(self, commit: str) -> list[str]:
        self._asked("comments")
        return [text for one, text in self.world.comments if one == commit]

    def comment(self, commit: str, text: str) -> None:
        self._asked("comment")
        self.world.comments.append((commit, text))

    def read(self, path: str, ref: str) -> str | None:
        self._asked("read")
        return (self.world.files_of(ref) or {}).get(path)

    def open_request(self, change: FileChange) -> PullRequest:
        self._asked("open_request")
        world = self.world
        known = [r for r in world.requests if r["head"] == change.branch]
        if not known:
            if change.branch not in world.branches:
                base = world.branches[change.base]
                files = {**world.commits[base].files, change.path: change.text}
                author = (change.author_name, change.author_email)
                commit = world.add(files, base, f"{change.title}\n\n{change.body}", author)
                world.branches[change.branch] = commit.id
            world.requests.append({"head": change.branch, "title": change.title, "number": len(world.requests) + 1})
            known = world.requests[-1:]
        number = known[0]["number"]
        return PullRequest(number, f"https://forge.example.org/{PROJECT}/pull/{number}", change.branch)

    def close(self) -> None:
        """Nothing is held."""

    def _asked(self, call: str) -> None:
        self.calls.append(call)
        if self.fault is not None:
            raise self.fault

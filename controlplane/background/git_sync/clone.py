"""The real repository: a bare, shallow clone of one branch, kept by the `git` binary.

Nothing is checked out, so no hook, filter, submodule or symbolic link of the repository is ever followed or run: the
files are read out of git's own objects.
"""

import re
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from controlplane.background.git_sync.binding import GitBinding, is_under
from controlplane.background.git_sync.child import Child, GitAnswer, GitLimits, bytes_in, refusal
from controlplane.background.git_sync.environment import CONFIG, base_environment, fetch_environment
from controlplane.background.git_sync.faults import SourceFault
from controlplane.background.git_sync.git_faults import fault_of
from controlplane.background.git_sync.openpgp import GPG, pgp_signature
from controlplane.background.git_sync.repository import LINK, Tip, TreeEntry
from controlplane.background.git_sync.signing import (
    CLAIMED,
    NO_PGP_KEYS,
    NO_SIGNERS,
    NOT_SIGNED,
    OTHER_SIGNATURE,
    Signature,
    judged,
    kind_of,
    signers_in,
)
from controlplane.runtime.egress import Egress
from events.clock import Clock, utc_now
from events.spec.problems import shorten

_TIP = "refs/kedge/tip"
_FIRST_STEP = 64
_MOST_PACKS = 100
_SHA256 = 64
_NO_END = (b"symlink", b"dangling", b"loop", b"notdir")
"""How git begins where a link ends at nothing of the commit."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)


class Clone:
    """A `Repository`. `folder` is its own; it may be deleted at any time, the next look makes it anew."""

    def __init__(
        self,
        binding: GitBinding,
        folder: Path,
        *,
        local_paths: tuple[Path, ...],
        stop: threading.Event,
        egress: Egress,
        limits: GitLimits | None = None,
        program: str = "git",
        clock: Clock = utc_now,
    ) -> None:
        self._binding = binding
        self._clock = clock
        self._egress = egress
        self._folder = folder
        self._git_dir = folder / "clone.git"
        self._local_paths = local_paths
        self._limits = limits or GitLimits()
        self._child = Child(folder, self._limits, stop=stop, program=program)

    def tip(self, since: str | None) -> Tip:
        """One listing of the branch; a fetch only where it has moved."""
        self._refuse_outside()
        newest = self._listed()
        self._make(newest)
        if newest != self._known():
            self._fetch("--depth=1")
        descends = self._descends(since)
        commit = self._known()
        if commit is None:
            raise SourceFault("BranchMissing", f"the branch `{self._binding.branch}` could not be read", _BRANCH)
        return Tip(commit, self._author(commit), descends, self._signature(commit))

    def entries(self, commit: str) -> list[TreeEntry]:
        """Regular files, links and submodules; folders are walked."""
        where = ["--", f"{self._binding.path}/"] if self._binding.path else []
        listing = self._local("ls-tree", "-r", "-z", "-l", "--full-tree", commit, *where)
        found = [_entry(line) for line in listing.output.split(b"\0") if line]
        if len(found) > self._limits.files:
            message = f"{len(found)} files lie under `{self._binding.path or '.'}`, {self._limits.files} are read"
            raise SourceFault("TooLarge", message, "Name the folder of the specs in the binding's `path`.")
        ends = self._ends_of(commit, [entry.path for entry in found if entry.mode == LINK])
        with_targets = (replace(e, leads_to=ends[e.path]) if e.path in ends else e for e in found)
        return sorted(with_targets, key=lambda entry: entry.path)

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        """One process for all of them."""
        wanted = sorted(set(blobs))
        if not wanted:
            return {}
        output = self._local("cat-file", "--batch", given="".join(f"{blob}\n" for blob in wanted).encode()).output
        found, at = {}, 0
        for blob in wanted:
            end = output.index(b"\n", at)
            head = output[at:end].split()
            if len(head) != 3 or head[1] != b"blob":
                raise SourceFault("CloneBroken", f"the clone lacks the file {blob[:12]}", self._anew())
            size = int(head[2])
            found[blob] = output[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        return found

    def _ends_of(self, commit: str, links: Sequence[str]) -> Mapping[str, str]:
        """What links end at inside the commit, `blob` or `tree`. Git follows them in its own objects; no file of this
        machine is ever looked at."""
        asked = [path for path in links if path.isprintable()]
        if not asked:
            return {}
        given = "".join(f"{commit}:{path}\n" for path in asked).encode()
        output = self._local("cat-file", "--batch-check", "--follow-symlinks", given=given).output
        found, at = {}, 0
        for path in asked:
            end = output.index(b"\n", at)
            word, _, size = output[at:end].partition(b" ")
            at = end + 1
            if word in _NO_END:
                at += int(size) + 1  # that many bytes of where it leads follow
            elif (kind := size.partition(b" ")[0].decode("ascii", "replace")) in ("blob", "tree"):
                found[path] = kind
        return found

    # --- the clone ----------------------------------------------------------------------------------------------

    def _make(self, newest: str) -> None:
        """A clone that can hold that commit: ids of 64 characters are those of a repository of SHA-256 (git 2.29), and
        no clone holds both kinds."""
        kind = "sha256" if len(newest) == _SHA256 else "sha1"
        packs = self._git_dir / "objects" / "pack"
        is_worn = packs.is_dir() and len(list(packs.glob("*.pack"))) > _MOST_PACKS
        if is_worn or bytes_in(self._folder) > self._limits.clone_bytes:
            self._forget()
        if (self._git_dir / "HEAD").is_file() and self._kind() == kind:
            return
        self._forget()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = ("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(self._git_dir))
        self._local(*made, at_clone=False)

    def _kind(self) -> str:
        return self._local("rev-parse", "--show-object-format").output.decode("ascii", "replace").strip()

    def _forget(self) -> None:
        if self._folder.exists():
            shutil.rmtree(self._folder)

    def _anew(self) -> str:
        self._forget()
        return "It is cloned anew at the next poll."

    def _listed(self) -> str:
        ref = f"refs/heads/{self._binding.branch}"
        listing = self._remote("ls-remote", "--quiet", "--", self._binding.repository, ref).output.decode(
            "ascii", "replace"
        )
        commits = [line.split("\t")[0] for line in listing.splitlines() if line.endswith(f"\t{ref}")]
        if not commits or not _COMMIT.fullmatch(commits[0]):
            message = f"there is no branch `{self._binding.branch}` (or the repository is empty)"
            raise SourceFault("BranchMissing", message, _BRANCH)
        return commits[0]

    def _fetch(self, depth: str) -> None:
        self._remote(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--force",
            depth,
            "--",
            self._binding.repository,
            f"+refs/heads/{self._binding.branch}:{_TIP}",
        )

    def _known(self) -> str | None:
        answer = self._run("rev-parse", "--verify", "--quiet", f"{_TIP}^{{commit}}")
        return answer.output.decode("ascii").strip() or None

    def _descends(self, since: str | None) -> bool:
        """Deepens until the commit turns up, the history is complete, or it was looked for far enough."""
        if since is None:
            return True
        step, looked = _FIRST_STEP, 1
        while not self._has_ancestor(since):
            if looked >= self._limits.commits or not self._is_shallow():
                return False
            self._fetch(f"--deepen={step}")
            looked += step
            step = min(8 * step, self._limits.commits)
        return True

    def _has_ancestor(self, commit: str) -> bool:
        if self._known() == commit:
            return True
        return self._run("merge-base", "--is-ancestor", commit, _TIP).code == 0

    def _is_shallow(self) -> bool:
        return self._local("rev-parse", "--is-shallow-repository").output.strip() == b"true"

    def _author(self, commit: str) -> str:
        output = self._local("log", "-1", "--no-mailmap", "--encoding=UTF-8", "--format=%an <%ae>", commit).output
        return shorten(output.decode("utf-8", "replace").strip(), 120)

    def _signature(self, commit: str) -> Signature:
        """Whether a key of the binding's list stands behind the author. Nothing that is wrong with it stops a look."""
        signers, pgp_keys = self._binding.signers_file, self._binding.pgp_keys_file
        if signers is None and pgp_keys is None:
            return CLAIMED
        kind = kind_of(self._local("cat-file", "commit", commit).output)
        if kind == "ssh":
            return self._ssh_signature(commit, signers) if signers else Signature(why_not=NO_SIGNERS)
        if kind == "pgp":
            return self._pgp_signature(commit, pgp_keys) if pgp_keys else Signature(why_not=NO_PGP_KEYS)
        return Signature(why_not=OTHER_SIGNATURE if kind else NOT_SIGNED)

    def _pgp_signature(self, commit: str, file: Path) -> Signature:
        checked = ("-c", f"gpg.program={GPG}", "-c", f"gpg.openpgp.program={GPG}")
        log = (*self._leading(), *checked, "log", "-1", "--no-mailmap", "--format=%G?%x00%GP%x00%ae", commit)
        return pgp_signature(self._child, log, base_environment(self._folder), folder=self._folder, file=file)

    def _ssh_signature(self, commit: str, file: Path) -> Signature:
        try:
            signers = signers_in(file.read_text())
        except (OSError, ValueError) as error:
            return Signature(why_not=f"signers_file {file} makes no sense: {error}")
        checked = ("-c", "gpg.ssh.program=ssh-keygen", "-c", f"gpg.ssh.allowedSignersFile={file}")
        answer = self._run(*checked, "log", "-1", "--no-mailmap", "--format=%G?%x00%GF%x00%ae", commit)
        grade, _, rest = answer.output.decode("utf-8", "replace").strip().partition("\0")
        if answer.code != 0 or grade in ("", "E", "N"):
            return Signature(why_not=f"git cannot check its signature: {refusal(answer)}")
        fingerprint, _, address = rest.partition("\0")
        return judged(grade, fingerprint, address, signers, now=self._clock())

    def _refuse_outside(self) -> None:
        if self._binding.transport == "file" and not is_under(self._binding.repository, self._local_paths):
            message = f"{self._binding.repository} does not lie in a folder of `allow.git_paths`, links followed"
            raise SourceFault("NotAllowed", message, "List its folder there, or name another repository.")

    # --- processes ----------------------------------------------------------------------------------------------

    def _remote(self, *arguments: str) -> GitAnswer:
        environ, secrets = fetch_environment(self._binding, self._folder, self._egress)
        answer = self._child.run([*self._leading(), *arguments], environ)
        if answer.code != 0:
            raise fault_of(answer, self._binding, secrets.values)
        return answer

    def _local(self, *arguments: str, given: bytes = b"", at_clone: bool = True) -> GitAnswer:
        answer = self._run(*arguments, given=given, at_clone=at_clone)
        if answer.code != 0:
            raise SourceFault("CloneBroken", refusal(answer), self._anew())
        return answer

    def _run(self, *arguments: str, given: bytes = b"", at_clone: bool = True) -> GitAnswer:
        leading = self._leading() if at_clone else _configured()
        return self._child.run([*leading, *arguments], base_environment(self._folder), given=given)

    def _leading(self) -> list[str]:
        return [f"--git-dir={self._git_dir}", *_configured()]


_BRANCH = "Push the branch, or name another one in the binding. Clusters stay as they were declared."


def _configured() -> list[str]:
    return [word for setting in CONFIG for word in ("-c", setting)]


def _entry(line: bytes) -> TreeEntry:
    """`<mode> <type> <object> <size>TAB<path>`; a submodule has no size."""
    head, _, path = line.partition(b"\t")
    mode, _, blob, size = head.decode("ascii").split()
    return TreeEntry(path.decode("utf-8", "backslashreplace"), mode, blob, int(size) if size != "-" else 0)

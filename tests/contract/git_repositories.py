"""Real repositories made by the real `git`, and a tiny web server that serves them through `git http-backend`."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

_ENVIRON = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Upstream:
    """A bare repository and the working copy somebody pushes from. `ids` as git names them: `sha1` or `sha256`."""

    def __init__(self, folder: Path, *, branch: str = "main", ids: str = "sha1") -> None:
        self.bare = folder / "specs.git"
        self.work = folder / "work"
        self.branch = branch
        made = ("init", "--quiet", f"--initial-branch={branch}", f"--object-format={ids}")
        git(*made, "--bare", str(self.bare))
        git(*made, str(self.work))

    def push(self, files: Mapping[str, str | bytes | None], *, message: str = "change") -> str:
        """Writes files (None removes one), commits, pushes; returns the commit's id."""
        for path, content in files.items():
            self.write(path, content)
        return self.commit(message)

    def write(self, path: str, content: str | bytes | None) -> None:
        file = self.work / path
        if content is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str = "change") -> str:
        """Commits whatever lies in the working copy, and pushes, by force if need be."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.force_push()

    def force_push(self) -> str:
        self.git("push", "--quiet", "--force", str(self.bare), f"HEAD:refs/heads/{self.branch}")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        return git("-C", str(self.work), "-c", "protocol.file.allow=always", *arguments)


def git(*arguments: str) -> str:
    """Runs the real git as a person would."""
    done = subprocess.run(["git", *arguments], env=_ENVIRON, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Web:
    """Serves the repositories of a folder over HTTP on a loopback address, as git's own CGI program does.

    With `authorization` it answers nobody who does not send exactly that header. `asked` are the paths asked for,
    `redirect_to` sends everybody elsewhere.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.authorization = ""
        self.redirect_to = ""
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def serving(self) -> Iterator["Web"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(10)


def _handler(web: Web) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, *_: object) -> None:
            """Nothing: tests look at `asked`."""

        def _answer(self) -> None:
            web.asked.append(self.path)
            if web.redirect_to:
                self.send_response(302)
                self.send_header("Location", web.redirect_to + self.path)
                self.end_headers()
            elif web.authorization and self.headers.get("Authorization") != web.authorization:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
            else:
                self._run_backend()

        def _run_backend(self) -> None:
            url = urlsplit(self.path)
            environ = {
                **_ENVIRON,
                "GIT_PROJECT_ROOT": str(web.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": url.path,
                "QUERY_STRING": url.query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            body = self._body()
            environ["CONTENT_LENGTH"] = str(len(body))
            done = subprocess.run(["git", "http-backend"], input=body, env=environ, capture_output=True, check=False)
            head, _, rest = done.stdout.partition(b"\r\n\r\n")
            lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            status = next((value for name, value in lines if name == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for name, value in lines:
                if name != "Status":
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(rest)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

    return Handler

"""A process that has imported what a stand-in needs and becomes one for each plugin that Terraform starts.

`nursery.py NAME`, in the environment of the stand-ins. It listens at an abstract socket of that name, forks for each
connection of `handed.py`, and ends when its standard input does: with the process of tests that started it. Nothing
of grpc runs before a fork, and no thread does.
"""

import os
import select
import signal
import socket
import struct
import sys
import threading

_CLOUDS = ("azure", "digitalocean", "google", "upcloud")


def main(name: str) -> None:
    """Until nobody needs it any more."""
    import http.client  # noqa: F401  # for those that will call a cloud

    from tests.standins import lean

    lean.before_imports()
    from tests.standins.provider import StandInProvider, serve

    providers = {cloud: StandInProvider(cloud) for cloud in _CLOUDS}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a child ended
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0{name}")
    listener.listen(64)
    os.write(1, b"listening\n")
    while True:
        ready, _, _ = select.select([listener.fileno(), 0], [], [])
        if 0 in ready:
            return
        connection, _ = listener.accept()
        asked = _request(connection)
        if asked is not None:
            files, (cloud, folder, *environment) = asked
            if os.fork() == 0:
                listener.close()
                _become(connection, files, folder, environment)
                serve(providers[cloud])
                connection.send(b"\0")
                os._exit(0)  # nothing is left to be done, as in `provider.main`
            for file in files:
                os.close(file)
        connection.close()


def _request(connection: socket.socket) -> tuple[list[int], list[str]] | None:
    """The files, and cloud, folder and environment of a plugin; None of one that ended meanwhile."""
    head, files, _, _ = socket.recv_fds(connection, 4, 3)
    (left,) = struct.unpack("I", head) if len(head) == 4 else (0,)
    body = b""
    while left > len(body) and (more := connection.recv(left - len(body))):
        body += more
    if left == 0 or len(body) < left or len(files) != 3:
        for file in files:
            os.close(file)
        return None
    return files, body.decode(errors="surrogateescape").split("\0")


def _become(connection: socket.socket, files: list[int], folder: str, environment: list[str]) -> None:
    """What Terraform started, as far as it can tell; and no longer there than that."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({name: value for name, _, value in (line.partition("=") for line in environment)})
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()


def _end_with(connection: socket.socket) -> None:
    connection.recv(1)
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])

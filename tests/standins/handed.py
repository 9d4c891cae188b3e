"""What Terraform starts as a stand-in: `handed.py NURSERY CLOUD PACKAGES`. It hands itself over, or runs by itself.

The file `NURSERY` names the socket of a process that has imported everything (`nursery.py`). That takes this one's
files, environment and folder into a child, which serves Terraform and ends with this process. A plugin that Terraform
starts half a dozen times in a run pays for its imports once in a session of tests. Without the file, or with nobody
there, it imports and serves by itself.
"""

import _socket  # the half of `socket` that needs no imports of its own
import os
import signal
import struct
import sys


def main(nursery: str, cloud: str, packages: str) -> None:
    """Ends with the plugin's own exit code."""
    # The terminal's interrupt goes to the whole group; Terraform alone decides what to do about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (there := reached(nursery)) is not None:
        os._exit(handed_over(there, cloud))
    sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), packages]
    from tests.standins import lean

    lean.before_imports()
    from tests.standins.provider import main as serve

    serve([cloud])


def reached(nursery: str) -> _socket.socket | None:
    """A connection to who takes plugins over; None where there is none."""
    try:
        with open(nursery) as file:
            name = file.read()
        there = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        there.connect(f"\0{name}")
    except OSError:
        return None
    return there


def handed_over(there: _socket.socket, cloud: str) -> int:
    """Exit code of the child that took this process over; it is told of this process's end by the connection's.

    A plugin whose Terraform was killed has nobody to talk to, and ends.
    """
    terraform = os.getppid()
    about = [cloud, os.getcwd(), *(f"{name}={value}" for name, value in os.environ.items())]
    body = "\0".join(about).encode(errors="surrogateescape")
    files = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("3i", 0, 1, 2))
    there.sendmsg([struct.pack("I", len(body))], [files])
    there.sendall(body)
    there.settimeout(0.5)
    while os.getppid() == terraform:
        try:
            code = there.recv(1)
        except TimeoutError:
            continue
        return code[0] if code else 1
    return 1


if __name__ == "__main__":
    main(*sys.argv[1:])

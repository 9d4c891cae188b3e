"""Who gets a connection at which port, tried from a network namespace."""

import json
import sys

from tests.boot.debian_vm import ran

Attempt = tuple[str, str, int]
"""Own address, the other's, port."""

IN_TIME_S, SILENCE_S = 20.0, 0.5

_KNOCK = """
import json, os, selectors, socket, sys, time
user, wait_s, attempts = json.loads(sys.argv[1])
os.setuid(user)
knocking = selectors.DefaultSelector()
for own, there, port in attempts:
    one = socket.socket(socket.AF_INET6 if ":" in there else socket.AF_INET)
    one.bind((own, 0))
    one.setblocking(False)
    one.connect_ex((there, port))
    knocking.register(one, selectors.EVENT_WRITE, (own, port))
answers, until = [], time.monotonic() + wait_s
while knocking.get_map() and time.monotonic() < until:
    for found, _ in knocking.select(until - time.monotonic()):
        answers.append((*found.data, found.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)))
        knocking.unregister(found.fileobj)
print(json.dumps(answers))
"""


def knock(namespace: str, attempts: list[Attempt], wait_s: float, user: int = 0) -> list[tuple[str, int, int]]:
    """Own address, port and errno (0: connected) of each attempt that was answered in time."""
    told = json.dumps([user, wait_s, attempts])
    answered = json.loads(ran("ip", "netns", "exec", namespace, sys.executable, "-IS", "-c", _KNOCK, told))
    return [(own, port, error) for own, port, error in answered]


def let_in(
    namespace: str, meant: dict[str, set[int]], there: str, ports: set[int], *, refused: bool = False
) -> dict[str, set[int]]:
    """Which of those addresses gets a connection at which of `ports`; with `refused`, or is told that none listens.

    Who is meant to has all the time it needs; after that the others are given up after a moment of silence.
    """
    hoped = [(own, there, port) for own, those in meant.items() for port in those]
    others = [(own, there, port) for own, those in meant.items() for port in ports - those]
    found = knock(namespace, hoped, IN_TIME_S) + knock(namespace, others, SILENCE_S)
    return {one: {port for own, port, error in found if own == one and (refused or error == 0)} for one in meant}

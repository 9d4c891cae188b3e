"""Two runs beside each other have the same addresses, each for itself."""

import socket
import subprocess
import sys

import pytest

from tests.own_network import can_have_own_network, in_own_network

BIND = "import socket; s = socket.socket(); s.bind(('127.0.30.1', {port})); s.listen(); print('bound')"


@pytest.mark.skipif(not can_have_own_network(), reason="a network of its own needs root, `unshare` and `ip`")
def test_a_command_can_bind_what_another_has() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.30.1", 0))
        taken.listen()
        command = (sys.executable, "-c", BIND.format(port=taken.getsockname()[1]))

        beside = subprocess.run(command, capture_output=True, text=True, check=False)
        apart = subprocess.run(in_own_network(command), capture_output=True, text=True, check=False)

    assert beside.returncode == 1
    assert (apart.returncode, apart.stdout) == (0, "bound\n"), apart.stderr


@pytest.mark.skipif(not can_have_own_network(), reason="a network of its own needs root, `unshare` and `ip`")
def test_networks_that_two_commands_name_alike_are_two() -> None:
    """A run of soak beside another met the switch of the other's VMs: `kedge0 ... File exists`."""
    command = ("sh", "-c", "ip netns add kedge-switch && ip netns list")
    told = [subprocess.run(in_own_network(command), capture_output=True, text=True, check=False) for _ in range(2)]
    assert [(one.returncode, one.stdout.split()) for one in told] == [(0, ["kedge-switch"])] * 2, told


def test_a_command_keeps_its_words_and_its_exit_status() -> None:
    done = subprocess.run(in_own_network(("sh", "-c", 'exit "$1"', "sh", "3")), check=False)
    assert done.returncode == 3

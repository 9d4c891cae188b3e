"""Why a VM can have no overlay: the first thing that is missing, and what to do."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.overlay.ability import inability
from agent.tools import Tool, ToolFailed, ToolResult


def kernel(folder: Path, **switches: str) -> Path:
    for interface, value in {"all": "0", "lo": "0", **switches}.items():
        (folder / interface).mkdir(parents=True)
        (folder / interface / "disable_ipv6").write_text(f"{value}\n")
    return folder


def without(*missing: str) -> Tool:
    def run(command: Sequence[str]) -> ToolResult:
        if command[0] in missing:
            raise ToolFailed(f"{command[0]} is not on this VM: its image needs it")
        return ToolResult(0)

    return run


@pytest.mark.parametrize("missing", [(), ("wireguard-go",), ("modprobe",)])
def test_with_the_tools_and_one_wireguard_it_can(tmp_path: Path, missing: tuple[str, ...]) -> None:
    assert inability(without(*missing), kernel(tmp_path)) == ""


@pytest.mark.parametrize("tool", ["wg", "ip", "nft"])
def test_a_tool_that_is_missing_is_named(tmp_path: Path, tool: str) -> None:
    assert inability(without(tool), kernel(tmp_path)).startswith(f"{tool} is not on this VM")


def test_a_kernel_without_wireguard_and_no_program_in_its_place(tmp_path: Path) -> None:
    def run(command: Sequence[str]) -> ToolResult:
        return ToolResult(1 if command[0] in ("modprobe", "wireguard-go") else 0)

    assert "its kernel has no WireGuard, and there is no wireguard-go" in inability(run, kernel(tmp_path))


@pytest.mark.parametrize("interface", ["all", "lo"])
def test_ipv6_that_is_off_is_told_with_its_switch(tmp_path: Path, interface: str) -> None:
    reason = inability(without(), kernel(tmp_path, **{interface: "1"}))
    assert reason == f"IPv6 is off: set net.ipv6.conf.{interface}.disable_ipv6 to 0"


def test_a_kernel_without_ipv6(tmp_path: Path) -> None:
    assert "its kernel has no IPv6" in inability(without(), tmp_path)

"""Conditions under which tests run that are the same in several rooms."""

import os
import shutil

import pytest

A_NETWORK_FOR_EACH_VM = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="a network for each VM needs root and `ip`"
)

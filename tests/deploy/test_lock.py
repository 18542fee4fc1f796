from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from quadgen.deploy.lock import exclusive
from quadgen.errors import DeployError

if TYPE_CHECKING:
    from .machine import Box


def test_two_at_once_wait_for_each_other(box: Box) -> None:
    with (
        exclusive(box.place),
        pytest.raises(DeployError, match=f"another quadgen .process {os.getpid()}."),
        exclusive(box.place, timeout=0),
    ):
        pass
    with exclusive(box.place, timeout=0) as lock:
        assert lock.place == box.place


def test_the_lock_of_a_killed_process_is_free(box: Box) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with exclusive(box.place):
            os.write(write, b"x")
            signal.pause()
    assert os.read(read, 1) == b"x"
    with pytest.raises(DeployError, match=f"process {child}"), exclusive(box.place, timeout=0):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with exclusive(box.place, timeout=0):
        pass
    os.close(read)
    os.close(write)


def test_a_state_folder_that_cannot_be_made_is_told(box: Box) -> None:
    box.put(".local/state", "")
    with pytest.raises(DeployError, match="lock: Not a directory"), exclusive(box.place):
        pass

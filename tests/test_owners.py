"""Who is at work on a store: when a process counts as ended, and what another machine's clock is
worth.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from independence_bench.store.owners import (
    LeaseWatch,
    find_host,
    has_same_clock,
    is_dead,
    make_owner_name,
)

MINE = make_owner_name()
HOST, CLOCK, NAMESPACE, PID, STARTED, _ = MINE.split("|")


def named(
    host: str = HOST,
    clock: str = CLOCK,
    namespace: str = NAMESPACE,
    pid: object = PID,
    started: str = "",
) -> str:
    """A name that differs from ours in what is given."""
    return "|".join((host, clock, namespace, str(pid), started, "x"))


def ended() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    return child.pid


def test_every_name_is_another_and_says_where_it_is_from() -> None:
    """Two commands of one process are two, too."""
    assert make_owner_name() != MINE
    assert find_host(MINE) == HOST
    assert find_host("a-host pid:[4026531836]|4711|0123456789ab") == "a-host", "as 0.1.0 wrote it"
    assert str(os.getpid()) == PID


def test_a_process_of_this_machine_that_has_ended_is_dead() -> None:
    """Whatever the machine is called: what counts is its boot and the namespace of its
    processes.
    """
    dead = ended()
    assert is_dead(named(pid=dead))
    assert is_dead(named(pid=dead, host="called-otherwise"))
    assert not is_dead(named(pid=dead, clock="another-boot"))
    assert not is_dead(named(pid=dead, namespace="pid:[1]")), (
        "a container's number is another process here"
    )


def test_a_number_that_is_used_again_is_another_process() -> None:
    """Process numbers come round; the moment at which a process began does not."""
    assert not is_dead(named(started=STARTED))
    assert is_dead(named(started="1"))
    assert not is_dead(named(started="")), "where that is not told, there is doubt"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nonsense",
        "a|b",
        "a|b|c",
        "a|b|c|d",
        "host pid:[4026531836]|1|x",
        named(pid="x"),
        named(pid=""),
        named(pid=9**99),
    ],
)
def test_an_owner_that_cannot_be_checked_counts_as_alive(name: str) -> None:
    """Doubt must not lead to buying twice."""
    assert not is_dead(name)


def test_a_process_that_runs_is_alive_whoever_owns_it() -> None:
    """A process of another user cannot be signalled, and is alive."""
    assert not is_dead(MINE)
    assert not is_dead(named(pid=1))


def test_one_kernel_has_one_clock() -> None:
    """Containers of this machine share it; a machine of the same name does not."""
    assert has_same_clock(MINE)
    assert has_same_clock(named(namespace="pid:[1]", host="a-container"))
    assert not has_same_clock(named(clock="another-boot"))
    assert has_same_clock("host pid:[4026531836]|1|x"), "0.1.0 did not say"


def test_another_machine_is_silent_when_nothing_has_moved_for_a_whole_lease() -> None:
    """By our own clock, from the first look on; each renewal begins it anew. What its lease says
    does not matter.
    """
    now = [1000.0]
    watch = LeaseWatch(lambda: now[0], patience=90.0)
    assert not watch.is_silent("a", until=5.0)
    now[0] += 89.0
    assert not watch.is_silent("a", until=5.0)
    now[0] += 0.5
    assert not watch.is_silent("a", until=27.5), "it has renewed"
    now[0] += 89.9
    assert not watch.is_silent("a", until=27.5)
    assert not watch.is_silent("b", until=27.5), "each is looked at by itself"
    now[0] += 0.1
    assert watch.is_silent("a", until=27.5)

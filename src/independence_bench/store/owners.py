"""Names for the processes that use a store. A name tells whether its process has ended and which
clock it has.

A claim lasts until a time, and a time means something on the clock that it was read from. Other
machines have clocks of their own, whatever they are called, and this one's may be set at any
moment. So a process of this kernel that has ended is known by its number; any other is judged by
whether it still moves (`LeaseWatch`), and by time only where all read a database server's clock.
Knows nothing of calls; reads the system, no store.
"""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from independence_bench.hashing import hash_text


class _OwnerName(NamedTuple):
    """The name of a process among all that share a store."""

    host: str  # for people
    clock: str  # the machine and its boot
    namespace: str  # of process numbers, in that boot
    pid: str
    # when the process began, in the kernel's ticks; a number is used again, both together are not
    started: str
    nonce: str


def make_owner_name() -> str:
    """Return a new name for this process among all that share the store, different at each call.
    The name tells the machine, its clock, and the number and start of the process.
    """
    host = platform.node().replace("|", " ")
    return "|".join(
        (
            host,
            _identify_clock(),
            _read_pid_namespace(),
            str(os.getpid()),
            _read_start_time("self"),
            uuid.uuid4().hex[:12],
        )
    )


def find_host(owner: str) -> str:
    """Return the name of the machine on which the process named *owner* runs."""
    return owner.partition("|")[0].partition(" pid:")[0]


def has_same_clock(owner: str) -> bool:
    """Whether the process named *owner* takes its times from this machine's clock, because it runs
    on this machine and since the same boot; True if the name does not tell the machine.
    """
    name = _parse_owner(owner)
    return name is None or name.clock == _identify_clock()


def has_known_machine(owner: str) -> bool:
    """Whether the process name *owner* tells the machine and number of the process. The names of
    version 0.1.0 did not, and none of those processes runs any more.
    """
    return _parse_owner(owner) is not None


def is_dead(owner: str) -> bool:
    """Whether the process named *owner* ran on this machine and has ended; False if that cannot be
    known, such as for a process of another machine, or on Windows.
    """
    name = _parse_owner(owner)
    if (
        name is None
        or (name.clock, name.namespace) != (_identify_clock(), _read_pid_namespace())
        or os.name == "nt"
    ):
        # on Windows, kill(pid, 0) would not ask but act; there the lease has to run out
        return False
    try:
        os.kill(int(name.pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return bool(name.started) and _read_start_time(name.pid) not in ("", name.started)


@dataclass(slots=True)
class LeaseWatch:
    """Measures how long processes have shown no sign of life. Each time that a process renews its
    leases, their end changes.

    *clock*: monotonic seconds. *patience*: after how many seconds without a change a process counts
    as ended.
    """

    clock: Callable[[], float]
    patience: float
    # owner -> its leases' ends, last new one
    _seen: dict[str, tuple[set[float], float]] = field(default_factory=dict)

    def is_silent(self, owner: str, until: float) -> bool:
        """Whether the process named *owner* has not renewed its claims for *patience* seconds or
        more, as far as this watch has seen. *until*: when one of its claims ends at present, on
        that process's own clock; a value that is new to the watch is a sign of life.
        """
        now = self.clock()
        ends, since = self._seen.get(owner, (set(), now))
        if until not in ends:
            ends.add(until)
            since = now
        self._seen[owner] = (ends, since)
        return now - since >= self.patience


def _parse_owner(owner: str) -> _OwnerName | None:
    parts = owner.split("|")
    return _OwnerName(*parts) if len(parts) == len(_OwnerName._fields) else None


@lru_cache(maxsize=1)
def _identify_clock() -> str:
    """Return 16 hexadecimal digits that identify this machine and its boot, and so its clock. They
    are the same in all containers of one machine.
    """
    boot = _read_first_line("/proc/sys/kernel/random/boot_id")
    machine = _read_first_line("/etc/machine-id")
    return hash_text(
        f"{machine} {boot}" if boot else f"{machine} {platform.node()} {uuid.getnode()}"
    )[:16]


def _read_pid_namespace() -> str:
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _read_start_time(pid: str) -> str:
    """Return when the process with the number *pid* began, in the kernel's clock ticks after the
    boot; "" if that is not known.
    """
    fields = _read_first_line(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _read_first_line(path: str) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return Path(path).read_text(encoding="utf-8").strip().partition("\n")[0]
    return ""

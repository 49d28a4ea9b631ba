"""Work that a copy of the process does beside it: the same result, the same error, and no process left behind.

In processes of their own: the test run's own has threads, and is not copied.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEGINNING = """
import os, sys, time
from independence_bench.store.beside import copied
here = os.getpid()
"""


def run(code: str) -> str:
    """What a Python program prints that begins as above; it has to end well and to complain of nothing."""
    program = BEGINNING + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the work is done in the process itself")


def test_a_copy_does_the_work_with_what_was_read_before() -> None:
    """It has what the process has, without handing it over, and it is another process."""
    printed = run("""
        read = {"names": ["Mira", "Ona"]}
        with copied(lambda: (os.getpid() != here, read["names"])) as done:
            print(done())
    """)

    assert printed == "(True, ['Mira', 'Ona'])"


def test_what_is_not_worth_it_is_done_here_and_only_when_it_is_asked_for() -> None:
    """No process, and no work that nobody wants."""
    printed = run("""
        with copied(lambda: os.getpid() == here, worth=False) as done:
            print(done())
        with copied(lambda: print("done"), worth=False):
            pass
    """)

    assert printed == "True"


def test_a_process_with_threads_is_not_copied() -> None:
    """A copy has none of them, and would wait for what they hold."""
    printed = run("""
        import threading
        ended = threading.Event()
        threading.Thread(target=ended.wait).start()
        with copied(lambda: os.getpid() == here) as done:
            print(done())
        ended.set()
    """)

    assert printed == "True"


def test_an_error_is_raised_here() -> None:
    """The copy says nothing of it; the work is done again, and so is its mistake."""
    printed = run("""
        try:
            with copied(lambda: {}["absent"]) as done:
                done()
        except KeyError as error:
            print(error)
    """)

    assert printed == "'absent'"


def test_a_copy_that_is_killed_is_made_up_for() -> None:
    """The work is done here then."""
    printed = run("""
        import signal
        def work():
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            return "done"
        with copied(work) as done:
            print(done())
    """)

    assert printed == "done"


def test_no_copy_stays_behind() -> None:
    """It ends with the block, whether it was waited for or not, and Ctrl-C is the first process's alone."""
    printed = run("""
        import multiprocessing, signal
        with copied(lambda: time.sleep(600)):
            (copy,) = multiprocessing.active_children()
            time.sleep(.5)
            os.kill(copy.pid, signal.SIGINT)
            time.sleep(.2)
            print(copy.is_alive())
        print(multiprocessing.active_children())
    """)

    assert printed == "True\n[]"

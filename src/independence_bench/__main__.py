"""`aib`, also as `python -m independence_bench`: loads the command line. Ctrl-C meanwhile is one
line, too.
"""

import sys
from importlib import import_module


def main() -> None:
    """Run the command line program `aib`. Ctrl-C while it is being loaded prints one line and ends
    the process with exit code 130.
    """
    try:
        import_module("independence_bench.cli.main").main()
    except KeyboardInterrupt:  # before the command line is there to say so itself
        sys.stderr.write("aib: stopped\n")
        sys.exit(130)  # errors.INTERRUPTED, which may not be loaded yet


if __name__ == "__main__":
    main()

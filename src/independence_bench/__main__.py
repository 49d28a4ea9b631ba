"""`python -m independence_bench` is `aib`."""

from independence_bench.cli.main import main

if __name__ == "__main__":
    main()

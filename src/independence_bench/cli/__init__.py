"""The command line: one file for each family of commands. Parse, call one function, print."""

import gc

# New objects between two looks for garbage. What a command imports and reads stays until it ends,
# and Python's own 700 would have it walk through all of that again and again: a sixth of a
# leaderboard's time. Here, before the imports.
gc.set_threshold(200_000, *gc.get_threshold()[1:])

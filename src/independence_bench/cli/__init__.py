"""The command line: one file for each family of commands. Parse, call one function, print."""

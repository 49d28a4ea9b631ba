"""This benchmark from Python: the commands as functions, and a store as Arrow tables."""

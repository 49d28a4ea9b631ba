"""This benchmark from Python: what the commands do as functions, and what a store holds as Arrow tables."""

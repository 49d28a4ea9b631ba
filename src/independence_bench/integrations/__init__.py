"""This benchmark inside other tools, one module each."""

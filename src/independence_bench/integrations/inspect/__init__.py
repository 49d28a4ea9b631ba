"""This benchmark inside Inspect AI: tasks, a scorer, metrics, a model provider, and logs both
ways.
"""

"""The benchmark inside Inspect AI: tasks, a scorer, metrics, a model provider, and the import and
export of logs.
"""

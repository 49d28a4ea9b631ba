"""AI Independence Bench: does a chat model stay who it is when a person leans on it?"""

__version__ = "0.1.0"

"""Plays and judges: what is pending, concurrency, resuming, costs before they are spent."""

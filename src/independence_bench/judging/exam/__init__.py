"""The judge's exam: conversations of known state, for judges to mark."""

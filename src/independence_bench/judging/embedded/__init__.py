"""The judge that needs no model: a table of weights."""

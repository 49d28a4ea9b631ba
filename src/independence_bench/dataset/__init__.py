"""Data sets: exports of a store, their import into another one, and the import of the published
data.
"""

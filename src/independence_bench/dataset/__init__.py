"""Data sets: the export of a store, its import into another store, and the import of the published
data.
"""

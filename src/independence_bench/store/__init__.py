"""The ledger: one database that holds every reply, attempt and judgement ever paid for.

database.py   opening it: SQLite or a URL, versions, durability
tables.py     what is in it
records.py    reading and writing it, as functions on a connection
commits.py    many writers, one durable commit
"""

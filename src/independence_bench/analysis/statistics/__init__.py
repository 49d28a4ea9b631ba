"""Statistics as pure functions on numbers, one file for each question. They know no judge, subject
or store.
"""

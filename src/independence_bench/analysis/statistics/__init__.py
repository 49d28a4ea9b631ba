"""Pure functions on numbers: no judge, subject or store is known here. One file for each question
that is asked.
"""

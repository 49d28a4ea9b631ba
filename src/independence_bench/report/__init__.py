"""What is stored, as something to read: rows first, then one file for each form.

rows.py       the leaderboard as values
terminal.py   leaderboards and transcripts on a terminal, and text from outside made harmless
json.py       the same rows for programs
"""

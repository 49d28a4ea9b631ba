"""A user's own character as a protocol: its sheet, the files it is read from, the conversations
made from it.
"""

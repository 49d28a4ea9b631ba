"""A character of the user's own, as a protocol: its sheet, what it is read from, what is played of it."""

"""The web viewer's Python side: stored results -> answers, served on loopback or written as a
static site.
"""

"""The web viewer's Python side: stored results as answers, served on loopback or written as a
static site.
"""

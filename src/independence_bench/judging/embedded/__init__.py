"""The judge that needs no key: rules, and weights of words and of what a small model makes of a
reply.
"""

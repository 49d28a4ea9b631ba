"""The judge's exam: from stored answers to figures, and the fitness of a judge or a jury
(docs/judges.md).
"""

"""The judge's exam: answers of the store to figures, and what a judge or a jury is fit for
(docs/judges.md).
"""

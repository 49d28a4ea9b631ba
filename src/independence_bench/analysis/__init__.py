"""Analysis of a store: the results that count, the leaderboard, uncertainty, agreement,
comparisons.
"""

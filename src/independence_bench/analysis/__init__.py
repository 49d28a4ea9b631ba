"""Store to values: which results count, the leaderboard, uncertainty, agreement, comparisons."""

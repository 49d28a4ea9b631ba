"""Results of others, and ours for others: what a data set looks like on disk, and how it gets into a store.

Reading comes first and knows no store (`published`), then what the files say is put together (`retold`), then it is
written down (`importing`).
"""

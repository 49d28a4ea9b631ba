"""What lies behind every number in a store that should worry its reader.

Raw bodies are read once more (`rereading`) and laid beside what is stored (`evidence`), everything is looked through
for one kind of trouble after the other (`findings`, listed in `kinds`), and each is weighed by the index without it
(`auditing`). Changes nothing.
"""

"""What lies behind every number in a store that should worry its reader.

Raw bodies are parsed once more (`reparse`) and compared with what is stored (`evidence`), everything is looked through
for one kind of trouble after the other (`checks`, listed in `catalog`), and each is weighed by the index without it
(`audit`). Changes nothing.
"""

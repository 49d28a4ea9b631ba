"""What lies behind every number in a store that should worry its reader.

Raw bodies are read once more (`rereading`), laid beside what is stored (`evidence`), looked through for one kind of
trouble after the other (`findings`), and each is weighed by the index without it (`auditing`). Changes nothing.
"""

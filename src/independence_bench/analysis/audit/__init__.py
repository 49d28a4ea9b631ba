"""What lies behind every number in a store that should worry its reader: raw bodies parsed once more (`reparse`) and
compared with what is stored (`evidence`), looked through for one kind of trouble after the other (`checks`), each of
which is weighed by the index without it (`audit`). Changes nothing.
"""

"""What in a store gives reason to doubt a number. Changes nothing.

Raw bodies are read again and compared with what is stored (`evidence`), one kind of problem after
the other is looked for (`checks`), and each is weighed by the index without it (`audit`).
"""

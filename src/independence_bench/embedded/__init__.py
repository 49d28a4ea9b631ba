"""What runs without a key: a small real instruct model, and a judge that is a table of weights.

The model (SmolLM2-135M-Instruct) is weak and nobody scripted it: it proves that the whole path works. Its
weights are fetched once into the user's data folder and served on a loopback port as an ordinary
chat-completions endpoint, so the rest of the program never learns that it is a local one.
"""

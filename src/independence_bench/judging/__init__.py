"""Transcript to scores: the prompt of a judge, its output, panels, people, and names."""

"""Attacks on a judge by the text that it marks, and how far they move it: data, and one measurement."""

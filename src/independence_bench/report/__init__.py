"""Values of the analysis as text: tables for a terminal and Markdown, JSON for programs, plots as
SVG.
"""

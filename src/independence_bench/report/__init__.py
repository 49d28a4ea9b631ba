"""Values of the analysis as text: tables on a terminal and in Markdown, JSON for programs, plots as
SVG.
"""

"""Plots: inline svg, drawn in plain Python, coloured by the page's style sheet."""

"""Report: one html file that shows how a table was balanced and whether it helped.

summarise_sampler    the result of a fitted sampler as a dictionary of plain values
render               such a dictionary, or the summary of a comparison, as one html page
write_report         write that page to a file, which is never half written
"""

from counterbalance.report.page import SummaryError, render, write_report
from counterbalance.report.summary import summarise_sampler

__all__ = ["SummaryError", "render", "summarise_sampler", "write_report"]

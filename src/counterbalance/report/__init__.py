"""Report: one html file that shows what was done and whether it helped.

Three steps: summarise to a plain dict, render the dict, templates beside it.

    summarise_sampler    what a fitted sampler did, as a dict (see ``contract``)
    render               a dict as one html page
    write_report         the same into a file, which is never half written
"""

from counterbalance.report.page import render, write_report
from counterbalance.report.reading import SummaryError
from counterbalance.report.summary import summarise_sampler

__all__ = ["SummaryError", "render", "summarise_sampler", "write_report"]

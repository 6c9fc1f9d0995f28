"""Report: one html file that shows what was done and whether it helped.

summarise_sampler    what a fitted sampler did, as the records of a page
render               records, or plain values that JSON held, as one html page
write_report         the same into a file, which is never half written
"""

from counterbalance.report.page import render, write_report
from counterbalance.report.plain import SummaryError, as_plain
from counterbalance.report.records import Page
from counterbalance.report.summary import summarise_sampler

__all__ = ["Page", "SummaryError", "as_plain", "render", "summarise_sampler", "write_report"]

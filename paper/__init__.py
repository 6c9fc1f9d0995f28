"""The paper's experiments repeated, a study over many tables, and baselines beside the samplers.

Nothing here is part of the library: run it from the root of the repository by ``python -m paper``.
"""

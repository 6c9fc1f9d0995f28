from counterbalance.search.landscape import Landscape
from counterbalance.search.minimum_twin import Walker as Twin

class Walker(Twin):
    def __init__(self, land: Landscape) -> None: ...

from counterbalance.arrays import Floats, Small

def add_up(
    x: Floats,
    centre: Floats,
    scale: Floats,
    features: Small,
    levels: Small,
    farthest: float,
    weight: Floats,
    n_logits: int,
    output: Floats,
    sums: Floats,
    logits: Floats,
) -> None: ...
def vote(
    x: Floats,
    references: Floats,  # side by side
    code: Small,
    weight: Floats,
    n_neighbours: int,
    votes: Floats,
) -> None: ...

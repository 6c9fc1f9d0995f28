"""Time DiCE per counterfactual; runs in DiCE's own environment, the table comes on stdin."""

import sys
import time

import dice_ml
import pandas as pd
from sklearn.linear_model import LogisticRegression

N_ROWS = 10

table = pd.read_csv(sys.stdin, header=None).rename(columns=str)
target = table.columns[-1]
features = list(table.columns[:-1])
f = LogisticRegression(max_iter=1000).fit(table[features], table[target])
data = dice_ml.Data(dataframe=table, continuous_features=features, outcome_name=target)
explainer = dice_ml.Dice(data, dice_ml.Model(model=f, backend="sklearn"), method="random")
benign = table[(table[target] == 0) & (f.predict(table[features]) == 0)]
start = time.perf_counter()
for n in range(N_ROWS):
    explainer.generate_counterfactuals(
        benign[features].iloc[[n]],
        total_CFs=1,
        desired_class="opposite",
        random_seed=0,
        verbose=False,
    )
print((time.perf_counter() - start) / N_ROWS)

"""Write the counterfactuals of DiCE that a page of the gallery compares with ours.

Runs in DiCE's own environment (pip install dice-ml scikit-learn pandas). The table comes on stdin
as csv: the bundled Wisconsin table, missing cells filled with 1, whole numbers, with its classes as
the column Class. The answers and the seconds of a row are in examples/gallery/plot_explain_a_model.
"""

import json
import sys
import time
import warnings
from importlib.metadata import version

import dice_ml
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

N_ROWS = 20

warnings.simplefilter("ignore")
table = pd.read_csv(sys.stdin)
features = [name for name in table if name != "Class"]
X, y = table[features], table["Class"]
f = RandomForestClassifier(100, random_state=0).fit(X, y)
rows = np.flatnonzero((y == "benign") & (f.predict(X) == "benign"))[:N_ROWS]
coded = X.assign(Class=(y == "malignant").astype(int))
model = RandomForestClassifier(100, random_state=0).fit(X, coded["Class"])
data = dice_ml.Data(dataframe=coded, continuous_features=features, outcome_name="Class")
explainer = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="genetic")
answers, seconds = [], []
for row in rows:
    start = time.process_time()
    try:
        found = explainer.generate_counterfactuals(
            X.iloc[[row]], total_CFs=1, desired_class="opposite", verbose=False
        )
        answer = found.cf_examples_list[0].final_cfs_df[features].iloc[0]
    except Exception:  # noqa: BLE001  (it found none)
        answer = X.iloc[row]
    seconds.append(time.process_time() - start)
    answers.append([int(value) for value in answer])
print(
    json.dumps(
        {
            "dice-ml": version("dice-ml"),
            "seconds": round(float(np.median(seconds)), 4),
            "answers": answers,
        }
    )
)

"""Counterfactual: the classifier that learns f and its boundary in rounds of counterfactuals."""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.parallel import Parallel, delayed

from counterbalance.arrays import Floats, Integers, Mask
from counterbalance.classifier.fit import check_classifier
from counterbalance.errors import TableError
from counterbalance.estimators.base import DecidingClassifier
from counterbalance.estimators.decision import prior_corrected
from counterbalance.estimators.rounds import SETTLED, Recipe, Round, Track, make_track, pooled
from counterbalance.samplers.base import TableOverSampler
from counterbalance.samplers.counterfactual import CounterfactualOverSampler
from counterbalance.table import containers
from counterbalance.table.encoder import TableEncoder, TablePreparation
from counterbalance.table.kinds import Kind
from counterbalance.table.labels import Labels
from counterbalance.table.table import read_table

TREES, LEAF = 30, 2
# Seeds of two tracks lie so far apart that their rounds never share one.
APART = 1_000_000
# Parameters of a sampler that may name columns of the frame.
NAMING = ("constraints", "categorical_features", "integer_features")


class CounterfactualClassifier(DecidingClassifier):
    """An ensemble that learns its classifier and its boundary in rounds of counterfactuals.

    Luo and Liu [1]_ end with what they could not do: "relax the assumption that a classifier and
    its decision boundary are fixed and embed the learning of the classifier in the process of
    oversampling". This does it. Round 0 fits f to the table. Every later round searches
    counterfactuals of the real rows at the boundary of f, drops the earlier ones that f does not
    believe any more when it is fitted without them, and fits f to the table and the rest, which
    moves the boundary. The f of all rounds vote, each corrected for the shares it was fitted at.

    The rows are cut into folds, and the rounds run once without each of them: that makes the
    ensemble, and gives for every row the probability by members that never saw it or what was
    made from it. The calibration, the threshold and the stop are learned from those.

    Parameters
    ----------
    estimator : classifier, default=None
        f, with ``predict_proba``. ``None`` is thirty extremely randomised trees, which take
        tables as they are: categories, texts, booleans, missing cells. A logistic regression
        that is fitted to the same rows votes beside them; its boundary is not searched.

    sampler : sampler, default=None
        How counterfactuals are found, at the boundary of f: a :class:`CounterfactualOverSampler`
        (``None`` is one with its defaults) or an :class:`InteriorOverSampler`. Its ``estimator``
        and seed are set here.

    rounds : int, default=3
        Most rounds; fewer if the boundary settles, which is when the calls of fewer than one in
        a hundred real rows change, out of fold, from one round to the next.

    threshold : {"g_mean", "f1", "balanced_accuracy", "compromise"}, cost matrix, float or None, \
            default="compromise"
        How ``predict`` chooses: see :class:`ResampledClassifier`. It costs no further fit here.

    calibration : {"sigmoid", "isotonic"} or None, default="sigmoid"
        A curve from the vote to the shares that are seen out of fold.

    cv : int, splitter or iterable, default=5
        The folds; each gives a member in every round.

    n_jobs : int, default=None
        Number of jobs. It never changes the result.

    random_state : int, RandomState instance or None, default=None
        Seed of the folds, the searches and f.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    estimators_ : list of list of classifier
        The fitted f of each round, one for each fold.
    history_ : list of Round
        How the boundary moved: of each round the counterfactuals found, kept and dropped, the
        median distance from the real rows to the boundary, and the share of real rows whose
        call changed, out of fold.
    calls_ : ndarray of shape (n_rounds, n_samples)
        The class that f of each round calls each real row, out of fold and before any
        threshold; -1 stands for a row that is in no fold, all others are codes of ``classes_``.
    n_rounds_ : int
        Rounds that were done after round 0.
    base_shares_ : ndarray of shape (n_classes,)
        Shares of the classes.
    rarest_class_, threshold_, class_factors_
        See :class:`ResampledClassifier`.
    out_of_fold_proba_ : ndarray of shape (n_samples, n_classes)
        Where a threshold or a calibration was learned: the probabilities it was learned from,
        each by models that have not seen the row; nan for a row that was never left out.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if they are texts.

    See Also
    --------
    ResampledClassifier : Any classifier behind any sampler, fitted once.

    References
    ----------
    .. [1] H. Luo, L. Liu, "Counterfactual-based minority oversampling for imbalanced
       classification".

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from counterbalance.estimators.counterfactual import CounterfactualClassifier
    >>> X, y = make_classification(300, n_features=4, weights=[0.85], random_state=0)
    >>> model = CounterfactualClassifier(rounds=2, cv=3, random_state=0).fit(X, y)
    >>> [round_.number for round_ in model.history_]
    [0, 1, 2]
    >>> float(model.predict_proba(X)[:, 1].mean().round(2)), float((y == 1).mean().round(2))
    (0.16, 0.16)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "predict_proba"]), None],
        "sampler": [TableOverSampler, None],
        "rounds": [Interval(Integral, 0, None, closed="left")],
        **DecidingClassifier._parameter_constraints,  # noqa: SLF001  (scikit-learn's own way)
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        sampler: Any = None,
        rounds: int = 3,
        threshold: Any = "compromise",
        calibration: str | None = "sigmoid",
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.rounds = rounds
        decision = {"threshold": threshold, "calibration": calibration, "cv": cv}
        super().__init__(**decision, n_jobs=n_jobs, random_state=random_state)

    def _fit(self, X: Any, labels: Labels, weights: Floats | None, groups: Any) -> Floats | None:
        X, recipe = self._recipe(X)
        everything = np.arange(len(labels.codes))
        # Where nothing can be left out there is one track, of all rows, and nothing to learn from.
        folds = self.folds(labels, groups) or [(everything, everything[:0])]
        tracks = [
            make_track(X, labels, weights, groups, train, self._seed + APART * k)
            for k, (train, _) in enumerate(folds)
        ]
        tests = [(rows, containers.take(X, rows)) for _, rows in folds]
        job = Parallel(n_jobs=self.n_jobs)
        tracks = job(delayed(track.begin)(recipe) for track in tracks)
        votes = Votes(tests, recipe.classes, len(labels.codes))
        self.history_, calls = [Round(0)], [votes.add(tracks)]
        for number in range(1, self.rounds + 1):
            done = job(delayed(track.advance)(recipe, number) for track in tracks)
            tracks = [track for track, _ in done]
            if all(track.stopped for track in tracks):
                break
            calls.append(votes.add(tracks))
            changed = _share(calls[-1] != calls[-2], calls[-1] >= 0)
            self.history_.append(pooled([summary for _, summary in done], changed))
            if number > 1 and changed < SETTLED:
                break
        self._members = [track.members for track in tracks]
        self.n_rounds_ = len(calls) - 1
        self.calls_ = np.array(calls)
        return votes.mean() if (self.calls_ >= 0).any() else None

    @property
    def estimators_(self) -> list[list[Any]]:
        """The fitted f of each round, one for each fold."""
        return [
            [members[number].f for members in self._members if number < len(members)]
            for number in range(self.n_rounds_ + 1)
        ]

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield the probabilities after each round: the vote of the members up to then.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            After round 0, after round 1, ...; the last is what ``predict_proba`` returns.
        """
        for scores in self._staged(self._asked(X)):
            yield self._probabilities(scores)

    def _scores(self, X: Any) -> Floats:
        *_, last = self._staged(X)
        return last

    def _staged(self, X: Any) -> Iterator[Floats]:
        """Yield the vote after each round; a track that stopped votes with what it has."""
        rows = X if self._encoder is None else encoded(self._encoder, X)
        totals = np.zeros((len(self._members), X.shape[0], len(self.classes_)))
        for number in range(self.n_rounds_ + 1):
            for track, members in enumerate(self._members):
                if number < len(members):
                    totals[track] += members[number].probabilities(rows, self.classes_)
            counts = np.array([min(number + 1, len(members)) for members in self._members])
            yield np.asarray((totals / counts[:, None, None]).mean(axis=0))

    def _recipe(self, X: Any) -> tuple[Any, Recipe]:
        """Return the table as the rounds take it, and what they are made by.

        Our own f works on codes, which is many times faster than on frames; only a sampler that
        is told about columns by name has to see the frame itself.
        """
        sampler = CounterfactualOverSampler() if self.sampler is None else self.sampler
        f = self._base_estimator()
        check_classifier(f)
        self._encoder = None
        recipe = Recipe(f, sampler, self._weighs, self.classes_)
        if self.estimator is not None:
            return X, recipe
        if any(getattr(sampler, name, None) is not None for name in NAMING):
            trees = make_pipeline(TableEncoder(), f)
            return X, replace(recipe, estimator=trees, beside=_linear(None))
        table = read_table(X)
        self._encoder = TableEncoder().learn(table)
        whole = np.array([kind is Kind.INTEGER for kind in table.kinds])
        kinds = {"categorical_features": table.nominal, "integer_features": whole}
        told = {name: np.flatnonzero(mask).tolist() for name, mask in kinds.items() if mask.any()}
        sampler = clone(sampler).set_params(**told)
        beside = _linear(told.get("categorical_features"))
        return encoded(self._encoder, X), replace(recipe, sampler=sampler, beside=beside)

    def _base_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return ExtraTreesClassifier(TREES, min_samples_leaf=LEAF)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self.estimator is None
        for name in ("sparse", "allow_nan", "categorical", "string"):
            takes = own or getattr(get_tags(self.estimator).input_tags, name)
            setattr(tags.input_tags, name, takes)
        return tags


class Votes:
    """What the members of each track say of the fold that the track has not seen."""

    def __init__(self, tests: list[tuple[Integers, Any]], classes: Any, n_rows: int) -> None:
        self.tests, self.classes, self.n_rows = tests, classes, n_rows
        self.said: list[list[Floats]] = [[] for _ in tests]

    def add(self, tracks: list[Track]) -> Integers:
        """Ask the latest members; return the class that each of them calls, -1 for none."""
        calls = np.full(self.n_rows, -1, dtype=np.intp)
        for (rows, X), track, said in zip(self.tests, tracks, self.said, strict=True):
            if not rows.size:
                continue
            member = track.members[-1]
            if len(said) < len(track.members):
                said.append(member.probabilities(X, self.classes))
            as_fitted = prior_corrected(said[-1], member.prior, member.base)
            calls[rows] = as_fitted.argmax(axis=1)
        return calls

    def mean(self) -> Floats:
        """Return the vote for each row, nan for one that is in no fold."""
        scores = np.full((self.n_rows, len(self.classes)), np.nan)
        for (rows, _), said in zip(self.tests, self.said, strict=True):
            scores[rows] = np.mean(said, axis=0)
        return scores


def _linear(nominal: Any) -> Any:
    """Return the logistic regression that votes beside our own trees, unfitted."""
    return make_pipeline(
        TablePreparation(categorical_features=nominal), LogisticRegression(max_iter=1000)
    )


def _share(changed: Mask, known: Mask) -> float:
    return float(changed[known].mean()) if known.any() else np.nan


def encoded(encoder: TableEncoder, X: Any) -> Floats:
    """Return the codes of a table; refuse what trees cannot take."""
    codes = encoder.transform(X.toarray() if containers.kind(X) == "sparse" else X)
    if np.isinf(codes).any():
        column = int(np.isinf(codes).any(axis=0).argmax())
        raise TableError(
            f"X holds infinity in column {column}, which the default f cannot take; replace it "
            "by a number or by nan"
        )
    return codes

"""Columns of whole numbers in a data frame: new values are rounded, not cut off."""

from typing import Any


def whole_columns(X: Any) -> dict[Any, Any]:
    """Name and type of each integer or boolean column of a pandas frame; else nothing."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns") or not X.columns.is_unique:
        return {}
    return {name: kind for name, kind in X.dtypes.items() if getattr(kind, "kind", "") in "iub"}


class RoundsWholeColumns:
    """Gives a sampler's integer and boolean columns back as such, new values rounded.

    imbalanced-learn casts a frame's columns to their old types, which turns 2.9 into 2.
    """

    def fit_resample(self, X: Any, y: Any, **parameters: Any) -> Any:
        """Resample the table.

        Parameters
        ----------
        X : {array-like, dataframe, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.
        **parameters : dict
            Passed on.

        Returns
        -------
        tuple
            The rows and the classes of the resampled table.
        """
        resample = super().fit_resample  # type: ignore[misc]  # the sampler's, further along
        whole = whole_columns(X)
        if not whole:
            return resample(X, y, **parameters)
        X_new, y_new = resample(X.astype(dict.fromkeys(whole, float)), y, **parameters)
        for name, kind in whole.items():
            X_new[name] = X_new[name].round().astype(kind)
        return X_new, y_new

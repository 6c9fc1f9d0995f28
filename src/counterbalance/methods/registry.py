"""Registry: every method by its name, ours and those of the literature, with what Table I says.

A method is named by where it is, ``module:class``, and imported when it is first made: listing them
all loads neither scikit-learn nor imbalanced-learn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from counterbalance.errors import TableError


@dataclass(frozen=True)
class Method:
    """One resampling method: how to make it, and what is said about it."""

    name: str
    """Its name in the literature."""
    where: str
    """Its class as ``module:class``; a module that starts with a dot is within this package."""
    year: int
    """Year of publication."""
    reference: str
    """Authors and venue."""
    sentence: str
    """What it does, in one sentence."""
    kind: Literal["over", "under", "classifier"] = "over"
    """Whether it adds rows, removes rows, or is a classifier that resamples inside."""
    synthesises_with: Literal["minority", "majority"] | None = "minority"
    """Whose rows new ones are made from; ``None`` if it makes none."""
    boundary: bool = False
    """Whether it favours the boundary between the classes."""
    multiclass: bool = False
    """Whether its paper evaluated more than two classes."""
    ours: bool = False
    """Whether it is a sampler of this package, importable from ``counterbalance``."""
    details: str = ""
    """What the rows of one of our samplers are, for a report's list of methods."""
    aliases: tuple[str, ...] = ()
    """Other names for it, in lower case; the study calls our samplers by the first of them."""
    requires: str | None = None
    """Optional package that it needs, by its import name."""
    takes: Literal["table", "strings"] = "table"
    """Whether it works on a table of numbers or on a column of strings."""
    defaults: tuple[tuple[str, Any], ...] = ()
    """Parameters in which it differs from the defaults of its class."""

    @property
    def factory(self) -> Callable[..., Any]:
        """Makes a sampler or classifier; takes its parameters by keyword."""
        module, name = self.where.split(":")
        made: Callable[..., Any] = getattr(import_module(module, "counterbalance"), name)
        return partial(made, **dict(self.defaults)) if self.defaults else made


_under = partial(Method, kind="under", synthesises_with=None)
METHODS = (
    Method(
        *("Counterfactual", ".samplers.counterfactual:CounterfactualOverSampler"),
        2020,
        "Luo, Liu, Counterfactual-based minority oversampling for imbalanced classification",
        "Changes majority rows by the least that makes a classifier call them minority.",
        synthesises_with="majority",
        boundary=True,
        multiclass=True,
        ours=True,
        details="minimum inversions of majority rows as the paper finds them, the nearest ones up "
        "to balance; where too few rows invert, further inversions and rows made within the class.",
        aliases=("counterfactuals", "ours"),
    ),
    Method(
        *("Interior", ".samplers.interior:InteriorOverSampler"),
        *(2026, "this package"),
        "Spreads new rows around minority rows, drawn as a classifier agrees with them.",
        multiclass=True,
        ours=True,
        details="rows spread around minority rows, drawn as f agrees.",
        aliases=("interior",),
    ),
    Method(
        *("Random oversampling", "imblearn.over_sampling:RandomOverSampler"),
        *(2004, "Batista, Prati, Monard, SIGKDD Explorations"),
        "Copies rows of the smaller class, drawn at random.",
        aliases=("ros",),
    ),
    Method(
        *("SMOTE", "imblearn.over_sampling:SMOTE"),
        *(2002, "Chawla et al., JAIR"),
        "Puts new rows on the segments from a minority row to its nearest minority rows.",
        aliases=("smotenc", "smoten"),
    ),
    Method(
        *("Borderline-SMOTE", "imblearn.over_sampling:BorderlineSMOTE"),
        *(2005, "Han, Wang, Mao, ICIC"),
        "SMOTE from those minority rows that have many majority neighbours.",
        boundary=True,
    ),
    Method(
        *("ADASYN", "imblearn.over_sampling:ADASYN"),
        *(2008, "He et al., IJCNN"),
        "SMOTE that makes more rows where more majority rows are near.",
        boundary=True,
    ),
    Method(
        *("polynom-fit-SMOTE", ".methods.smote:PolynomFitSMOTE"),
        *(2008, "Gazzah, Essoukri Ben Amara, DAS"),
        "Puts new rows on lines or curves through the minority: star, bus, mesh.",
    ),
    Method(
        *("SVM-SMOTE", "imblearn.over_sampling:SVMSMOTE"),
        *(2011, "Nguyen, Cooper, Kamei, IJKESDP"),
        "SMOTE from the minority's support vectors.",
        boundary=True,
    ),
    Method(
        *("ProWSyn", ".methods.density:ProWSyn"),
        *(2013, "Barua, Islam, Murase, PAKDD"),
        "SMOTE that makes more rows the nearer the minority rows are to the majority.",
        boundary=True,
    ),
    Method(
        *("NRSBoundary-SMOTE", ".methods.smote:NRSBoundarySMOTE"),
        *(2013, "Hu, Li, Mathematical Problems in Engineering"),
        "SMOTE in the boundary that neighbourhood rough sets find.",
        boundary=True,
    ),
    Method(
        *("SSO", ".methods.model_guided:SSO"),
        *(2014, "Rong, Gong, Ng, ICMLC"),
        "Draws around minority rows where the answer of a trained network is sensitive.",
        boundary=True,
    ),
    Method(
        *("SMOTE-IPF", ".methods.smote_ipf:SMOTEIPF"),
        *(2015, "Saez et al., Information Sciences"),
        "SMOTE, then a committee of trees filters out rows that look mislabelled.",
        boundary=True,
    ),
    Method(
        *("Lee", ".methods.smote:Lee"),
        *(2015, "Lee, Kim, Lee, IMCOM"),
        "SMOTE that rejects new rows with too many majority neighbours.",
    ),
    Method(
        *("MDO", ".methods.mahalanobis:MDO"),
        *(2016, "Abdi, Hashemi, IEEE TKDE"),
        "Draws rows with the Mahalanobis distance of their seed from the class mean.",
        multiclass=True,
    ),
    Method(
        *("OUPS", ".methods.model_guided:OUPS"),
        *(2016, "Rivera, Xanthopoulos, Expert Systems with Applications"),
        "Puts new rows between a minority row and the next ones by propensity score.",
    ),
    Method(
        *("SMOTE-D", ".methods.smote:SMOTED"),
        *(2016, "Torres, Carrasco-Ochoa, Martinez-Trinidad, MCPR"),
        "Deterministic SMOTE: evenly spaced rows on the segments; the seed has no effect.",
    ),
    Method(
        *("ANS", ".methods.density:ANS"),
        *(2017, "Siriseriwan, Sinapiromsaran, SJST"),
        "SMOTE whose neighbours are all within one radius, not a fixed number.",
    ),
    Method(
        *("CCR", ".methods.density:CCR"),
        *(2017, "Koziarski, Wozniak, AMCS"),
        "Pushes majority rows out of spheres around minority rows and fills the spheres.",
        boundary=True,
    ),
    Method(
        *("CURE-SMOTE", ".methods.clusters:CURESMOTE"),
        *(2017, "Ma, Fan, BMC Bioinformatics"),
        "Clusters the minority, ignores its noise, and puts rows towards the centres.",
        multiclass=True,
    ),
    Method(
        *("Gaussian-SMOTE", ".methods.smote:GaussianSMOTE"),
        *(2017, "Lee, Kim, Kim, IJFIS"),
        "SMOTE with a normal spread on, and a little beyond, the segments.",
    ),
    Method(
        *("NRAS", ".methods.model_guided:NRAS"),
        *(2017, "Rivera, Information Sciences"),
        "Removes minority rows that look like noise by propensity score, then SMOTE.",
    ),
    Method(
        *("SOMO", ".methods.clusters:SOMO"),
        *(2017, "Douzas, Bacao, Expert Systems with Applications"),
        "SMOTE within and between the units of a self-organising map.",
    ),
    Method(
        *("Weighted SMOTE", ".methods.smote:WeightedSMOTE"),
        *(2017, "Prusty, Jayanthi, Velusamy, Progress in Nuclear Energy"),
        "SMOTE that makes more rows in the thick of the class.",
    ),
    Method(
        *("k-means SMOTE", "imblearn.over_sampling:KMeansSMOTE"),
        *(2018, "Douzas, Bacao, Last, Information Sciences"),
        "SMOTE inside clusters that hold enough minority rows.",
    ),
    Method(
        *("SWIM", ".methods.mahalanobis:SWIM"),
        *(2018, "Sharma et al., ICDM"),
        "Moves minority rows along lines of equal density of the majority.",
        synthesises_with="majority",
    ),
    Method(
        *("G-SMOTE", "imblearn_extra.gsmote:GeometricSMOTE"),
        *(2019, "Douzas, Bacao, Information Sciences"),
        "Draws inside a ball around a minority row, cut towards a neighbour.",
        requires="imblearn_extra",
    ),
    Method(
        *("SWIM (radial)", ".methods.mahalanobis:SWIM"),
        *(2020, "Bellinger et al., KAIS"),
        "Moves minority rows where the radial density of the majority does not rise.",
        synthesises_with="majority",
        defaults=(("density", "rbf"),),
    ),
    Method(
        *("CFA", ".methods.counterfactuals:CFA"),
        *(2022, "Temraz, Keane, Machine Learning with Applications"),
        "Gives majority rows the values in which a minority row differs from its near twin.",
        synthesises_with="majority",
        boundary=True,
    ),
    Method(
        *("Counterfactual SMOTE", ".methods.counterfactuals:CounterfactualSMOTE"),
        *(2025, "Almeida, Bacao, Data Science and Management"),
        "Bisects from majority to minority rows to just beyond the boundary.",
        synthesises_with="majority",
        boundary=True,
    ),
    _under(
        *("Random undersampling", "imblearn.under_sampling:RandomUnderSampler"),
        *(2004, "Batista, Prati, Monard, SIGKDD Explorations"),
        "Drops rows of the larger class at random.",
        aliases=("rus",),
    ),
    _under(
        *("Clustering undersampling (nearest)", ".methods.under_sampling:ClusteringUnderSampler"),
        *(2017, "Lin et al., Information Sciences"),
        "Keeps the majority row nearest to each cluster centre.",
    ),
    _under(
        *("Clustering undersampling (centres)", ".methods.under_sampling:ClusteringUnderSampler"),
        *(2017, "Lin et al., Information Sciences"),
        "Puts cluster centres in place of the majority.",
        defaults=(("strategy", "centres"),),
    ),
    _under(
        *("CUSBoost sampling", ".methods.under_sampling:ClusterRandomUnderSampler"),
        *(2017, "Rayhan et al., CSITSS"),
        "Drops majority rows at random inside each of their clusters.",
    ),
    _under(
        *("USS", ".methods.under_sampling:SensitivityUnderSampler"),
        *(2019, "Zhang et al., ICMLC"),
        "Keeps majority rows whose label depends on the balance: those at the boundary.",
        boundary=True,
    ),
    Method(
        *("CUSBoost", ".methods.under_sampling:CUSBoostClassifier"),
        *(2017, "Rayhan et al., CSITSS"),
        "A boosted classifier that undersamples inside clusters in every round.",
        kind="classifier",
        synthesises_with=None,
    ),
    Method(
        *("GAMO", ".methods.deep:GAMO"),
        *(2019, "Mullick, Datta, Das, ICCV"),
        "Combines minority rows by a generator that a classifier and a discriminator train.",
        boundary=True,
        multiclass=True,
        requires="autograd",
    ),
    Method(
        *("text-GAN", ".methods.deep:TextGAN"),
        *(2018, "Anand et al., IEEE Big Data"),
        "Writes new strings, such as URLs, by a network of characters and a critic.",
        requires="autograd",
        takes="strings",
    ),
    Method(
        *("DOS", ".methods.deep:DOSClassifier"),
        *(2017, "Ando, Huang, ECML PKDD"),
        "A deep classifier that oversamples between neighbours in its own features.",
        kind="classifier",
        synthesises_with=None,
        multiclass=True,
        requires="autograd",
    ),
)


def all_samplers() -> dict[str, Method]:
    """Return every method by its name: ours first, then oversamplers by year, then the others.

    A method whose optional package is not installed is left out: G-SMOTE appears after
    ``pip install imbalanced-learn-extra``, GAMO, text-GAN and DOS after ``pip install autograd``.

    >>> all_samplers()["ProWSyn"].factory(random_state=0)
    ProWSyn(random_state=0)
    """
    return {
        method.name: method
        for method in METHODS
        if method.requires is None or find_spec(method.requires) is not None
    }


def find_method(given: str, option: str) -> Method:
    """Return the method that a user's text stands for, in any case; ``option`` is for the message.

    >>> find_method("smote", "--method").name, find_method("ours", "--method").name
    ('SMOTE', 'Counterfactual')
    """
    known = {name.casefold(): method for name, method in all_samplers().items()}
    known |= {alias: method for method in known.values() for alias in method.aliases}
    wanted = " ".join(given.replace("_", " ").split()).casefold()
    if wanted not in known:
        absent = [method for method in METHODS if method.name.casefold() == wanted]
        if absent:
            raise TableError(
                f"{option} {absent[0].name} needs the package {absent[0].requires}; install it "
                "(counterbalance methods lists what is there)"
            )
        near = [known[match].name for match in get_close_matches(wanted, known, n=3)]
        hint = f" (near: {', '.join(map(repr, dict.fromkeys(near)))})" if near else ""
        raise TableError(
            f"{option} must be a method of the registry, got {given!r}{hint}; "
            "counterbalance methods lists them"
        )
    return known[wanted]


def table() -> str:
    """Return the paper's Table I, from the registry, as Markdown."""
    mark = {True: "yes", False: "no"}
    lines = [
        "| method | year | kind | synthesises with | boundary | classes | reference |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {m.name} | {m.year} | {m.kind} | {m.synthesises_with or '-'} | {mark[m.boundary]} | "
        f"{'multiple' if m.multiclass else 'binary'} | {m.reference} |"
        for m in METHODS
    ]
    return "\n".join(lines)

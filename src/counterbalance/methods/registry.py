"""Every peer by name, with what the paper's Table I says of it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from imblearn import over_sampling, under_sampling

from counterbalance.methods.ans import ANS
from counterbalance.methods.ccr import CCR
from counterbalance.methods.cfa import CFA
from counterbalance.methods.cluster_random_under_sampling import ClusterRandomUnderSampler
from counterbalance.methods.clustering_under_sampling import ClusteringUnderSampler
from counterbalance.methods.counterfactual_smote import CounterfactualSMOTE
from counterbalance.methods.cure_smote import CURESMOTE
from counterbalance.methods.cusboost import CUSBoostClassifier
from counterbalance.methods.deep import GAMO, DOSClassifier, TextGAN
from counterbalance.methods.gaussian_smote import GaussianSMOTE
from counterbalance.methods.lee import Lee
from counterbalance.methods.mdo import MDO
from counterbalance.methods.nras import NRAS
from counterbalance.methods.nrs_boundary_smote import NRSBoundarySMOTE
from counterbalance.methods.oups import OUPS
from counterbalance.methods.polynom_fit_smote import PolynomFitSMOTE
from counterbalance.methods.prowsyn import ProWSyn
from counterbalance.methods.sensitivity_under_sampling import SensitivityUnderSampler
from counterbalance.methods.smote_d import SMOTED
from counterbalance.methods.smote_ipf import SMOTEIPF
from counterbalance.methods.somo import SOMO
from counterbalance.methods.sso import SSO
from counterbalance.methods.swim import SWIM
from counterbalance.methods.weighted_smote import WeightedSMOTE


@dataclass(frozen=True)
class Peer:
    """One resampler of the literature."""

    name: str
    """Its name in the literature."""
    factory: Callable[..., Any]
    """Makes a sampler or classifier; takes its parameters by keyword."""
    year: int
    """Year of publication."""
    reference: str
    """Authors and venue."""
    kind: Literal["over", "under", "classifier"]
    """Whether it adds rows, removes rows, or is a classifier that resamples inside."""
    synthesises_with: Literal["minority", "majority"] | None
    """Whose rows new ones are made from; ``None`` where none is made."""
    boundary: bool
    """Whether it favours the boundary between the classes."""
    multiclass: bool
    """Whether its paper evaluated more than two classes."""
    takes: Literal["table", "strings"] = "table"
    """Whether it works on a table of numbers or on a column of strings."""


def _geometric_smote(**parameters: Any) -> Any:
    from imblearn_extra.gsmote import GeometricSMOTE  # noqa: PLC0415  # an extra: loaded when asked for

    return GeometricSMOTE(**parameters)


def _swim_rbf(**parameters: Any) -> SWIM:
    return SWIM(**{"density": "rbf", **parameters})


def _lin_centres(**parameters: Any) -> ClusteringUnderSampler:
    return ClusteringUnderSampler(**{"strategy": "centres", **parameters})


def _over(  # one line of the table below
    name: str,
    factory: Callable[..., Any],
    year: int,
    reference: str,
    *,
    synthesises_with: Literal["minority", "majority"] = "minority",
    boundary: bool = False,
    multiclass: bool = False,
) -> Peer:
    return Peer(name, factory, year, reference, "over", synthesises_with, boundary, multiclass)


def _under(
    name: str, factory: Callable[..., Any], year: int, reference: str, *, boundary: bool = False
) -> Peer:
    return Peer(name, factory, year, reference, "under", None, boundary, multiclass=False)


_PEERS = (
    _over(
        "Random oversampling",
        over_sampling.RandomOverSampler,
        2004,
        "Batista, Prati, Monard, SIGKDD Explorations",
    ),
    _over("SMOTE", over_sampling.SMOTE, 2002, "Chawla et al., JAIR"),
    _over(
        "Borderline-SMOTE",
        over_sampling.BorderlineSMOTE,
        2005,
        "Han, Wang, Mao, ICIC",
        boundary=True,
    ),
    _over("ADASYN", over_sampling.ADASYN, 2008, "He et al., IJCNN", boundary=True),
    _over("polynom-fit-SMOTE", PolynomFitSMOTE, 2008, "Gazzah, Essoukri Ben Amara, DAS"),
    _over(
        "SVM-SMOTE", over_sampling.SVMSMOTE, 2011, "Nguyen, Cooper, Kamei, IJKESDP", boundary=True
    ),
    _over("ProWSyn", ProWSyn, 2013, "Barua, Islam, Murase, PAKDD", boundary=True),
    _over(
        "NRSBoundary-SMOTE",
        NRSBoundarySMOTE,
        2013,
        "Hu, Li, Mathematical Problems in Engineering",
        boundary=True,
    ),
    _over("SSO", SSO, 2014, "Rong, Gong, Ng, ICMLC", boundary=True),
    _over("SMOTE-IPF", SMOTEIPF, 2015, "Saez et al., Information Sciences", boundary=True),
    _over("Lee", Lee, 2015, "Lee, Kim, Lee, IMCOM"),
    _over("MDO", MDO, 2016, "Abdi, Hashemi, IEEE TKDE", multiclass=True),
    _over("OUPS", OUPS, 2016, "Rivera, Xanthopoulos, Expert Systems with Applications"),
    _over("SMOTE-D", SMOTED, 2016, "Torres, Carrasco-Ochoa, Martinez-Trinidad, MCPR"),
    _over("ANS", ANS, 2017, "Siriseriwan, Sinapiromsaran, SJST"),
    _over("CCR", CCR, 2017, "Koziarski, Wozniak, AMCS", boundary=True),
    _over("CURE-SMOTE", CURESMOTE, 2017, "Ma, Fan, BMC Bioinformatics", multiclass=True),
    _over("Gaussian-SMOTE", GaussianSMOTE, 2017, "Lee, Kim, Kim, IJFIS"),
    _over("NRAS", NRAS, 2017, "Rivera, Information Sciences"),
    _over("SOMO", SOMO, 2017, "Douzas, Bacao, Expert Systems with Applications"),
    _over(
        "Weighted SMOTE",
        WeightedSMOTE,
        2017,
        "Prusty, Jayanthi, Velusamy, Progress in Nuclear Energy",
    ),
    _over(
        "k-means SMOTE",
        over_sampling.KMeansSMOTE,
        2018,
        "Douzas, Bacao, Last, Information Sciences",
    ),
    _over("SWIM", SWIM, 2018, "Sharma et al., ICDM", synthesises_with="majority"),
    _over("G-SMOTE", _geometric_smote, 2019, "Douzas, Bacao, Information Sciences"),
    _over("SWIM (radial)", _swim_rbf, 2020, "Bellinger et al., KAIS", synthesises_with="majority"),
    _over(
        "CFA",
        CFA,
        2022,
        "Temraz, Keane, Machine Learning with Applications",
        synthesises_with="majority",
        boundary=True,
    ),
    _over(
        "Counterfactual SMOTE",
        CounterfactualSMOTE,
        2025,
        "Almeida, Bacao, Data Science and Management",
        synthesises_with="majority",
        boundary=True,
    ),
    _under(
        "Random undersampling",
        under_sampling.RandomUnderSampler,
        2004,
        "Batista, Prati, Monard, SIGKDD Explorations",
    ),
    _under(
        "Clustering undersampling (nearest)",
        ClusteringUnderSampler,
        2017,
        "Lin et al., Information Sciences",
    ),
    _under(
        "Clustering undersampling (centres)", _lin_centres, 2017, "Lin et al., Information Sciences"
    ),
    _under("CUSBoost sampling", ClusterRandomUnderSampler, 2017, "Rayhan et al., CSITSS"),
    _under("USS", SensitivityUnderSampler, 2019, "Zhang et al., ICMLC", boundary=True),
    Peer(
        "CUSBoost",
        CUSBoostClassifier,
        2017,
        "Rayhan et al., CSITSS",
        "classifier",
        None,
        boundary=False,
        multiclass=False,
    ),
    # the deep systems, at the end of all
    _over("GAMO", GAMO, 2019, "Mullick, Datta, Das, ICCV", boundary=True, multiclass=True),
    Peer(
        *("text-GAN", TextGAN, 2018, "Anand et al., IEEE Big Data", "over", "minority"),
        boundary=False,
        multiclass=False,
        takes="strings",
    ),
    Peer(
        *("DOS", DOSClassifier, 2017, "Ando, Huang, ECML PKDD", "classifier", None),
        boundary=False,
        multiclass=True,
    ),
)

_EXTRA = {"G-SMOTE": "imblearn_extra"} | dict.fromkeys(("GAMO", "text-GAN", "DOS"), "autograd")


def all_samplers() -> dict[str, Peer]:
    """Every peer by its name in the literature, oversamplers first, by year; the deep ones last.

    A peer that needs a package that is not installed is left out: G-SMOTE is there after
    ``pip install imbalanced-learn-extra``, GAMO, text-GAN and DOS after ``pip install autograd``.

    >>> all_samplers()["ProWSyn"].factory(random_state=0)
    ProWSyn(random_state=0)
    """
    return {
        peer.name: peer
        for peer in _PEERS
        if peer.name not in _EXTRA or find_spec(_EXTRA[peer.name]) is not None
    }


def table() -> str:
    """Give the paper's Table I, from the registry, as Markdown."""
    mark = {True: "yes", False: "no"}
    lines = [
        "| method | year | kind | synthesises with | boundary | classes | reference |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {p.name} | {p.year} | {p.kind} | {p.synthesises_with or '-'} | {mark[p.boundary]} | "
        f"{'multiple' if p.multiclass else 'binary'} | {p.reference} |"
        for p in _PEERS
    ]
    return "\n".join(lines)

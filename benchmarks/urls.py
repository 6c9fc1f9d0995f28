"""URL-like strings, benign and phishing-like, from a small grammar: a table for text-GAN.

Every host ends in a name that is reserved for examples (RFC 2606) or is an address reserved for
documentation (RFC 5737): no string points anywhere. The two kinds overlap: an honest shop has a
login page too, and some phishing pages look clean.
"""

from typing import Any

import numpy as np

ENDS = ("example", "test", "com.example", "org.example", "net.test", "co.test")
BRANDS = (
    *("mapletree", "nordbank", "cloudpost", "payriver", "bluecart", "letterbox", "parcelpro"),
    *("quickloan", "streamhub", "homeledger", "skyticket", "farmfoods"),
)
WORDS = (
    *("garden", "history", "travel", "recipes", "music", "science", "village", "cycling", "photo"),
    *("museum", "weather", "library", "coffee", "school", "sports", "river", "theatre", "design"),
)
PAGES = ("index", "about", "news", "article", "products", "contact", "search", "help", "login")
LURES = ("login", "verify", "secure", "account", "update", "signin", "confirm", "billing", "unlock")
LOOKALIKES = {"o": "0", "l": "1", "e": "3", "a": "4", "i": "1"}
QUERIES = ("id", "page", "ref", "lang", "session", "token", "user")


def make_urls(
    n_benign: int = 900, n_phishing: int = 100, *, random_state: int | None = 0
) -> tuple[Any, Any]:
    """Return distinct strings, shuffled, and ``"benign"`` or ``"phishing"`` for each."""
    rng = np.random.default_rng(random_state)
    found: dict[str, str] = {}
    for label, make, n in (("benign", _benign, n_benign), ("phishing", _phishing, n_phishing)):
        wanted = len(found) + n
        while len(found) < wanted:
            found.setdefault(make(rng), label)
    order = rng.permutation(len(found))
    return (
        np.array(list(found), dtype=object)[order],
        np.array(list(found.values()), dtype=object)[order],
    )


def _one(rng: np.random.Generator, choices: tuple[str, ...]) -> str:
    return choices[int(rng.integers(len(choices)))]


def _query(rng: np.random.Generator, longest: int) -> str:
    pairs = [
        f"{_one(rng, QUERIES)}={rng.integers(10 ** rng.integers(1, longest))}"
        for _ in range(rng.integers(1, 3))
    ]
    return "?" + "&".join(pairs)


def _benign(rng: np.random.Generator) -> str:
    name = _one(rng, WORDS) if rng.random() < 0.6 else _one(rng, BRANDS)
    if rng.random() < 0.3:
        name += f"-{_one(rng, WORDS)}"
    front = _one(rng, ("www.", "www.", "blog.", "shop.", "secure.", "login.", "", ""))
    scheme = "https" if rng.random() < 0.8 else "http"
    pages = (*PAGES, *LURES) if rng.random() < 0.3 else (*PAGES, *WORDS)
    path = "".join(f"/{_one(rng, pages)}" for _ in range(rng.integers(0, 4)))
    if path and rng.random() < 0.25:
        path += _one(
            rng, (".html", ".php", f"-{rng.integers(100)}", f"/{rng.integers(1990, 2026)}")
        )
    tail = _query(rng, 5) if rng.random() < 0.3 else ""
    return f"{scheme}://{front}{name}.{_one(rng, ENDS)}{path or '/'}{tail}"


def _phishing(rng: np.random.Generator) -> str:
    brand = _one(rng, BRANDS)
    disguised = _disguised(rng, brand)
    scheme = "http" if rng.random() < 0.5 else "https"
    kind = rng.integers(6)
    if kind == 0:
        network = _one(rng, ("192.0.2", "198.51.100", "203.0.113"))
        host = f"{network}.{rng.integers(1, 255)}"
    elif kind == 1:
        host = f"{disguised}.{_one(rng, ENDS)}"
    elif kind == 2:
        host = f"{brand}.{_one(rng, LURES)}-{_one(rng, LURES)}.{_one(rng, ENDS)}"
    elif kind == 3:  # an honest host that was broken into
        host = f"{_one(rng, ('www.', ''))}{_one(rng, WORDS)}.{_one(rng, ENDS)}"
    else:
        host = f"{disguised}-{_one(rng, (*LURES, *WORDS))}.{_one(rng, ENDS)}"
    parts = [_one(rng, (*LURES, *PAGES, *WORDS, brand)) for _ in range(rng.integers(1, 4))]
    page = _one(rng, ("", ".php", ".html", "/"))
    tail = _query(rng, 9) if rng.random() < 0.5 else ""
    return f"{scheme}://{host}/{'/'.join(parts)}{page}{tail}"


def _disguised(rng: np.random.Generator, brand: str) -> str:
    places = [place for place, letter in enumerate(brand) if letter in LOOKALIKES]
    if rng.random() < 0.3:
        place = int(rng.integers(len(brand)))
        return brand[:place] + brand[place] + brand[place:]
    place = places[int(rng.integers(len(places)))]
    return brand[:place] + LOOKALIKES[brand[place]] + brand[place + 1 :]

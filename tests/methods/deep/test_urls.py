import numpy as np
import pytest

from counterbalance.errors import TableError
from counterbalance.methods.deep.text_gan import is_url, make_urls


def test_the_sample_is_distinct_valid_seeded_and_points_nowhere():
    urls, labels = make_urls(300, 60)
    assert len(set(urls)) == 360
    assert (labels == "phishing").sum() == 60
    assert all(map(is_url, urls))
    np.testing.assert_array_equal(urls, make_urls(300, 60)[0])
    assert (urls != make_urls(300, 60, random_state=1)[0]).any()
    hosts = [url.split("/")[2] for url in urls]
    reserved = (".example", ".test")
    networks = ("192.0.2.", "198.51.100.", "203.0.113.")
    assert all(host.endswith(reserved) or host.startswith(networks) for host in hosts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://192.0.2.7/login.php?id=3", True),
        ("https://a-b.c.test:8080/x#y", True),
        ("http://192.0.2.700/", False),
        ("https://-a.test/", False),
        ("ftp://a.test/", False),
        ("https://a.test/with space", False),
        ("https://nowhere", False),
        ("", False),
    ],
)
def test_what_is_a_url(text, expected):
    assert is_url(text) is expected


def test_more_than_the_grammar_has_is_refused():
    with pytest.raises(TableError, match="n_benign must be between 0 and 20000"):
        make_urls(30_000, 1)

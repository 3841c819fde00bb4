"""URLs of buckets: the schemes of other libraries → ``s3://``, ``gs://`` and ``az://``."""

from __future__ import annotations

#: schemes of buckets
SCHEMES = ("s3://", "gs://", "az://")
_SCHEMES = {
    "s3a": "s3",
    "gcs": "gs",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "adl": "az",
    "wasb": "az",
    "wasbs": "az",
}
#: accounts that URLs named, by bucket
_accounts: dict[str, str] = {}


def is_bucket(url: str) -> bool:
    """Whether ``url`` names a bucket or an object in one."""
    return url.startswith(SCHEMES)


def canonical(url: str) -> str:
    """``az://container/key`` for ``abfss://container@account.dfs.core.windows.net/key``; others alike.

    Azure's account is kept for :func:`account`, because ``az://`` URLs do not name it.
    """
    scheme, separator, rest = url.partition("://")
    known = _SCHEMES.get(scheme)
    if not separator or (known is None and scheme != "az"):
        return url
    host, slash, key = rest.partition("/")
    container, at, server = host.partition("@")
    made = f"{known or scheme}://{container}"
    if at and known == "az":
        _accounts[made] = server.partition(".")[0]
    return f"{made if at else f'{known or scheme}://{host}'}{slash}{key}"


def bucket(url: str) -> str:
    """``s3://bucket`` of a URL."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def account(url: str) -> str | None:
    """The Azure account of the URL's container, if a URL of it named one."""
    return _accounts.get(bucket(url))

"""Parse ``REPO@REF`` and ``REPO:/path``; normalize URLs, file names and paths."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from icecore import errors

if TYPE_CHECKING:
    from pathlib import Path


_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
#: URLs in which one or both slashes are missing
_NEARLY = re.compile(r"^(s3|gs|gcs|az|abfss?|https?|file|memory):/?(?!/)", re.IGNORECASE)
#: names in the directory of a repository; a data directory may contain one of them, but rarely several
_PARTS = ("repo", "refs", "snapshots", "transactions")
#: the end of a version in git's notation: `@{2026-11-01}`, `@{2026-11-01}~1`
_AT_TIME = re.compile(r"(?<!^)@\{[^{}@]*\}[~^\d]*$")
_INSIDE = re.compile(r"^(?P<repo>.*?[^:/]):(?P<path>/(?!/).*)$")


def named(place: str | os.PathLike[str]) -> str:
    """Return the name of a file, a directory, a URL or a repository as a string; URL schemes in lower case.

    Raises:
        Error: ``invalid`` if ``place`` is neither a string nor a ``Path``, or is empty.
    """
    text = os.fspath(place) if isinstance(place, (str, os.PathLike)) else place
    if isinstance(text, str) and text:
        scheme = _SCHEME.match(text)
        return text if scheme is None else canonical(scheme[0].lower() + text[scheme.end() :])
    if isinstance(text, str):  # the operating system would use the working directory
        message = "the name of a file or a repository is empty"
        raise errors.make("invalid", message, "is a variable unset? The working directory is named by .")
    message = f"the name of a file or a repository must be a string or a Path (got {type(place).__name__})"
    raise errors.make(
        "invalid", message, "to write an array: repo.writer(), then w.array('/x', a.dtype, a.shape)[...] = a"
    )


def local(place: str | os.PathLike[str]) -> Path:
    """Return the path of a local file or directory.

    A leading ``~user`` is replaced by that user's home directory. If that user does not exist, it is part
    of the name (``~draft.nc``).
    """
    from pathlib import Path  # imported late: URLs don't need it

    return Path(os.path.expanduser(place))


def is_url(text: str) -> bool:
    """Whether ``text`` starts with a scheme such as ``s3://``."""
    return bool(_SCHEME.match(text))


def split_ref(text: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Split ``moon.icecore@v1`` into (``moon.icecore``, ``v1``); the second is None without a version.

    The version of ``a.icecore@{2026-11-01}`` is ``@{2026-11-01}``, that of ``a.icecore@run@{2026-11-01}`` is
    ``run@{2026-11-01}``.

    An ``@`` in the name of a directory or in the host of a URL does not start a version. Neither does one in
    the name of a repository that does not exist yet (``me@home.icecore``).
    """
    text = named(text)
    host_end = 0
    if is_url(text):
        slash = text.find("/", text.index("://") + 3)
        host_end = len(text) if slash < 0 else slash
        if text.startswith(("memory://", "file://")):
            host_end = 0
    elif local(text).exists():
        return text, None
    if time := _AT_TIME.search(text):
        place, base = split_ref(text[: time.start()].removesuffix("@"))
        return place, (base or "") + time[0]
    at = text.rfind("@")
    if at <= host_end or at == len(text) - 1 or _in_folder(text, at):
        return text, None
    return text[:at], text[at + 1 :]


def repository(text: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Split the name of a repository as :func:`split_ref` does, and reject a path inside the repository.

    Raises:
        Error: ``invalid`` for ``REPO:/path``, and for ``REPO@`` without a version if REPO exists.
    """
    text = named(text)
    repo, path = split_path(text)
    place, _ = split_ref(repo)
    if path is not None and not is_url(place) and local(place).exists():
        message = f"{text} names {path} inside a repository; expected the repository only"
        raise errors.make(
            "invalid", message, f"give them separately: {repo} {path}; with link and pack: --group {path}"
        )
    if place.endswith("@") and not os.path.exists(place) and local(place[:-1]).exists():
        hint = "name a branch, a tag, a snapshot or a time; without the @ it is branch main"
        raise errors.make("invalid", f"{text}: the version after the @ is missing", hint)
    return split_ref(text)


def _in_folder(text: str, at: int) -> bool:
    """Whether the ``@`` at index ``at`` is part of a directory's name; branch names may contain ``/``."""
    slash = text.find("/", at)
    if text[:at].endswith(".icecore"):
        return slash >= 0 and not is_url(text) and local(text[:slash]).is_dir()
    if slash < 0:
        return text.endswith(".icecore") and (is_url(text) or not local(text[:at]).exists())
    if is_url(text):
        return text.endswith(".icecore")
    return local(text[:slash]).is_dir() or not local(text[:at]).exists()


def split_path(text: str) -> tuple[str, str | None]:
    """Split ``moon.icecore@v1:/wrf/t2m`` into (``moon.icecore@v1``, ``/wrf/t2m``); None without a path."""
    if not is_url(text) and local(text).exists():
        return text, None
    match = _INSIDE.match(text)
    return (match["repo"], match["path"]) if match else (text, None)


def location(url: str | os.PathLike[str]) -> str:
    """Return the location of a repository for the engine: URLs unchanged, ``~`` in local paths expanded.

    Raises:
        Error: ``unsupported`` for a name that is not UTF-8; ``invalid`` for a URL without two slashes.
    """
    text = readable(named(url))
    if is_url(text):
        return text
    nearly = _NEARLY.match(text)
    if nearly is not None and not os.path.exists(nearly[0]):
        scheme, rest = nearly[1].lower(), text[nearly.end() :]
        meant = f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"
        message = f"{text} is neither a directory nor a URL"
        raise errors.make("invalid", message, f"a URL has two slashes: {meant}")
    return str(local(text))


def around(place: str) -> tuple[str, str] | None:
    """Return the repository that contains ``place`` and the path in it, or None.

    ``moon.icecore/wrf/t2m`` gives (``moon.icecore``, ``/wrf/t2m``).
    """
    from pathlib import Path

    parents = (parent for parent in Path(place).parents if holds_repository(parent))
    repo = next(parents, None)
    return None if repo is None else (str(repo), absolute(str(Path(place).relative_to(repo))))


def readable(name: str) -> str:
    """Return a file's name unchanged.

    Raises:
        Error: ``unsupported`` if the name is not UTF-8: neither URLs nor the engine can represent it.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="backslashreplace").decode()
        raise errors.make(
            "unsupported", f"the name {shown} is not UTF-8", "rename it, or make a link to it: ln -s"
        ) from None
    return name


def holds_repository(folder: str | os.PathLike[str]) -> bool:
    """Whether a directory holds a repository, even a damaged one."""
    return sum(os.path.exists(os.path.join(folder, name)) for name in _PARTS) > 1


def absolute(path: str) -> str:
    """Return a path inside a repository with a leading ``/`` and without a trailing one.

    Raises:
        Error: ``invalid`` if ``path`` is not a string.
    """
    if not isinstance(path, str):
        message = f"a path in a repository must be a string (got {type(path).__name__}: {path!r})"
        raise errors.make("invalid", message, 'name an array or a group: "/wrf/t2m"')
    return "/" + "/".join(part for part in path.split("/") if part)


def version(ref: str, what: str = "a version") -> str:
    """Return the name of a version after checking that it is a string.

    Raises:
        Error: ``invalid`` if ``ref`` is not a string, for example a commit of ``repo.log()`` or a date.
    """
    if isinstance(ref, str):
        return ref
    given: Any = ref
    hint = 'a branch, a tag, a snapshot id, an ISO time or a revision: "main", "main~1"'
    if isinstance(getattr(given, "id", None), str):
        hint = f'give its id: "{given.id}"'
    elif hasattr(given, "isoformat"):
        hint = f'give it as a string; without an offset it is UTC: "{given.isoformat()}"'
    raise errors.make("invalid", f"the name of {what} must be a string (got {type(given).__name__})", hint)


def join(parent: str, child: str) -> str:
    """Join two paths inside a repository."""
    return absolute(f"{parent}/{child}")


def prefix(place: str | os.PathLike[str]) -> str:
    """Return a directory or URL prefix that linked files may be read from, as a URL that ends with ``/``."""
    text = os.fspath(place)
    url = text if is_url(text) else local(os.path.abspath(local(text))).as_uri()
    return url.rstrip("/") + "/"


def legal(address: str | bytes) -> str:
    """Percent-encode the characters that a URL can't contain (spaces, ``ü``), as browsers do."""
    from urllib.parse import quote

    return quote(address, safe="%/:?#[]@!$&'()*+,;=~")


def stem(source: str | os.PathLike[str]) -> str:
    """Return the default group of a source: its file name without the last suffix."""
    text = named(source)
    name = re.split(r"[?#]", text)[0] if is_url(text) else text
    base = name.rstrip("/").rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] or base


# URLs of buckets: the schemes of other libraries → ``s3://``, ``gs://`` and ``az://``.

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

"""``REPO@REF`` and ``REPO:/path`` taken apart."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from icecore import errors

if TYPE_CHECKING:
    from pathlib import Path

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
#: URLs that lack a slash, or both
_NEARLY = re.compile(r"^(s3|https?|file|memory):/?(?!/)", re.IGNORECASE)
#: what lies in the folder of a repository; folders of data have one of these now and then, not several
_PARTS = ("repo", "refs", "snapshots", "transactions")
_INSIDE = re.compile(r"^(?P<repo>.*?[^:/]):(?P<path>/(?!/).*)$")


def named(place: str | os.PathLike[str]) -> str:
    """What names a file, a folder, a URL or a repository, as text; the scheme of a URL in small letters.

    Raises:
        Error: ``invalid`` for what is no name: numbers, an open file, bytes, an empty text.
    """
    text = os.fspath(place) if isinstance(place, (str, os.PathLike)) else place
    if isinstance(text, str) and text:
        scheme = _SCHEME.match(text)
        return text if scheme is None else scheme[0].lower() + text[scheme.end() :]
    if isinstance(text, str):  # which to the system is the working directory
        message = "the name of a file or a repository is empty"
        raise errors.make("invalid", message, "is a variable unset? The working directory is named by .")
    message = f"a file or a repository is named by a text or a Path, not by {type(place).__name__}"
    raise errors.make(
        "invalid", message, "numbers are written by repo.writer(): w.array('/x', a.dtype, a.shape)[...] = a"
    )


def local(place: str | os.PathLike[str]) -> Path:
    """A file or folder of this machine; ``~`` is a user's home where there is such a user, else part of a
    name (``~draft.nc``).
    """
    from pathlib import Path  # a URL does without

    return Path(os.path.expanduser(place))


def is_url(text: str) -> bool:
    """Whether ``text`` starts with a scheme such as ``s3://``."""
    return bool(_SCHEME.match(text))


def split_ref(text: str | os.PathLike[str]) -> tuple[str, str | None]:
    """``moon.icecore@v1`` → (``moon.icecore``, ``v1``); None where no version is named.

    An ``@`` that belongs to a folder, or to a URL's host, names no version; nor does one in the name of a
    repository that is still to be made (``me@home.icecore``).
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
    at = text.rfind("@")
    if at <= host_end or at == len(text) - 1 or _in_folder(text, at):
        return text, None
    return text[:at], text[at + 1 :]


def repository(text: str | os.PathLike[str]) -> tuple[str, str | None]:
    """The same of what is to name a repository, and nothing in it.

    Raises:
        Error: ``invalid`` for ``REPO:/path`` and for ``REPO@`` without a version, where there is such a REPO.
    """
    text = named(text)
    repo, path = split_path(text)
    place, _ = split_ref(repo)
    if path is not None and not is_url(place) and local(place).exists():
        message = f"{text} names {path} in a repository, where the repository alone should stand"
        raise errors.make(
            "invalid", message, f"name it apart: {repo} {path}, with link and pack --group {path}"
        )
    if place.endswith("@") and not os.path.exists(place) and local(place[:-1]).exists():
        hint = "name a branch, a tag, a snapshot or a time, or leave the @ out for branch main"
        raise errors.make("invalid", f"{text} names no version behind its @", hint)
    return split_ref(text)


def _in_folder(text: str, at: int) -> bool:
    """Whether the ``@`` at ``at`` stands in a folder's name; branches may have a ``/`` in theirs."""
    slash = text.find("/", at)
    if text[:at].endswith(".icecore"):
        return slash >= 0 and not is_url(text) and local(text[:slash]).is_dir()
    if slash < 0:
        return text.endswith(".icecore") and (is_url(text) or not local(text[:at]).exists())
    if is_url(text):
        return text.endswith(".icecore")
    return local(text[:slash]).is_dir() or not local(text[:at]).exists()


def split_path(text: str) -> tuple[str, str | None]:
    """``moon.icecore@v1:/wrf/t2m`` → (``moon.icecore@v1``, ``/wrf/t2m``); None where no path is named."""
    if not is_url(text) and local(text).exists():
        return text, None
    match = _INSIDE.match(text)
    return (match["repo"], match["path"]) if match else (text, None)


def location(url: str | os.PathLike[str]) -> str:
    """A repository's place as the engine takes it: URLs as they are, paths with ``~`` resolved.

    Raises:
        Error: ``unsupported`` for a name that is not UTF-8, ``invalid`` for a URL with too few slashes.
    """
    text = readable(named(url))
    if is_url(text):
        return text
    nearly = _NEARLY.match(text)
    if nearly is not None and not os.path.exists(nearly[0]):
        scheme, rest = nearly[1].lower(), text[nearly.end() :]
        meant = f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"
        message = f"{text} is neither a folder nor a URL"
        raise errors.make("invalid", message, f"a URL has two slashes: {meant}")
    return str(local(text))


def around(place: str) -> tuple[str, str] | None:
    """The repository that ``place`` lies in, and the path there: of ``moon.icecore/wrf/t2m`` the folder
    ``moon.icecore`` and ``/wrf/t2m``. None where it lies in none.
    """
    from pathlib import Path

    parents = (parent for parent in Path(place).parents if holds_repository(parent))
    repo = next(parents, None)
    return None if repo is None else (str(repo), absolute(str(Path(place).relative_to(repo))))


def readable(name: str) -> str:
    """A file's name as it is.

    Raises:
        Error: ``unsupported`` where its bytes are not UTF-8: neither URLs nor the engine can hold them.
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
    """Whether a folder is a repository, if need be a damaged one."""
    return sum(os.path.exists(os.path.join(folder, name)) for name in _PARTS) > 1


def absolute(path: str) -> str:
    """A path inside a repository, with its leading ``/`` and without a trailing one.

    Raises:
        Error: ``invalid`` for what is no text.
    """
    if not isinstance(path, str):
        message = f"a path in a repository is a text, not {type(path).__name__} ({path!r})"
        raise errors.make("invalid", message, 'name an array or a group: "/wrf/t2m"')
    return "/" + "/".join(part for part in path.split("/") if part)


def version(ref: str, what: str = "a version") -> str:
    """Return the name of a version, or the name that it is to get.

    Raises:
        Error: ``invalid`` if ``ref`` is not a string but, for example, a commit of ``repo.log()`` or a date.
    """
    if isinstance(ref, str):
        return ref
    given: Any = ref
    hint = 'a branch, a tag, a snapshot id or an ISO time: "main"'
    if isinstance(getattr(given, "id", None), str):
        hint = f'give its id: "{given.id}"'
    elif hasattr(given, "isoformat"):
        hint = f'give it as text, in UTC if it has no offset: "{given.isoformat()}"'
    raise errors.make("invalid", f"{what} is named by a string (got {type(given).__name__})", hint)


def join(parent: str, child: str) -> str:
    """``child`` below ``parent``, both paths inside a repository."""
    return absolute(f"{parent}/{child}")


def prefix(place: str | os.PathLike[str]) -> str:
    """A place that linked files may be read from, as a URL that ends with ``/``: a URL prefix or a folder."""
    text = os.fspath(place)
    url = text if is_url(text) else local(os.path.abspath(local(text))).as_uri()
    return url.rstrip("/") + "/"


def legal(address: str | bytes) -> str:
    """An address with what can't stand in one (blanks, ``ü``) percent-encoded, as browsers do it."""
    from urllib.parse import quote

    return quote(address, safe="%/:?#[]@!$&'()*+,;=~")


def stem(source: str | os.PathLike[str]) -> str:
    """The group a source goes to when none is named: its file name without the last suffix."""
    text = named(source)
    name = re.split(r"[?#]", text)[0] if is_url(text) else text
    base = name.rstrip("/").rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] or base

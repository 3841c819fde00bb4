"""Directories of plain web servers: the files that their HTML pages list."""

from __future__ import annotations

import re
from glob import has_magic
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urljoin, urlsplit

from icecore import errors
from icecore.repository.address import legal
from icecore.sources.files import access
from icecore.sources.files.object_stores import key_pattern

#: largest number of directories that are asked for one pattern
_FOLDERS = 10_000
_HTML = re.compile(rb"<(!doctype\s+html|html|head|body|pre|table|a\s)", re.IGNORECASE)


def is_pattern(url: str) -> bool:
    """Whether the path of a URL is a pattern: it contains ``*``."""
    return "*" in urlsplit(url).path


def is_folder(url: str) -> bool:
    """Whether a URL names a directory."""
    parts = urlsplit(url)
    return parts.path.endswith("/") and not parts.query


def matching(pattern: str) -> list[str]:
    """Return the URLs of the files that match a pattern such as ``https://host/volume/*.TAB``, sorted.

    ``*`` does not match ``/``; ``**`` matches any number of levels. A ``?`` begins a query, as in all URLs.

    Raises:
        Error: ``source-missing`` if nothing matches; ``unsupported`` for a page that lists no files.
    """
    parts = urlsplit(pattern)
    if has_magic(parts.netloc) or parts.query:
        raise errors.make(
            "invalid", f"{pattern}: only its path can be a pattern", "https://host/volume/*.TAB"
        )
    key = unquote(parts.path.lstrip("/"))
    names = key.split("/")
    fixed = next(i for i, name in enumerate(names) if has_magic(name))
    base = f"{parts.scheme}://{parts.netloc}/"
    top = base + "".join(f"{quote(name)}/" for name in names[:fixed])
    accepts, deep = key_pattern(key), "**" in names[fixed:]
    levels = [key_pattern("/".join(names[: i + 1])) for i in range(fixed, len(names) - 1)]
    found: list[str] = []
    folders, asked = [top], 0
    while folders:
        folder = folders.pop()
        asked += 1
        if asked > _FOLDERS:
            message = f"{pattern}: more than {_FOLDERS:,} directories to look into"
            raise errors.make("invalid", message, "name a directory further down")
        for url in listing(folder):
            name = unquote(urlsplit(url).path.lstrip("/"))
            if not name.endswith("/"):
                found += [url] if accepts.fullmatch(name) else []
            elif deep or any(level.fullmatch(name.rstrip("/")) for level in levels):
                folders.append(url)
    if not found:
        raise errors.make("source-missing", f"nothing matches {pattern}", f"look at {top}")
    return sorted(dict.fromkeys(found))


def files_below(url: str) -> list[str]:
    """Return the URLs of all files below a directory.

    Raises:
        Error: see :func:`matching`.
    """
    return matching(f"{url}**")


def listing(folder: str) -> list[str]:
    """Return the URLs of the files and directories (with ``/`` at the end) that a directory's page lists.

    Raises:
        Error: ``source-missing``, ``permission``, ``network``; ``unsupported`` without links.
    """
    access.check(folder)
    from icecore.sources.files.http import page  # slow to import

    where, body = page(folder)
    if _HTML.search(body[: 1 << 16]) is None:
        hint = "name the files one by one, or in a list: @list.txt"
        raise errors.make("unsupported", f"{folder} is not a page that lists files", hint)
    links = _Links(where)
    links.feed(body.decode("utf-8", "replace"))
    links.close()
    # Links of a page that was redirected are those of the place that was named.
    return [folder + url[len(links.base) :] for url in dict.fromkeys(links.found)]


class _Links(HTMLParser):
    """Links of a page to what is directly below it: others lead upwards, or sort the list."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.base = page.partition("?")[0].rpartition("/")[0] + "/"
        self._root = self.base

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if tag == "base" and target:
            self._root = urljoin(self.base, target)
        if tag != "a" or not target:
            return
        url = urljoin(self._root, legal(target.strip()))
        name = url[len(self.base) :]
        if url.startswith(self.base) and name and not set("?#") & set(name) and "/" not in name.rstrip("/"):
            self.found.append(url)

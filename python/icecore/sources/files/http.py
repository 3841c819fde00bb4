"""Read a file over http(s) by byte ranges, with a small block cache; used for indexing, not for bulk data.

Proxies come from the variables of the environment that curl reads, own certificates from ``SSL_CERT_FILE``,
``REQUESTS_CA_BUNDLE`` or ``CURL_CA_BUNDLE``.
"""

from __future__ import annotations

import http.client
import os
import random
import ssl
import threading
import time
from collections import OrderedDict
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from icecore import errors
from icecore.redaction import has_login, redact
from icecore.repository.address import legal
from icecore.sources.files import access
from icecore.sources.files.object_stores import headers_of
from icecore.sources.files.stamp import Identity

_BLOCK = 128 << 10
_BLOCKS = 512
_AHEAD = 32
#: the rest of a file up to this size is fetched with one request
_WHOLE = 4 << 20
#: largest page of a directory
_PAGE = 64 << 20
#: variables that name a file of certificates, besides those of OpenSSL
_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
#: fewer bytes at a time are a fault, not a limit
_LEAST = 64 << 10
_REDIRECTS = 5
#: seconds of silence after which a request is sent again
_TIMEOUT = 30
#: seconds for which requests are repeated, and for which a server that never answered may refuse connections
_PATIENCE, _UNREACHABLE = 60, 5
#: answers with another part than the wanted one after which a file is given up
_WRONG = 3
#: first and longest pause between two attempts, in seconds
_FIRST, _PAUSE = 0.1, 5.0
#: longest retry delay in seconds, as in the engine
_LONGEST = 30


class _Refused(Exception):
    """Error that a retry can't fix."""


class _Client:
    """Requests for one URL: retries, redirects, one connection."""

    def __init__(self, url: str) -> None:
        if has_login(url):
            server = urlsplit(url)
            place = f"{server.scheme}://{server.netloc.rpartition('@')[2]}"
            raise errors.make(
                "invalid",
                f"{redact(url)}: an address with a name and a password",
                f"give them as a header: --storage '{place}.header.authorization=Basic …' "
                "(base64 of NAME:PASSWORD)",
            )
        self.url = url
        self._headers = headers_of(url)
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._answered = False
        self._where = url

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def page(self) -> tuple[str, bytes]:
        """Return the address, after redirects, and the content of a page, which has no ranges."""
        _, body = self._get(0, _PAGE, is_page=True)
        return self._where, body

    def _get(self, offset: int, length: int, is_page: bool = False) -> tuple[Any, bytes]:
        wanted = {"Accept-Encoding": "identity"}
        if not is_page:
            wanted["Range"] = f"bytes={offset}-{offset + length - 1}"
        failure, told, pause, wrong, began = "", 0.0, 0.0, 0, time.monotonic()
        while time.monotonic() - began < (_PATIENCE if self._answered else _UNREACHABLE) or not pause:
            if pause:
                time.sleep(max(random.uniform(_FIRST, pause), told))
            pause = min(max(2 * pause, 2 * _FIRST), _PAUSE)
            # An old redirect may have expired: signed URLs can be valid for only a minute.
            is_old = self._where != self.url
            try:
                response, body = self._request(wanted, length)
            except _Refused as error:
                self.close()
                failure = str(error)
                break
            except (OSError, http.client.HTTPException) as error:
                self.close()
                self._where = self.url
                failure = f"{type(error).__name__}: {str(error).strip()}"
                self._answered = self._answered or isinstance(error, TimeoutError)
                continue
            self._answered = True
            if is_page and response.status == 200:
                return response.headers, body
            if response.status == 206:
                if _is_beginning(response.headers, offset, length, len(body)):
                    headers, more = self._get(offset + len(body), length - len(body))
                    return headers, body + more
                failure = _wrong_part(response.headers, offset, length, len(body))
                if not failure:
                    return response.headers, body
                self.close()
                wrong += 1
                if wrong == _WRONG:
                    break
                continue
            self._where = self.url
            failure = f"{response.status} {response.reason}"
            if response.status < 500 and response.status not in (408, 429) and not is_old:
                break
            told = _asked(response.headers.get("Retry-After", ""))
            if told > _LONGEST:
                failure += f": the server asks to be left alone for {told:.0f} s"
                break
        raise _refusal(self.url, failure)

    def _request(self, headers: dict[str, str], length: int) -> tuple[http.client.HTTPResponse, bytes]:
        for _ in range(_REDIRECTS):
            parts = urlsplit(self._where)
            if self._connection is None:
                self._connection = _connected(parts.scheme, parts.netloc)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            if parts.scheme == "http" and _proxy(parts.scheme, parts.netloc):
                target = f"http://{parts.netloc}{target}"
            is_own = host_of(self._where) == host_of(self.url)
            self._connection.request("GET", target, headers=headers | (self._headers if is_own else {}))
            response = self._connection.getresponse()
            if response.status in (301, 302, 303, 307, 308):
                told = response.headers.get("Location", "").encode("latin-1", "replace")
                location = urljoin(self._where, legal(told))
                access.check(location)
                self.close()
                if not location.lower().startswith(("http://", "https://")) or location == self._where:
                    raise _Refused(f"{response.status}, a redirect to {location!r}")
                self._where = location
                continue
            # A server that ignores ranges would send the whole file: read no more than requested.
            body = response.read(length)
            if response.status != 206:
                self.close()
            return response, body
        self._where = self.url
        raise _Refused("too many redirects")


class HttpBytes(_Client):
    """Bytes of one URL, cached in blocks of 128 KiB (64 MiB in total).

    Sequential reads fetch increasing amounts, up to 4 MiB. A file that changes meanwhile is rejected.
    """

    def __init__(self, url: str, first: int = _BLOCK) -> None:
        super().__init__(url)
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._next, self._ahead = 1, 1
        headers, start = self._get(0, first)
        total = _total(headers, url)
        self.identity = Identity(url, total, _modified(headers), _etag(headers))
        if first == _BLOCK:
            self._blocks[0] = start

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``; fewer only at the end of the file."""
        end = min(offset + length, self.identity.size)
        if offset >= end:
            return b""
        with self._lock:
            first, last = offset // _BLOCK, (end - 1) // _BLOCK
            self._load(first, last)
            joined = b"".join(self._blocks[i] for i in range(first, last + 1))
            while len(self._blocks) > _BLOCKS:
                self._blocks.popitem(last=False)
        return joined[offset - first * _BLOCK : end - first * _BLOCK]

    def _load(self, first: int, last: int) -> None:
        missing = [i for i in range(first, last + 1) if i not in self._blocks]
        if not missing:
            for i in range(first, last + 1):
                self._blocks.move_to_end(i)
            return
        low, high = missing[0], missing[-1]
        # Double the amount for each read that continues where the last request ended.
        self._ahead = min(self._ahead * 2, _AHEAD) if low == self._next else 1
        final = (self.identity.size - 1) // _BLOCK
        high = max(high, min(low + self._ahead - 1, final))
        if self.identity.size <= _WHOLE:
            absent = [i for i in range(final + 1) if i not in self._blocks]
            low, high = absent[0], absent[-1]
        else:
            while high > missing[-1] and high in self._blocks:  # read ahead up to what is there already
                high -= 1
        self._next = high + 1
        end = min((high + 1) * _BLOCK, self.identity.size)
        headers, body = self._get(low * _BLOCK, end - low * _BLOCK)
        now = Identity(self.url, _total(headers, self.url), _modified(headers), _etag(headers))
        if now != self.identity:
            raise errors.make(
                "source-changed",
                f"{self.url} changed while it was read: {self.identity} then; {now} now",
                "try again when it is not being written; of several servers behind one address each may say "
                "something else: then download it",
            )
        for i in range(low, high + 1):
            self._blocks[i] = body[(i - low) * _BLOCK : (i - low + 1) * _BLOCK]
            self._blocks.move_to_end(i)


def _proxy(scheme: str, host: str) -> str:
    """Return host and port of the proxy for requests to a host, or ""."""
    proxy = getproxies().get(scheme, "")
    if not proxy or proxy_bypass(host):
        return ""
    return urlsplit(proxy if "://" in proxy else f"http://{proxy}").netloc.rpartition("@")[2]


def _connected(scheme: str, host: str) -> http.client.HTTPConnection:
    proxy = _proxy(scheme, host)
    if scheme == "http":
        return http.client.HTTPConnection(proxy or host, timeout=_TIMEOUT)
    bundle = next((os.environ[name] for name in _BUNDLES if os.environ.get(name)), None)
    own = bundle is not None and "SSL_CERT_FILE" not in os.environ and os.path.isfile(bundle)
    context = ssl.create_default_context(cafile=bundle if own else None)
    connection = http.client.HTTPSConnection(proxy or host, timeout=_TIMEOUT, context=context)
    if proxy:
        connection.set_tunnel(host)
    return connection


def host_of(url: str) -> tuple[str, str]:
    """Scheme and host of an address: headers of the user are sent to no other."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def page(url: str) -> tuple[str, bytes]:
    """Return the address, after redirects, and the content of a page, up to 64 MiB.

    Raises:
        Error: ``source-missing``, ``permission``, ``network``.
    """
    client = _Client(url)
    try:
        return client.page()
    finally:
        client.close()


def head(url: str) -> Identity:
    """Return the current size, modification time and ETag of a URL, from a small range request."""
    source = HttpBytes(url, 1)
    source.close()
    return source.identity


def _asked(after: str) -> float:
    """Return the delay in seconds from ``Retry-After``: a number, or a date."""
    if after.strip().isdecimal():
        return int(after)
    try:
        return max(parsedate_to_datetime(after).timestamp() - time.time(), 0)
    except (TypeError, ValueError, OverflowError):
        return 0


def _wrong_part(headers: Any, offset: int, length: int, got: int) -> str:
    """Return how a partial response differs from the request, or ""."""
    encoding = headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() not in ("", "identity"):
        return f"it sends parts as {encoding}"
    given = str(headers.get("Content-Range", ""))
    if not given.startswith(f"bytes {offset}-"):
        return f"it sent {given!r} when asked for bytes {offset}-{offset + length - 1}"
    total = given.rpartition("/")[2]
    wanted = min(length, int(total) - offset) if total.isdecimal() else length
    return "" if got == wanted else f"it sent {got} of {wanted} bytes"


def _is_beginning(headers: Any, offset: int, length: int, got: int) -> bool:
    """Whether a server sent less than the range, and says so: some have a limit."""
    place, _, total = str(headers.get("Content-Range", "")).rpartition("/")
    is_short = total.isdigit() and got < min(length, int(total) - offset)
    return is_short and got >= _LEAST and place == f"bytes {offset}-{offset + got - 1}"


def _total(headers: Any, url: str) -> int:
    total = str(headers.get("Content-Range", "")).rpartition("/")[2]
    if not total.isdigit():
        raise errors.make(
            "network", f"{url}: the server doesn't say how large it is", "download it, then link the copy"
        )
    return int(total)


def _modified(headers: Any) -> int:
    try:
        return int(parsedate_to_datetime(headers["Last-Modified"]).timestamp()) * 1_000_000_000
    except (TypeError, ValueError, KeyError, OverflowError):
        return -1


def _etag(headers: Any) -> str | None:
    etag = headers.get("ETag")
    # A weak ETag can't be used for conditional range requests.
    return None if etag is None or etag.startswith("W/") else str(etag)


def _refusal(url: str, failure: str) -> errors.Error:
    is_zarr = urlsplit(url).path.rstrip("/").endswith(".zarr")
    hint = "check the URL: a Zarr folder has zarr.json, .zgroup or .zarray"
    if failure.startswith(("404", "410")):
        return errors.make(
            "source-missing", f"no file at {url} ({failure})", hint if is_zarr else "check the URL"
        )
    if failure.startswith(("401", "403")):
        return errors.make(
            "permission",
            f"{url}: {failure}",
            "the server wants credentials or refuses the file: give them as a header, "
            "--storage https://HOST.header.authorization=…, or download the file",
        )
    if failure.startswith("200"):
        return errors.make(
            "network", f"{url}: the server doesn't send ranges", "download it, then link the copy"
        )
    if failure.startswith("416"):
        return errors.make("format", f"{url} is empty", "check the URL")
    return errors.make("network", f"{url}: {failure}", "check the connection and try again")

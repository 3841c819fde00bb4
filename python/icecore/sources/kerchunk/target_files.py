"""Locate the files that references name, and record their identities."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urljoin

from icecore import errors
from icecore.repository.bucket_urls import canonical
from icecore.sources.files.identity import Identity, identity, is_remote, local_path
from icecore.sources.files.object_stores import encoded, grant, is_object

#: number of concurrent requests
_ASKED = 16


class Targets:
    """The files that a reference file names; each is looked up once."""

    def __init__(self, source: str) -> None:
        self._source = source.rstrip("/")
        self._known: dict[str, tuple[str, Identity] | errors.Error] = {}

    def find(self, name: str, addresses: Iterable[str]) -> list[tuple[str, Identity]]:
        """Return path or URL and identity of the file at each address, for the array ``name``.

        Raises:
            Error: ``source-missing`` if one is missing, ``unsupported`` for a store other than http(s), s3
                and local files, ``invalid`` if an address matches two files.
        """
        wanted = list(addresses)
        new = [address for address in dict.fromkeys(wanted) if address not in self._known]
        if any("://" in address for address in new) or is_remote(self._source):
            with ThreadPoolExecutor(_ASKED) as pool:
                self._known.update(zip(new, pool.map(self._look, new), strict=True))
        else:
            self._known.update({address: self._look(address) for address in new})
        found = []
        for address in wanted:
            item = self._known[address]
            if isinstance(item, errors.Error):
                message = f"{name}: chunks of it lie in {address!r}: {item.message}"
                raise errors.make(item.kind, message, item.hint)
            found.append(item)
        return found

    def _look(self, address: str) -> tuple[str, Identity] | errors.Error:
        try:
            place = self._place(address)
            grant(place, self._source)
            return place, identity(place)
        except errors.Error as error:
            return error

    def _place(self, address: str) -> str:
        if is_remote(address := canonical(address)):
            return local_path(address)
        scheme, is_url, rest = address.partition("://")
        if is_url and scheme not in ("file", "local"):
            message = f"files can't be linked or packed from {scheme}://"
            hint = (
                "write the references with addresses on http(s)://, s3://, gs:// or az://, or paths of copies"
            )
            raise errors.make("unsupported", message, hint)
        if is_remote(self._source):
            if is_url or os.path.isabs(address):
                message = "a file of this machine, named by a server"
                raise errors.make("permission", message, "download the reference file, and look at it")
            if is_object(self._source):  # urljoin knows the schemes of the web only
                return f"{self._source.rsplit('/', 1)[0]}/{encoded(address)}"
            return urljoin(self._source, address)
        if is_url:  # fsspec does not unescape, VirtualiZarr escapes
            return rest if os.path.exists(rest) else local_path(f"file://{rest}")
        return address if os.path.isabs(address) else self._relative(address)

    def _relative(self, address: str) -> str:
        """Resolve an address relative to the reference file's directory, or (as in fsspec) the working
        directory.
        """
        beside = os.path.join(os.path.dirname(os.path.abspath(self._source)), address)
        here = os.path.abspath(address)
        if not os.path.exists(here):
            if not os.path.exists(beside):
                hint = "run icecore in the folder that its paths are relative to, or write absolute paths"
                raise errors.make("source-missing", f"no file at {beside} or {here}", hint)
            return beside
        if os.path.exists(beside) and not os.path.samefile(beside, here):
            message = f"it may be {beside} or {here}"
            raise errors.make("invalid", message, "link it from its own folder, or write absolute paths")
        return here

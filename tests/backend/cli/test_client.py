"""Messages of the command line if a service ends its answer early."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from headwater.backend.cli.document_output import put_out
from headwater.backend.cli.rest_client import RestClient
from headwater.backend.exports import CatalogRequest, System
from headwater.errors import UnavailableError


def test_an_export_that_breaks_off_is_said_to_and_no_file_is_written(tmp_path: Path) -> None:
    class BreaksOff(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"2\r\n[\n\r\n")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), BreaksOff)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    client = RestClient(f"http://127.0.0.1:{server.server_port}", None)
    for output in (None, tmp_path / "lineage.json"):
        with pytest.raises(UnavailableError, match="before it was whole"):
            asyncio.run(put_out(client.catalog(System.DATAHUB, CatalogRequest()), output))
    assert not list(tmp_path.iterdir())
    server.shutdown()
    server.server_close()
    thread.join()

"""The address that the service takes."""

import socket

from headwater.backend.serving import _bind


def test_an_answer_does_not_wait_for_its_head_to_be_acknowledged() -> None:
    with _bind("127.0.0.1", 0, exact=True) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

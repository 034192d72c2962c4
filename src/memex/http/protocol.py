"""HTTP/1.1 as uvicorn speaks it with httptools, and what httptools leaves to its users."""

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 << 10  # of the request line and the headers


class HttpProtocol(HttpToolsProtocol):
    """A connection. It answers 400 to a head without an end, and to a request that does not name one host.

    Source: RFC 9112, "HTTP/1.1", sections 3.2 and 2.2.
    """

    _is_in_head = False
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        super().data_received(data)
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Start a request."""
        super().on_message_begin()
        self._is_in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """Run a request whose headers are read.

        Raises:
            HttpParserError: it names no host, or several; the connection answers 400.
        """
        self._is_in_head = False
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise HttpParserError("The request does not name one host.")
        super().on_headers_complete()

"""A server that accepts every connection and never answers: what a client's timeouts are tested against."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import ClassVar, Self

from tests.servers.process import HOST


class HangingServer:
    """Lives in a thread of this process. `connections` counts what it has accepted so far."""

    name: ClassVar[str] = "hanging"

    def __init__(self, port: int | None = None) -> None:
        self._listener = socket.create_server((HOST, port or 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepted: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, name=f"hanging-{self.port}", daemon=True)
        self._thread.start()

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def connections(self) -> int:
        return len(self._accepted)

    def close(self) -> None:
        """Stop listening and end the connections."""
        # Shut down first: a close alone does not wake the thread that waits in accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for connection in self._accepted:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._accepted.append(connection)

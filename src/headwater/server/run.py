"""Runs the application under uvicorn: one process, or several workers on one socket."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import socket
import threading
import time
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from headwater.model.errors import HeadwaterError
from headwater.server import logs
from headwater.server.assembly import open_vault, prepare_store
from headwater.settings import Settings
from headwater.version import __version__


class ListenError(HeadwaterError):
    """The address can't be listened on."""


class _Protocol(HttpToolsProtocol):
    """Takes the one made-up method that released Gravitino clients send when they are closed."""

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"CLOSE "):
            data = b"GET" + data[5:]
        super().data_received(data)


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the answer is the exit code."""
    # uvicorn hands the signal on when it has shut down; being asked to stop is no failure.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    logs.configure(settings.server.log_format)
    prepare_store(settings)
    open_vault(settings)
    _check_tls(settings)
    listener = _listen(settings)
    config = _config(settings)
    if settings.server.workers == 1:
        server = _Server(config, settings, listener)
        server.run(sockets=[listener])
        return 0 if server.started else 3
    threading.Thread(target=_announce, args=(settings, listener), daemon=True).start()
    Multiprocess(config, sockets=[listener]).run()
    return 0


def _check_tls(settings: Settings) -> None:
    s = settings.server
    if s.tls_cert is None:
        return
    import ssl

    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(s.tls_cert, s.tls_key)
    except (OSError, ssl.SSLError) as e:
        reason = e.strerror or e.reason if isinstance(e, ssl.SSLError) else e.strerror
        raise ListenError(f"server.tls-cert, server.tls-key: {s.tls_cert}, {s.tls_key}: {reason}") from None


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)


def _config(settings: Settings) -> uvicorn.Config:
    s = settings.server
    return uvicorn.Config(
        functools.partial(_build, settings),
        factory=True,
        loop="uvloop",
        http=_Protocol,
        interface="asgi3",
        workers=s.workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=s.shutdown_timeout,
        proxy_headers=True,
        forwarded_allow_ips=s.forwarded_allow_ips,
        ssl_certfile=s.tls_cert,
        ssl_keyfile=s.tls_key,
    )


def _build(settings: Settings) -> Any:
    from headwater.server.app import build

    logs.configure(settings.server.log_format)
    if settings.server.workers > 1:
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    return build(settings)


def _end_with(parent: int) -> None:
    """A worker whose parent is gone ends too: nobody could stop it, and it would keep the port."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, settings: Settings, listener: socket.socket) -> None:
        super().__init__(config)
        self._settings, self._listener = settings, listener

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            asyncio.get_running_loop().call_soon(_say_ready, self._settings, self._listener)


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.server.host, settings.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as e:
        listener.close()
        reason = e.strerror if isinstance(e, OSError) else str(e)
        raise ListenError(f"Can't listen on {host}:{port}: {reason}") from None
    listener.set_inheritable(True)
    return listener


def _address(settings: Settings, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.server.tls_cert else "http"
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{port}{settings.server.root_path.rstrip('/')}"


def _say_ready(settings: Settings, listener: socket.socket) -> None:
    print(f"Headwater {__version__} is ready at {_address(settings, listener)}", flush=True)


def _announce(settings: Settings, listener: socket.socket) -> None:
    """With several workers, ready is when one of them answers."""
    port = listener.getsockname()[1]
    host = "127.0.0.1" if settings.server.host in ("0.0.0.0", "") else settings.server.host
    while True:
        try:
            with socket.create_connection((host, port), timeout=30) as probe:
                probe.settimeout(30)
                if settings.server.tls_cert:
                    import ssl

                    context = ssl.create_default_context()
                    context.check_hostname = False
                    context.verify_mode = ssl.CERT_NONE
                    probe = context.wrap_socket(probe)
                probe.sendall(b"GET /health/live HTTP/1.0\r\nHost: localhost\r\n\r\n")
                if probe.recv(16):
                    break
        except OSError:
            time.sleep(0.05)
    _say_ready(settings, listener)

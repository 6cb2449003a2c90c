"""`python -m tests.servers up postgres moto [--port N]`: start servers, say where they are, and wait to be stopped."""

import argparse
import contextlib
import signal
import sys
import threading

from tests.servers import REGISTRY, ServerError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description="Start real servers for tests.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start servers, print name=uri for each, and stop them on Ctrl-C or SIGTERM")
    up.add_argument("names", nargs="+", choices=sorted(REGISTRY), metavar="NAME", help=", ".join(sorted(REGISTRY)))
    up.add_argument("--port", type=int, help="the first server's port; the next ones take the ports after it")
    arguments = parser.parse_args()
    try:
        serve(arguments.names, arguments.port)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def serve(names: list[str], first_port: int | None) -> None:
    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:
        if not stopped.is_set():
            stopped.set()
            # Ends a start that is under way too.
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        for index, name in enumerate(names):
            server = REGISTRY[name](None if first_port is None else first_port + index)
            stack.callback(server.close)
            print(f"{server.name}={server.uri}", flush=True)
        stopped.wait()


if __name__ == "__main__":
    sys.exit(main())

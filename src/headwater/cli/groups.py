"""Click groups: how errors leave, how verbs are declared, and what all of them have in common."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from headwater.model.errors import HeadwaterError

FAILED, MISUSED, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: the server or the command says no, bad usage, no server, Ctrl-C."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

F = TypeVarFunction = Callable[..., None]


class Root(click.Group):
    """The whole command line: every error is one line on standard error and an exit code."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command and exit."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as e:
            click.echo(e.format_message(), err=True)
            sys.exit(MISUSED)
        except click.UsageError as e:
            command = e.ctx.command_path if e.ctx else "headwater"
            _fail(f"{e.format_message().rstrip('.')}; see '{command} --help'", MISUSED)
        except click.ClickException as e:
            _fail(e.format_message(), e.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except HeadwaterError as e:
            _fail(e.message, _exit_code(e), e)
        except BrokenPipeError:
            # The reader has seen enough. Python would complain once more when it flushes on its way out.
            sys.stdout = None  # type: ignore[assignment]
            sys.exit(FAILED)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int, error: HeadwaterError | None = None) -> NoReturn:
    request_id = error.request_id if error is not None else None
    more = f" (request {request_id})" if request_id and verbose() else ""
    click.echo(f"headwater: {message}{more}", err=True)
    sys.exit(code)


def _exit_code(error: HeadwaterError) -> int:
    return {"ServerUnreachableException": UNREACHABLE, "SettingsException": MISUSED}.get(error.type, FAILED)

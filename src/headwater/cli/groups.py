"""The whole command line as one group: every error is one line on standard error and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from headwater.model.errors import HeadwaterError

FAILED, MISUSED, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: the answer is no; bad usage or configuration; no server; Ctrl-C."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

_CODES = {"ServerUnreachableException": UNREACHABLE, "SettingsException": MISUSED}
"""By the error's wire type, for the class may lie in a module that this command has no need to import."""


class Root(click.Group):
    """The group of all commands."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and, unless `standalone_mode` is off, exit."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as e:
            e.show()
            sys.exit(MISUSED)
        except click.UsageError as e:
            command = e.ctx.command_path if e.ctx else self.name
            message = e.format_message()
            stop = "" if message.endswith((".", "?", ")")) else "."
            _fail(f"{message}{stop} See '{command} --help'", MISUSED)
        except click.ClickException as e:
            _fail(e.format_message(), e.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except HeadwaterError as e:
            _fail(e.message, _CODES.get(e.type, FAILED))
        except BrokenPipeError:
            # The reader has seen enough. Python would complain once more when it flushes on its way out.
            sys.stdout = None
            sys.exit(FAILED)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"headwater: {message}", err=True)
    sys.exit(code)

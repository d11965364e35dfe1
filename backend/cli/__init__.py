"""The `headwater` command. Each command is imported when it is called, because `run` must work with the light install."""

import sys

__all__ = ["main"]


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        from headwater.errors import HeadwaterError

        try:
            from headwater.backend.cli.quick_run import quick_run

            quick_run(sys.argv[1:])
        except HeadwaterError:
            pass  # the full command line prints its own error
    if sys.argv[1:2] == ["trace"]:
        from headwater.backend.cli.output import telling_errors
        from headwater.backend.cli.quick_exit import end_at_once
        from headwater.backend.cli.quick_trace import quick_trace

        with telling_errors():
            if quick_trace(sys.argv[1:]):
                end_at_once()
                return
    from headwater.backend.cli.main import main as command_line

    command_line()

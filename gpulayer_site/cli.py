"""The `gpulayer` command. Each of its commands is imported when it is called: `--help` costs nothing."""

from importlib import import_module

import click

from gpulayer_site import __version__

# name -> (where it is, what `gpulayer --help` says of it)
_COMMANDS = {
    "up": ("gpulayer_site.cli_server:up", "Start everything here: server, broker, worker and an agent for this host."),
    "run": ("scheduler.cli_run:run", "Run a command on a worker, with the files of this folder."),
    "job": ("scheduler.cli:job", "Submit jobs, see where they were placed and why, read logs, cancel."),
    "hold": ("scheduler.cli_hold:hold", "Hold devices for yourself: an address to ssh to, for some hours."),
    "worker": ("workers.cli:worker", "List machines, let one take jobs, or simulate a fleet."),
    "reservation": ("scheduler.cli_reservations:reservation", "Keep workers or devices for a job, a person or a team."),
    "notice": ("workers.cli_notice:notice", "Tell everybody something, on every page."),
    "schedule": ("scheduler.cli_offline:schedule", "Decide jobs against workers from files, without a server."),
    "compat": (
        "scheduler.cli_offline:compat",
        "Say of one worker and one job from files which checks pass and which fail.",
    ),
    "matrix": (
        "scheduler.cli_matrix:matrix",
        "List which systems, devices, drivers and builds of frameworks work together.",
    ),
    "person": ("gpulayer_site.cli_people:person", "Let people in, give them roles and teams."),
    "team": ("gpulayer_site.cli_teams:team", "Make teams, whose members share their jobs."),
    "token": ("gpulayer_site.cli_tokens:token", "Make API tokens, see and end them."),
    "admin": ("gpulayer_site.cli_server:admin", "Get in as the administrator."),
    "audit": ("gpulayer_site.cli_audit:audit", "See who did what, and check that nobody changed what is written."),
    "backup": ("gpulayer_site.cli_backup:backup", "Write everything of this installation into one file."),
    "restore": ("gpulayer_site.cli_backup:restore", "Put a backup in place."),
    "doctor": ("gpulayer_site.doctor:doctor", "Look for what is wrong with this installation."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are needed, not by the alphabet."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gpulayer")
def main() -> None:
    """Places GPU jobs on your machines and always shows why.

    On the machine where `gpulayer up` runs no configuration is needed; elsewhere set GPULAYER_URL and GPULAYER_TOKEN.
    """


if __name__ == "__main__":
    main()

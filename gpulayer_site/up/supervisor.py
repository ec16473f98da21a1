"""Starts the parts, watches over them and stops them in order. One thread, one loop."""

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpulayer_site.up import linux, parts, preflight
from gpulayer_site.up.certificate import check_certificate
from gpulayer_site.up.options import Options, UpError, read_options, server_environment
from gpulayer_site.up.output import Output
from gpulayer_site.up.part import Part

STOP_SECONDS = 9.0
_HURRY_SECONDS = 2.0
_TICK = 0.1
# A part that cannot start at all is a mistake in the installation; one that ran before is worth restarting for ever.
_TRIES_AT_START = 4


def _command() -> str:
    """How to call `gpulayer` from here: by its name where that is found, else by its path."""
    return "gpulayer" if shutil.which("gpulayer") else os.path.relpath(Path(sys.executable).with_name("gpulayer"))


class Supervisor:
    """Runs one installation until it is told to stop."""

    def __init__(self, options: Options, output: Output) -> None:
        self.options = options
        self.output = output
        self.parts: list[Part] = []
        self.stop_by: float | None = None
        self.failed = False
        self._selector = selectors.DefaultSelector()

    def run(self, environment: Mapping[str, str]) -> int:
        """Start everything, and return the exit code when all has ended."""
        linux.adopt_orphans()
        wake = self._listen_to_signals()
        try:
            code = self._prepare(environment)
            if self._start_in_order(environment):
                self._greet(environment["GPULAYER_URL"], code)
                while self.stop_by is None:
                    self._tick()
        finally:
            signal.set_wakeup_fd(-1)
            self._stop_in_order()
            linux.kill_descendants()
            os.close(wake)
        return 1 if self.failed else 0

    # --- starting ---

    def _prepare(self, environment: Mapping[str, str]) -> str | None:
        """Migrations, static files, administrator; returns the one-time code of a first start."""
        done = subprocess.run(
            [sys.executable, "-m", "gpulayer_site.up.prepare"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
            preexec_fn=linux.die_with_parent,
        )
        if self.stop_by is not None:
            return None
        if done.returncode != 0:
            raise UpError("the data folder could not be made ready; the lines above say why")
        code: str | None = json.loads(done.stdout)["code"]
        return code

    def _start_in_order(self, environment: Mapping[str, str]) -> bool:
        """Broker, then web and worker, then the agent; False when told to stop meanwhile or a part cannot start."""
        first = [parts.broker(self.options, environment)] if self.options.own_broker else []
        second = [parts.worker(self.options, environment), parts.web(self.options, environment)]
        second += [parts.hint(self.options, environment)] if self.options.hint_port else []
        third = [parts.agent(self.options, environment)] if self.options.agent else []
        for recipes in (first, second, third):
            for recipe in recipes:
                self.parts.append(Part(recipe))
                self._start(self.parts[-1])
            while self.stop_by is None and not all(part.ready for part in self.parts):
                self._tick()
                self._give_up_on_hopeless()
        return self.stop_by is None

    def _give_up_on_hopeless(self) -> None:
        for part in self.parts:
            if part.crashes >= _TRIES_AT_START and not part.ready:
                self.output.say(f"{part.name} does not start; the lines above say why")
                self.failed = True
                self.stop_by = time.monotonic() + STOP_SECONDS

    def _start(self, part: Part) -> None:
        part.start()
        assert part.output is not None
        self._selector.register(part.output, selectors.EVENT_READ, part)

    def _greet(self, url: str, code: str | None) -> None:
        self.output.say(f"gpulayer is ready: {url}")
        if code:
            self.output.say(f"sign in with this one-time code (10 minutes, one use): {code}")
        else:
            self.output.say(f"`{_command()} admin code` prints a one-time code to sign in with")
        self.output.say("Ctrl-C stops everything in order")

    # --- watching ---

    def _tick(self) -> None:
        """Pass on what was printed, notice what ended, start what is due, ask what is not ready."""
        for key, _ in self._selector.select(_TICK):
            if key.data is None:
                os.read(key.fd, 1024)  # only to wake up
            else:
                self._pass_on(key.data)
        self._notice_ended()
        for part in self.parts:
            if part.restart_at is not None and self.stop_by is None and time.monotonic() >= part.restart_at:
                self._start(part)
            elif part.process is not None and not part.ready and self.stop_by is None:
                part.ready = part.recipe.is_ready()

    def _pass_on(self, part: Part) -> None:
        self._show(part, part.lines())

    def _show(self, part: Part, lines: Iterable[str]) -> None:
        for line in lines:
            if not any(noise in line for noise in part.recipe.noise):
                self.output.line(part.name, line)

    def _notice_ended(self) -> None:
        for pid, code in linux.reap().items():
            part = next((each for each in self.parts if each.process and each.process.pid == pid), None)
            if part is None or part.process is None or part.output is None:
                continue  # an orphan that was adopted
            part.process.returncode = code
            self._selector.unregister(part.output)
            self._show(part, part.ended())
            if self.stop_by is None:
                self.output.say(f"{part.name} ended with {_how(code)}; {_what_now(part, code)}")

    # --- stopping ---

    def _listen_to_signals(self) -> int:
        """Stop in order on Ctrl-C, SIGTERM or a closed terminal; at once when the keeper is gone or asked twice."""
        wake_read, wake_write = os.pipe()
        for end in (wake_read, wake_write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake_write)
        self._selector.register(wake_read, selectors.EVENT_READ, None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self._ask_to_stop(STOP_SECONDS))
        signal.signal(signal.SIGUSR1, lambda *_: self._ask_to_stop(_HURRY_SECONDS))
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake up
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # its lines may be shown although the keeper holds the terminal
        return wake_write

    def _ask_to_stop(self, seconds: float) -> None:
        if self.stop_by is not None:
            seconds = 0.5  # asked again: no more patience
        self.stop_by = time.monotonic() + seconds

    def _stop_in_order(self) -> None:
        """The agent first, while there is still somebody to report to; the broker last."""
        if self.stop_by is None:
            self.stop_by = time.monotonic() + STOP_SECONDS
        by_name = {part.name: part for part in self.parts if part.process is not None}
        if by_name:
            self.output.say("stopping")
        order = (("agent",), ("worker", "web", "hint"), ("broker",))
        groups = [[by_name[name] for name in names if name in by_name] for names in order]
        for place, group in enumerate(groups):
            self._stop(group, kept_seconds=sum(_grace(later) for later in groups[place + 1 :]))

    def _stop(self, group: list[Part], *, kept_seconds: float) -> None:
        """Each has its own grace and the time that those before it did not need; what comes after keeps its own."""
        assert self.stop_by is not None
        for part in group:
            part.signal(signal.SIGTERM)
        until = max(time.monotonic() + _grace(group), self.stop_by - kept_seconds)
        while any(part.process for part in group) and time.monotonic() < min(until, self.stop_by):
            self._tick()
        for part in group:
            if part.process is not None:
                self.output.say(f"{part.name} does not stop; killing it")
                linux.kill_group(part.process.pid)
        gone_by = time.monotonic() + 1
        while any(part.process for part in group) and time.monotonic() < gone_by:
            self._tick()


def _grace(group: Iterable[Part]) -> float:
    return max((part.recipe.grace_seconds for part in group), default=0.0)


def _what_now(part: Part, code: int) -> str:
    if code in part.recipe.final:
        return "that would happen again, so it stays out until the next start of everything"
    return f"starting it again in {part.restart_later():g} s"


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def main() -> int:
    """Run as the keeper's child; what cannot start says so in one line."""
    linux.die_with_parent(signal.SIGUSR1)
    output = Output(sys.stdout)
    try:
        options = read_options()
        preflight.check_installation()
        with preflight.open_data_folder(options):
            preflight.check_port(options)
            check_certificate(options)
            if os.geteuid() == 0:
                output.say("running as root: jobs on this host get root's rights")
            return Supervisor(options, output).run(server_environment(options))
    except UpError as error:
        print(f"gpulayer: {error}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())

"""`gpulayer up`: one command starts everything, and nothing outlives it."""

import json
import shutil
import signal
import stat
import threading
import time

import psutil
import pytest

from tests.house.installation import Installation, free_port, still_running

pytestmark = pytest.mark.slow
STOP_SECONDS = 30  # patience on a busy machine; that it takes less is for tests of the supervisor
PARTS = {"granian": "web", "celery": "worker"}


@pytest.fixture(scope="session")
def used_folder(tmp_path_factory):
    """A data folder that has been started once: what it costs to make one is paid once."""
    with Installation(tmp_path_factory.mktemp("used"), "--no-agent") as installation:
        installation.ready()
    return installation.data


@pytest.fixture
def up(tmp_path, used_folder):
    shutil.copytree(used_folder, tmp_path / "data", ignore=shutil.ignore_patterns("*.sock"))
    with Installation(tmp_path, "--no-agent") as installation:
        yield installation.ready()


class TestTheFirstStart:
    @pytest.fixture(scope="class")
    def up(self, tmp_path_factory):
        """One for all of these: they only look."""
        with Installation(tmp_path_factory.mktemp("first"), "--no-agent", from_nothing=True) as installation:
            yield installation.ready()

    def test_it_prints_the_address_and_a_code_that_signs_in_once(self, up, browserless):
        code = up.wait_for(r"one-time code .*: (\S+)")[1]
        assert up.url in up.text
        assert browserless(up.url).sign_in(code=code) == 302
        assert browserless(up.url).sign_in(code=code) == 422

    def test_its_folder_and_its_secrets_are_the_owners_alone(self, up):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (up.data, *up.data.iterdir())}
        assert modes["data"] == 0o700
        assert (modes["secret_key"], modes["cli.json"]) == (0o600, 0o600)
        assert stat.S_IMODE((up.home / ".config" / "gpulayer" / "cli.json").stat().st_mode) == 0o600

    def test_commands_on_this_host_need_no_configuration(self, up):
        kept = json.loads((up.data / "cli.json").read_text())
        assert kept == {"url": up.url, "token": kept["token"], "data": str(up.data)}
        doctor = json.loads(up.run("doctor", "--json").stdout)
        verdicts = {each["subject"]: each["verdict"] for each in doctor}
        assert {"database": "ok", "broker": "ok", "server": "ok", "data folder": "ok"}.items() <= verdicts.items()

    def test_the_broker_is_no_open_port(self, up):
        broker = next(each for each in up.processes() if "valkey" in each.name())
        assert not [each for each in broker.net_connections("inet") if each.status == psutil.CONN_LISTEN]

    def test_no_secret_is_printed_but_the_code(self, up):
        secrets = [(up.data / "secret_key").read_text(), json.loads((up.data / "cli.json").read_text())["token"]]
        assert not [secret for secret in secrets if secret in up.text]


class TestStopping:
    def test_ctrl_c_ends_everything_in_order_and_kills_nobody(self, up):
        everything = up.processes()
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(STOP_SECONDS) == 0
        assert not still_running(everything, 5)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_so_does(self, up, number):
        everything = up.processes()
        up.process.send_signal(number)
        assert up.process.wait(STOP_SECONDS) == 0
        assert not still_running(everything, 5)

    def test_a_part_that_is_slow_to_stop_has_the_time_that_the_others_do_not_need(self, up):
        worker = up.part("celery")
        worker.suspend()
        resumed = threading.Timer(4, worker.resume)
        resumed.start()
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(STOP_SECONDS) == 0
        resumed.join()
        assert "does not stop" not in up.text

    @pytest.mark.parametrize(
        "killed",
        [
            pytest.param([0], id="the process that was started"),
            pytest.param([1], id="the supervisor below it"),
            pytest.param([0, 1], id="both at once"),
        ],
    )
    def test_nothing_is_left_when_sigkill_hits(self, up, killed):
        up.wait_for("gpulayer is ready")
        everything = up.processes()
        assert len(everything) >= 5
        for each in killed:
            everything[each].kill()
        assert not still_running(everything, STOP_SECONDS)


class TestCrashes:
    @pytest.fixture(scope="class")
    def up(self, tmp_path_factory, used_folder):
        """One for all of these: it has to live through them."""
        folder = tmp_path_factory.mktemp("crashes")
        shutil.copytree(used_folder, folder / "data", ignore=shutil.ignore_patterns("*.sock"))
        with Installation(folder, "--no-agent") as installation:
            yield installation.ready()

    @pytest.mark.parametrize("word", ["granian", "celery"])
    def test_a_part_that_crashed_is_started_again(self, up, word):
        before = up.part(word)
        before.kill()
        up.wait_for(rf"{PARTS[word]} ended with SIGKILL; starting it again in 0.5 s")
        assert up.answers()
        after = _eventually_another(up, word, before)
        assert after.is_running()

    def test_what_the_crashed_part_had_started_is_ended(self, up):
        web = up.part("granian")
        below = web.children(recursive=True)
        assert below
        web.kill()
        assert not still_running(below, STOP_SECONDS)

    def test_the_broker_too_and_the_worker_lives_through_it(self, up):
        worker = up.part("celery")
        next(each for each in up.processes() if "valkey" in each.name()).kill()
        up.wait_for("broker ended with SIGKILL; starting it again")
        assert worker.is_running()


class TestRefusals:
    def test_a_second_one_on_the_same_folder_says_so(self, up, tmp_path):
        with Installation(tmp_path, "--no-agent", port=free_port()) as second:
            second.wait_for(rf"already running on this data folder at {up.url} .*GPULAYER_DATA")
            assert second.process.wait(STOP_SECONDS) == 1
        assert up.answers()

    def test_a_taken_port_is_one_line_that_says_what_to_do(self, tmp_path, taken_port):
        with Installation(tmp_path, "--no-agent", port=taken_port) as up:
            line = up.wait_for(rf"gpulayer: port {taken_port} on 127.0.0.1 is taken; choose another one: PORT=\d+\n")
            assert up.process.wait(STOP_SECONDS) == 1
            assert "Traceback" not in up.text
            assert up.text.strip().endswith(line[0].strip())

    @pytest.mark.parametrize(
        ("environment", "says"),
        [
            pytest.param({"PORT": "http"}, "PORT must be a number from 1 to 65535, found `http`", id="a port"),
            pytest.param({"HOST": "203.0.113.1"}, "HOST=203.0.113.1 is no address of this machine", id="an address"),
            pytest.param({"DATABASE_URL": "foo"}, "DATABASE_URL is no address of a database", id="a database"),
            pytest.param({"SECRET_KEY": "short"}, "SECRET_KEY needs at least 32 characters", id="a key"),
            pytest.param(
                {"GPULAYER_BROKER_URL": "redis://10.0.0.7/0"},
                "GPULAYER_BROKER_URL: the broker at 10.0.0.7 takes messages without a password",
                id="a broker open to the network",
            ),
            pytest.param({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL is DEBUG, INFO, WARNING, .*found `LOUD`", id="a level"),
            pytest.param({"GPULAYER_DATA": "/proc/x"}, "data folder /proc/x cannot be used", id="a folder"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, tmp_path, environment, says):
        with Installation(tmp_path, "--no-agent", **environment) as up:
            up.wait_for(says)
            assert up.process.wait(STOP_SECONDS) == 1
            assert "Traceback" not in up.text


class TestTheDataFolder:
    def test_it_may_have_any_name_and_be_deep(self, tmp_path):
        data = tmp_path / "my data #1 100%" / ("deep" * 20) / ("deeper" * 5)
        with Installation(tmp_path, "--no-agent", GPULAYER_DATA=str(data)) as up:
            up.ready()
            assert (data / "gpulayer.sqlite3").exists()
            worker = up.part("celery")
            up.process.send_signal(signal.SIGINT)
            assert up.process.wait(STOP_SECONDS) == 0
            assert not worker.is_running()
            assert "rror" not in up.text


class TestTheSecondStart:
    def test_it_is_quick_and_keeps_the_keys(self, tmp_path):
        with Installation(tmp_path, "--no-agent") as first:
            kept = [(first.ready().data / name).read_text() for name in ("secret_key", "cli.json")]
            port = first.port
        with Installation(tmp_path, "--no-agent", port=port) as second:
            second.ready()
            # Computing time, not the clock: other tests share these cores.
            assert sum(sum(each.cpu_times()[:4]) for each in second.processes()) < 10
            assert kept == [(second.data / name).read_text() for name in ("secret_key", "cli.json")]
            assert "one-time code (10 minutes" not in second.text
            code = second.run("admin", "code").stdout.strip()
            assert len(code) == 19


def _eventually_another(up, word, before):
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            after = up.part(word)
        except (StopIteration, psutil.NoSuchProcess):
            continue
        if after.pid != before.pid:
            return after
    pytest.fail(f"{word} was not started again:\n{up.text}")

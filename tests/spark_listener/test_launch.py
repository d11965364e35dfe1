"""A program behaves under `headwater run` as under `python`: output, errors, exit code, process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

# Until the signal is dealt with: nothing wakes where another thread is given it.
_WAITS = "any(map(time.sleep, itertools.repeat(0.01)))"
PROGRAMS = {
    "sees_its_own_arguments_and_paths": """
        import os, sys
        print(sys.argv, __file__, __name__, sys.path[0], __spec__, __package__)
        print(sys.modules["__main__"].__dict__ is globals(), os.path.exists(__loader__.path))
    """,
    "raises": """
        def broken():
            raise ValueError("boom")
        broken()
    """,
    "raises_in_a_chain": """
        def inner():
            return {}["missing"]
        try:
            inner()
        except KeyError as error:
            raise RuntimeError("outer") from error
    """,
    "has_a_syntax_error": "print('never')\nif True print('no')\n",
    "exits_with_three": "import sys; print('out', flush=True); sys.exit(3)",
    "exits_with_a_message": "import sys; sys.exit('not today')",
    "exits_with_none": "raise SystemExit",
    "exits_past_a_byte": "import sys; sys.exit(259)",
    "ends_at_once": "import os; os._exit(5)",
    "sets_its_own_excepthook": """
        import sys
        sys.excepthook = lambda kind, value, trace: print("mine:", kind.__name__, value, trace.tb_frame.f_code.co_name)
        1 / 0
    """,
    "registers_for_its_end": """
        import atexit
        atexit.register(lambda: print("bye"))
        raise SystemExit(4)
    """,
    "forks_and_waits": """
        import os, sys
        child = os.fork()
        if child == 0:
            print("child", flush=True)
            sys.exit(7)
        _, status = os.waitpid(child, 0)
        print("parent saw", os.waitstatus_to_exitcode(status))
    """,
    "forks_and_the_child_fails": """
        import os
        child = os.fork()
        if child == 0:
            raise LookupError("in the child")
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """,
    "spawns_workers": """
        import multiprocessing
        def double(number):
            return 2 * number
        if __name__ == "__main__":
            for method in ("spawn", "fork"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(method, pool.map(double, range(4)))
    """,
    "leaves_a_thread_behind": """
        import threading, time
        said = threading.Event()
        def late():
            said.wait()
            time.sleep(0.3)
            print("late")
        threading.Thread(target=late).start()
        print("early")
        said.set()
    """,
    "pickles_what_it_defines": """
        import pickle
        class Own: pass
        print(type(pickle.loads(pickle.dumps(Own()))) is Own)
    """,
    "interrupts_itself": "import itertools, os, signal, time; print('before', flush=True); os.kill(os.getpid(), signal.SIGINT); " + _WAITS,
    "terminates_itself": "import itertools, os, signal, time; print('before', flush=True); os.kill(os.getpid(), signal.SIGTERM); " + _WAITS,
    "warns": "import warnings; warnings.warn('old', DeprecationWarning)",
    "reads_standard_input": "print(input())",
    "handles_terminate": f"""
        import itertools, os, signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
        os.kill(os.getpid(), signal.SIGTERM)
        {_WAITS}
    """,
}


def start(command: list[str], folder: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*command], cwd=folder, input=b"a line\n", capture_output=True, timeout=300, check=False, **options)  # type: ignore[call-overload,no-any-return]


def under_headwater(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "headwater", "run", "--quiet", *arguments]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(root))
    return tmp_path


def dedent(text: str) -> str:
    from textwrap import dedent as dedented

    return dedented(text).lstrip("\n")


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_behaves_as_under_python(name: str, folder: Path) -> None:
    script = folder / f"{name}.py"
    script.write_text(dedent(PROGRAMS[name]))
    plain = start([sys.executable, script.name, "a", "--mode", "b"], folder)
    ours = start(under_headwater(script.name, "a", "--mode", "b"), folder)
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def wait_until_it_sleeps(process: int) -> None:
    """Until then the traceback of an interrupt would name another line."""
    while Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "S":
        time.sleep(0.02)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_from_outside_ends_it_as_under_python(folder: Path) -> None:
    script = folder / "waits.py"
    script.write_text("import time\nprint('ready', flush=True)\ntime.sleep(300)\n")
    ends = []
    for command in ([sys.executable, script.name], under_headwater(script.name)):
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == b"ready\n"
            wait_until_it_sleeps(process.pid)
            process.send_signal(signal.SIGINT)
            ends.append((process.wait(60), process.stderr.read()))
    assert ends[0] == ends[1]
    assert ends[1][0] == -signal.SIGINT


def test_a_module_runs_as_with_dash_m(folder: Path) -> None:
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys\nprint(sys.argv, __name__, __package__)\nraise SystemExit(6)\n")
    plain = start([sys.executable, "-m", "package", "x"], folder)
    ours = start(under_headwater("-m", "package", "x"), folder)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout) == (6, plain.stdout)


def test_a_folder_and_an_archive_run_their_main(folder: Path) -> None:
    (folder / "app").mkdir()
    (folder / "app" / "helper.py").write_text("WORD = 'helped'\n")
    (folder / "app" / "__main__.py").write_text("import sys, helper\nprint(helper.WORD, sys.argv[1:], __name__)\n")
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        for file in ("helper.py", "__main__.py"):
            archive.write(folder / "app" / file, file)
    for program in ("app", "app.zip"):
        plain = start([sys.executable, program, "x"], folder)
        ours = start(under_headwater(program, "x"), folder)
        assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout) == (0, b"helped ['x'] __main__\n")


def test_a_script_that_is_not_there_is_named_with_the_code_of_wrong_usage(folder: Path) -> None:
    done = start(under_headwater("nothing.py"), folder)
    assert done.returncode == 2
    assert b"nothing.py" in done.stderr


def test_a_wrong_setting_is_told_before_the_program_starts(folder: Path) -> None:
    (folder / "job.py").write_text("print('ran')\n")
    done = start(under_headwater("job.py"), folder, env={**os.environ, "HEADWATER_MODE": "always"})
    assert done.returncode == 2
    assert b"coarse" in done.stderr
    assert done.stdout == b""


def test_a_program_without_spark_leaves_nothing_behind(folder: Path) -> None:
    (folder / "job.py").write_text("print('ran')\n")
    home = folder / "home"
    done = start([sys.executable, "-m", "headwater", "run", "--home", str(home), "job.py"], folder)
    assert done.returncode == 0
    assert b"no SparkContext" in done.stderr
    assert not home.exists()


def test_the_launcher_is_a_file_that_spark_submit_can_start(folder: Path) -> None:
    (folder / "job.py").write_text("import sys\nprint(sys.argv, sys.path[0] == sys.argv[1], __name__)\nraise SystemExit(8)\n")
    launcher = start([sys.executable, "-m", "headwater.spark_listener"], folder).stdout.decode().strip()
    done = start([sys.executable, launcher, "job.py", str(folder)], folder)
    assert (done.returncode, done.stdout) == (8, f"['job.py', '{folder}'] True __main__\n".encode())

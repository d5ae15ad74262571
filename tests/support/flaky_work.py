"""Work with tests that fail in some of their runs, put before the real gate."""

from contextlib import asynccontextmanager

import anyio

from allstop.adapters.receipt_files import ReceiptFiles
from support import gate_corpus, gate_programs
from support.gate_runs import Silent, gate_of

TOML = """\
[verification]
quarantine = {quarantine}

{before}
[[verification.commands]]
name = "Tests"
run = "{run}"
"""
USER = """\
[loop]
agent = "nobody"

[agents.nobody]
driver = "command"
command = ["true"]

[sandbox]
read = ["{folder}"]
network = "full"  # then the runs of the gate follow one another
"""

FIRST = "running (0s / 300s)"


class FlakyWork:
    """A repository with a target and work on it. Its tests can read which run of the gate they are in."""

    def __init__(self, folder):
        self.root, self.home, self.shown = folder / "repo", folder / "home", folder / "shown"
        self.runs = []
        self.root.mkdir()
        self.shown.mkdir()
        settings = self.home / ".config" / "allstop"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text(USER.format(folder=self.shown))
        gate_corpus.git(self.root, "init", "-q", "-b", "main")
        (self.root / ".git" / "info").mkdir(exist_ok=True)
        (self.root / ".git" / "info" / "exclude").write_text(".allstop/\n__pycache__/\n")

    def watch(self):
        return _Shown(self)

    def fails_in(self, *runs):
        """A line of Python that fails in these runs."""
        file = str(self.shown / "run")
        return f"assert not any(open({file!r}).read().endswith(run) for run in {runs!r})"

    def commit(self, subject, **files):
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        gate_corpus.git(self.root, "add", "-A")
        gate_corpus.git(self.root, "commit", "-q", "--allow-empty", "-m", subject)
        return gate_corpus.git(self.root, "rev-parse", "HEAD")

    @asynccontextmanager
    async def gate(self, base, run="pytest -q", quarantine=(), path=(), before=""):
        """The gate of the target's commit `base`."""
        gate_corpus.git(self.root, "checkout", "-q", base)
        gate_corpus.git(self.root, "branch", "-f", "main", base)
        first = f'[[verification.commands]]\nname = "First"\nrun = "{before}"\n' if before else ""
        settings = TOML.format(quarantine=list(quarantine), run=run, before=first)
        (self.root / "allstop.toml").write_text(settings)
        folders = (*gate_programs.folders("pytest"), *path)
        async with gate_of(self.root, self.home, folders, self.watch) as check:
            yield check

    def judge(self, base, commit, run="pytest -q", quarantine=(), path=(), before="", **more):
        async def judged():
            async with self.gate(base, run, quarantine, path, before) as check:
                done, _ = await check(base=base, commit=commit, **more)
            return done

        return anyio.run(judged)

    def receipt(self, done):
        return ReceiptFiles(self.root / ".allstop" / "receipts").read(done.receipt)


class _Shown(Silent):
    """Writes what runs now into a file that checks can read."""

    def __init__(self, work):
        super().__init__()
        self._work = work

    def live(self, live):
        if live.text.startswith("●"):
            self._work.runs.append(live.text)
            (self._work.shown / "run").write_text(live.text)


def kinds(done):
    return [(each.kind, each.test, each.verdict.value) for each in done.findings]

"""Detection for `allstop init`, and the file it writes."""

from __future__ import annotations

import json

import pytest

from allstop.settings.detection.detect import Detected, ProposedAgent, detect
from allstop.settings.detection.ecosystems import ProposedCheck
from allstop.settings.detection.template import render
from allstop.settings.model import Check, DoneBy, Driver, PromptBy
from allstop.settings.repository_trust.accepted import trust

PYTEST = "[tool.pytest.ini_options]\naddopts = '-q'\n"


def package(**scripts):
    return json.dumps({"scripts": scripts})


REPOSITORIES = {
    "pytest in pyproject": (
        {"pyproject.toml": PYTEST},
        [("Tests", "pytest -q", "pyproject.toml has [tool.pytest]")],
    ),
    "pytest with uv": (
        {"pyproject.toml": PYTEST, "uv.lock": ""},
        [("Tests", "uv run pytest -q", "pyproject.toml has [tool.pytest], and there is a uv.lock")],
    ),
    "pytest with uv and a linked environment": (
        {"pytest.ini": "", "uv.lock": "", ".venv/pyvenv.cfg": ""},
        [("Tests", "uv run --no-sync pytest -q", "there is a pytest.ini, and there is a uv.lock")],
    ),
    "pytest with poetry": (
        {"setup.cfg": "[tool:pytest]\n", "poetry.lock": ""},
        [
            (
                "Tests",
                "poetry run pytest -q",
                "setup.cfg has [tool:pytest], and there is a poetry.lock",
            )
        ],
    ),
    "pytest by a conftest": (
        {"tests/conftest.py": ""},
        [("Tests", "pytest -q", "there is a conftest.py")],
    ),
    "pytest by test files": (
        {"tests/test_a.py": ""},
        [("Tests", "pytest -q", "there are test_*.py files")],
    ),
    "tox": (
        {"tox.ini": "[tox]\n", "pytest.ini": ""},
        [("Tests", "tox", "tox.ini has [tox]")],
    ),
    "nox": ({"noxfile.py": ""}, [("Tests", "nox", "there is a noxfile.py")]),
    "npm": (
        {"package.json": package(test="vitest", typecheck="tsc", lint="eslint .")},
        [
            ("Tests", "npm test", "package.json has a test script"),
            ("Types", "npm run typecheck", "package.json has a typecheck script"),
            ("Lint", "npm run lint", "package.json has a lint script"),
        ],
    ),
    "npm's placeholder": (
        {"package.json": package(test='echo "Error: no test specified" && exit 1')},
        [],
    ),
    "pnpm": (
        {"package.json": package(test="vitest"), "pnpm-lock.yaml": ""},
        [("Tests", "pnpm test", "package.json has a test script")],
    ),
    "yarn": (
        {"package.json": package(test="vitest"), "yarn.lock": ""},
        [("Tests", "yarn test", "package.json has a test script")],
    ),
    "bun": (
        {"package.json": package(test="vitest"), "bun.lock": ""},
        [("Tests", "bun run test", "package.json has a test script")],
    ),
    "the manager package.json names": (
        {
            "package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}',
            "yarn.lock": "",
        },
        [("Tests", "pnpm test", "package.json has a test script")],
    ),
    "cargo": ({"Cargo.toml": ""}, [("Tests", "cargo test", "there is a Cargo.toml")]),
    "go": ({"go.mod": ""}, [("Tests", "go test ./...", "there is a go.mod")]),
    "mix": ({"mix.exs": ""}, [("Tests", "mix test", "there is a mix.exs")]),
    "gradle": (
        {"build.gradle.kts": "", "gradlew": ""},
        [("Tests", "./gradlew test", "there is a build.gradle.kts")],
    ),
    "maven": ({"pom.xml": ""}, [("Tests", "mvn -q test", "there is a pom.xml")]),
    "dotnet": (
        {"a.sln": "", "b.csproj": ""},
        [("Tests", "dotnet test", "there is a *.sln")],
    ),
    "make test": (
        {"Makefile": ".PHONY: test\nbuild:\n\ttrue\ntest: build\n\ttrue\n"},
        [("Tests", "make test", "Makefile has a target test")],
    ),
    "make check": (
        {"GNUmakefile": "test := 3\ncheck:\n\ttrue\n"},
        [("Tests", "make check", "GNUmakefile has a target check")],
    ),
    "just": (
        {"justfile": "test *args:\n  x\n"},
        [("Tests", "just test", "justfile has a target test")],
    ),
    "make beside a tool of its own": (
        {"Makefile": "test:\n\ttrue\n", "go.mod": ""},
        [("Tests", "go test ./...", "there is a go.mod")],
    ),
    "two languages": (
        {"pytest.ini": "", "package.json": package(test="vitest")},
        [
            ("Tests (pytest)", "pytest -q", "there is a pytest.ini"),
            ("Tests (npm)", "npm test", "package.json has a test script"),
        ],
    ),
    "broken files": (
        {"pyproject.toml": "[", "package.json": "{", "Makefile": "\x00"},
        [],
    ),
    "odd files": ({"package.json": '{"scripts": [1], "packageManager": 3}'}, []),
    "nothing": ({"README": ""}, []),
}


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def install(root, *programs):
    folder = root / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        path = folder / program
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(("files", "found"), REPOSITORIES.values(), ids=REPOSITORIES.keys())
def test_how_a_repository_is_tested_is_told_by_its_files(world, files, found):
    write(world.repository, files)

    checks = detect(world.repository, world.environment).checks

    assert [(check.name, check.run, check.reason) for check in checks] == found


@pytest.mark.parametrize(("files", "found"), REPOSITORIES.values(), ids=REPOSITORIES.keys())
def test_the_file_made_of_it_loads_and_says_the_same(world, files, found):
    write(world.repository, files)
    world.says({"PATH": install(world.home, "codex", "gemini"), "OPENAI_API_KEY": "x"})

    world.project(render(detect(world.repository, world.environment), "main"))
    trust(world.environment.trust_file, world.repository, world.load().sensitive)
    loaded = world.load()

    commands = loaded.settings.verification.commands
    assert [(check.name, check.run) for check in commands] == [each[:2] for each in found]
    assert [check.required for check in commands] == [each[0] != "Lint" for each in found]
    assert loaded.settings.project.target == "main"
    assert list(loaded.settings.agents) == ["codex", "gemini", "gpt"]
    assert (loaded.untrusted, loaded.notes) == ((), ())


def test_agents_are_found_on_the_path_and_by_their_keys(world):
    programs = install(world.home, "codex", "claude", "gemini", "opencode", "aider", "ollama")
    world.says({"PATH": f"/nowhere:{programs}", "OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x"})

    agents = detect(world.repository, world.environment).agents

    assert [(agent.name, agent.driver, agent.reason) for agent in agents] == [
        ("codex", Driver.CODEX, "codex is installed, OPENAI_API_KEY is set"),
        ("claude", Driver.CLAUDE_CODE, "claude is installed, ANTHROPIC_API_KEY is set"),
        ("gemini", Driver.ACP, "gemini is installed"),
        ("opencode", Driver.ACP, "opencode is installed"),
        ("aider", Driver.COMMAND, "aider is installed, OPENAI_API_KEY is set"),
        ("ollama", Driver.OLLAMA, "ollama is installed"),
        ("claude-api", Driver.ANTHROPIC, "ANTHROPIC_API_KEY is set"),
        ("gpt", Driver.OPENAI, "OPENAI_API_KEY is set"),
    ]


def test_na12_k9_agents_get_their_keys_and_addresses_if_these_are_set(world):
    """K9: an ACP agent or a program without its key doesn't start, and `init` knows its name."""
    programs = install(world.home, "claude", "gemini", "qwen", "aider")
    names = ("GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    world.says({"PATH": programs, **dict.fromkeys(names, "x"), "ANTHROPIC_BASE_URL": "x"})

    claude, gemini, qwen, aider, _ = detect(world.repository, world.environment).agents

    assert (claude.api_key_env, claude.pass_env) == ("", ())
    assert (gemini.api_key_env, gemini.pass_env) == ("GEMINI_API_KEY", ())
    assert gemini.reason == "gemini is installed, GEMINI_API_KEY is set"
    assert (qwen.api_key_env, qwen.pass_env) == (
        "OPENAI_API_KEY",
        ("OPENAI_BASE_URL", "OPENAI_MODEL"),
    )
    assert (aider.api_key_env, aider.pass_env) == ("", ("OPENAI_API_KEY",))


def test_a_program_the_repository_itself_brings_is_not_taken_for_an_agent(world):
    inside = install(world.repository, "codex")
    world.says({"PATH": f"{inside}:bin:."})

    assert detect(world.repository, world.environment).agents == ()


def test_without_a_path_and_keys_there_are_no_agents(world):
    world.says({"OPENAI_API_KEY": ""})

    assert detect(world.repository, world.environment) == Detected()


def test_folders_to_link_are_real_ones_and_files_to_copy_exist(world):
    write(world.repository, {".venv/x": "", ".env.local": "", "venv": "a file"})
    world.repository.joinpath("node_modules").symlink_to(world.home)

    found = detect(world.repository, world.environment)

    assert (found.link, found.copy) == ((".venv",), (".env*",))


EVERYTHING = Detected(
    checks=(
        ProposedCheck(name="Tests", run='pytest -k "a or b"', reason="there is a pytest.ini"),
        ProposedCheck(name="Lint", run="ruff check", reason="why not", required=False),
    ),
    agents=(
        ProposedAgent(name="claude", driver=Driver.CLAUDE_CODE, reason="claude is installed"),
        ProposedAgent(
            name="aider",
            driver=Driver.COMMAND,
            reason="aider is installed",
            command=("aider", "--message"),
            pass_env=("OPENAI_API_KEY",),
            prompt=PromptBy.ARG,
            done=DoneBy.EXIT,
        ),
        ProposedAgent(
            name="gpt", driver=Driver.OPENAI, reason="OPENAI_API_KEY is set", can_edit=False
        ),
    ),
    link=(".venv",),
    copy=(".env*",),
    registries=("a.example", "b.example", "c.example", "d.example", "e.example"),
)


def test_a_full_file_reads_like_this(world):
    text = render(EVERYTHING, "trunk")

    assert (
        text
        == """\
# Settings of Allstop for this repository. `allstop config` shows every key and its value.

[project]
target = "trunk"  # tasks start here and are merged into it

[agents.claude]  # claude is installed
driver = "claude-code"

[agents.aider]  # aider is installed
driver = "command"
command = ["aider", "--message"]
pass_env = ["OPENAI_API_KEY"]  # your variables that it gets
prompt = "arg"
done = "exit"  # a clean exit with a change counts as done

[agents.gpt]  # OPENAI_API_KEY is set
driver = "openai"

[loop]
max_parallel = 2  # agents at the same time
agent = "claude"  # works on tasks that name no agent
fallback = "aider"  # while the first one is rate limited

[sandbox]
# network = "model-only"  # unset: agents with a key reach only their model, others the whole network

[verification]
network = "allow"  # checks reach only the registries of your lock files: a.example, b.example, c.example, d.example; `hosts` adds others

[[verification.commands]]  # there is a pytest.ini
name = "Tests"
run = "pytest -k \\"a or b\\""

[[verification.commands]]  # why not
name = "Lint"
run = "ruff check"
required = false

[review]
mode = "batch"  # verified work waits for your review; or "per-task", "auto", "skip"

[merge]
enabled = true  # merge approved work; false leaves it to you

[workspace]
copy = [".env*"]  # untracked files copied into every workspace
link = [".venv"]  # read-only in every workspace
"""
    )
    assert world.project(text).load().settings.verification.commands[0] == Check(
        name="Tests", run='pytest -k "a or b"'
    )


def test_where_nothing_is_found_the_file_says_so_and_suggests(world):
    text = render(Detected(), None)

    assert (
        text
        == """\
# Settings of Allstop for this repository. `allstop config` shows every key and its value.

# No agent was found. Install one (codex, claude, gemini, opencode, aider) or configure yours:
# [agents.local]
# driver = "command"
# command = ["my-agent", "--flag"]  # runs in the workspace and reads the prompt from stdin

[loop]
max_parallel = 2  # agents at the same time

[verification]
network = "allow"  # checks reach only what `hosts` lists

# Warning: No verification commands configured
#
# Tasks will complete on COMPLETE signal without validation.
# Consider adding verification commands to ensure code quality.
#
# Suggestion: uncomment these lines and set your test command.
# [[verification.commands]]
# name = "Tests"
# run = "your test command"

[review]
mode = "batch"  # verified work waits for your review; or "per-task", "auto", "skip"

[merge]
enabled = true  # merge approved work; false leaves it to you
"""
    )
    assert world.project(text).load().untrusted == ()


def test_the_suggestions_are_valid_once_their_marks_are_removed(world):
    lines = render(Detected(), "main").splitlines()
    uncommented = [
        line.removeprefix("# ") if "=" in line or line.startswith("# [") else line for line in lines
    ]

    settings = world.project("\n".join(uncommented)).load().settings

    assert settings.agents["local"].command == ("my-agent", "--flag")
    assert settings.verification.commands == (Check(name="Tests", run="your test command"),)


def test_g1_init_proposes_the_registries_of_the_lock_files(world):
    (world.repository / "poetry.lock").write_text('url = "https://p.example/simple"\n')
    (world.repository / "package-lock.json").write_text('{"resolved": "https://n.example/a.tgz"}')

    found = detect(world.repository, world.environment)

    assert found.registries == ("n.example", "p.example")

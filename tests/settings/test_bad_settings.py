"""Every kind of settings problem, with file, line, key, message and hint."""

from __future__ import annotations

import os

import pytest

from allstop.settings.loader import load
from allstop.settings.origins import Default
from allstop.settings.problems import Problem, SettingsError
from support.cases import for_each

DRIVERS = "openai, anthropic, ollama, codex, claude-code, acp, command, scripted"

MISTAKES = {
    "account and accounts": (
        "[agents.a]\ndriver = 'codex'\naccount = 'x'\naccounts = ['x', 'y']",
        "allstop.toml:3: agents.a.account: account and accounts are both set (keep accounts)",
    ),
    "an account twice": (
        "[agents.a]\ndriver = 'codex'\naccounts = ['x', 'x']",
        "allstop.toml:3: agents.a.accounts: an account is named twice",
    ),
    "accounts of a program": (
        "[agents.a]\ndriver = 'command'\ncommand = ['x']\naccounts = ['x', 'y']",
        "allstop.toml:4: agents.a.accounts: the command driver has no accounts (remove it, or name another agent as the fallback)",
    ),
    "integrity and its earlier name": (
        "[verification]\nintegrity = 'ask'\nprotection = 'fail'",
        "allstop.toml:3: verification.protection: integrity and protection are both set (keep integrity)",
    ),
    "a variable for checks only that an agent gets": (
        "[verification]\nenv = ['DB_PASSWORD']\n[agents.a]\ndriver = 'codex'\npass_env = ['DB_PASSWORD']",
        "allstop.toml:2: verification.env: DB_PASSWORD is for checks only, and the agent a gets it (remove it from one of them)",
    ),
    "unknown key": (
        "[loop]\nmax_paralel = 3",
        "allstop.toml:2: loop.max_paralel: unknown key (did you mean max_parallel?)",
    ),
    "unknown key like nothing": (
        "[loop]\nzzz = 3",
        "allstop.toml:2: loop.zzz: unknown key",
    ),
    "key of another section": (
        "[loop]\nnetwork = 'none'",
        "allstop.toml:2: loop.network: unknown key (did you mean verification.network?)",
    ),
    "key without a section": (
        "max_parallel = 3",
        "allstop.toml:1: max_parallel: unknown key (did you mean loop.max_parallel?)",
    ),
    "unknown section": (
        "[hoks]\npre_start = 'x'",
        "allstop.toml:1: hoks: unknown section (did you mean hooks?)",
    ),
    "key near an alias": (
        "[retry]\nmaxRetry = 2",
        "allstop.toml:2: retry.maxRetry: unknown key (did you mean maxRetries?)",
    ),
    "unknown key of an agent": (
        "[agents.a]\ndriver = 'codex'\nmodl = 'x'",
        "allstop.toml:3: agents.a.modl: unknown key (did you mean model?)",
    ),
    "unknown key of a list's table": (
        "[[verification.commands]]\nrun = 'a'\n[[verification.commands]]\nrun = 'b'\ntmeout = 3",
        "allstop.toml:5: verification.commands[1].tmeout: unknown key (did you mean timeout?)",
    ),
    "unknown key of a quoted table": (
        "[prices.'gpt-4.1']\ninput = 3",
        'allstop.toml:2: prices."gpt-4.1".input: unknown key (did you mean input_mtok?)',
    ),
    "a key with control characters": (
        '"a\\nb\\u001b" = 1',
        'allstop.toml:1: "a\\nb\\u001b": unknown key',
    ),
    "text for a whole number": (
        "[loop]\nmax_parallel = 'four'",
        'allstop.toml:2: loop.max_parallel: expected a whole number from 1 to 1,000, got "four"',
    ),
    "a whole number out of range": (
        "[loop]\nmax_parallel = 0",
        "allstop.toml:2: loop.max_parallel: expected a whole number from 1 to 1,000, got 0",
    ),
    "an enormous number": (
        f"[loop]\nmax_parallel = {'9' * 400}",
        (
            "allstop.toml:2: loop.max_parallel: expected a whole number from 1 to 1,000,"
            " got a very large number"
        ),
    ),
    "a truth value for a whole number": (
        "[loop]\nmax_parallel = true",
        "allstop.toml:2: loop.max_parallel: expected a whole number from 1 to 1,000, got true",
    ),
    "a number out of range": (
        "[auto]\nmin_confidence = 1.5",
        "allstop.toml:2: auto.min_confidence: expected a number from 0 to 1, got 1.5",
    ),
    "no number at all": (
        "[retry]\njitter = nan",
        "allstop.toml:2: retry.jitter: expected a number from 0 to 1, got nan",
    ),
    "no time": (
        "[loop]\ntimeout_minutes = 0",
        "allstop.toml:2: loop.timeout_minutes: expected a number above 0, at most 525,600, got 0",
    ),
    "a number for a truth value": (
        "[merge]\nenabled = 1",
        "allstop.toml:2: merge.enabled: expected true or false, got 1",
    ),
    "a word that is no choice": (
        "[retry]\nerror_strategy = 'retyr'",
        (
            "allstop.toml:2: retry.error_strategy:"
            ' expected one of retry, skip, abort, got "retyr" (did you mean retry?)'
        ),
    ),
    "empty text": (
        "[workspace]\nsetup = ''",
        'allstop.toml:2: workspace.setup: expected a non-empty string, got ""',
    ),
    "a date for text": (
        "[project]\ntarget = 2024-01-01",
        "allstop.toml:2: project.target: expected the name of a branch, got a date or time",
    ),
    "a branch that would be an option": (
        "[project]\ntarget = '--upload-pack=x'",
        'allstop.toml:2: project.target: expected the name of a branch, got "--upload-pack=x"',
    ),
    "text for a list": (
        "[workspace]\nlink = '.venv'",
        'allstop.toml:2: workspace.link: expected a list of strings, got ".venv" (use a list: [ … ])',
    ),
    "a number in a list of strings": (
        "[sandbox]\nread = [\n  '/a',\n  3,\n]",
        "allstop.toml:4: sandbox.read[1]: expected a non-empty string, got 3",
    ),
    "a value for a section": (
        "loop = 3",
        "allstop.toml:1: loop: expected a table, got 3",
    ),
    "a list for a section": (
        "[[loop]]\nmode = 'semi'",
        "allstop.toml:1: loop: expected a table, got a list",
    ),
    "a path out of the repository": (
        "[workspace]\ncopy = ['../../.ssh/*']",
        (
            "allstop.toml:2: workspace.copy[0]: expected a path or pattern inside the repository,"
            " without '..' and not in .git, got \"../../.ssh/*\""
        ),
    ),
    "a path into git's own folder": (
        "[workspace]\ncopy = ['.git/config']",
        (
            "allstop.toml:2: workspace.copy[0]: expected a path or pattern inside the repository,"
            " without '..' and not in .git, got \".git/config\""
        ),
    ),
    "an address that isn't one": (
        "[agents.a]\ndriver = 'openai'\nbase_url = 'localhost:80'",
        (
            "allstop.toml:3: agents.a.base_url:"
            ' expected an address that begins with http:// or https://, got "localhost:80"'
        ),
    ),
    "a key where its name belongs, which is not repeated": (
        "[agents.a]\ndriver = 'openai'\napi_key_env = 'sk-not-the-name-of-it'",
        (
            "allstop.toml:3: agents.a.api_key_env: expected the name of an environment variable,"
            " never the key itself, got another value"
        ),
    ),
    "a secret of the wrong type, which is not repeated": (
        "[agents.a]\ndriver = 'openai'\nenv = {TOKEN = 12345}",
        "allstop.toml:3: agents.a.env.TOKEN: expected a string, got another value",
    ),
    "a store nobody knows": (
        "[store]\nurl = 'mysql://x'",
        'allstop.toml:2: store.url: expected "sqlite" or "postgresql://…", got another value',
    ),
    "a name with blanks": (
        "[agents.'my agent']\ndriver = 'codex'",
        (
            'allstop.toml:1: agents."my agent":'
            " expected a name of letters, digits, '.', '_' and '-' here"
        ),
    ),
    "an agent without driver": (
        "[agents.a]\nmodel = 'x'",
        f"allstop.toml:1: agents.a: has no driver (set one of {DRIVERS})",
    ),
    "a command agent without command": (
        "[agents.a]\ndriver = 'command'",
        (
            "allstop.toml:1: agents.a: the command driver needs a command"
            ' (for example command = ["my-agent", "--flag"])'
        ),
    ),
    "an acp agent with an empty command": (
        "[agents.a]\ndriver = 'acp'\ncommand = []",
        (
            "allstop.toml:1: agents.a: the acp driver needs a command"
            ' (for example command = ["my-agent", "--flag"])'
        ),
    ),
    "a mode for an agent that has none": (
        "[agents.a]\ndriver = 'codex'\nmode = 'plan'",
        (
            "allstop.toml:3: agents.a.mode: the codex driver has no modes"
            " (remove it, or use the driver acp)"
        ),
    ),
    "a scripted agent without script": (
        "[agents.a]\ndriver = 'scripted'",
        (
            "allstop.toml:1: agents.a: the scripted driver needs a script"
            ' (for example script = "demo.toml")'
        ),
    ),
    "an agent named like the room": (
        "[agents.router]\ndriver = 'codex'",
        "allstop.toml:1: agents.router: the name is reserved (choose another name)",
    ),
    "an agent that isn't there": (
        "[loop]\nagent = 'cluade'\n[agents.claude]\ndriver = 'codex'",
        'allstop.toml:2: loop.agent: there is no agent "cluade" (did you mean claude?)',
    ),
    "a fallback where there are no agents": (
        "[loop]\nfallback = 'gpt'",
        'allstop.toml:2: loop.fallback: there is no agent "gpt" (add [agents.gpt])',
    ),
    "an agent that isn't there, by an alias": (
        "[loop]\nprimaryAgent = 'gpt'",
        'allstop.toml:2: loop.agent: there is no agent "gpt" (add [agents.gpt])',
    ),
    "a decision agent that isn't there": (
        "[auto]\ndecision_agent = 'gpt'",
        'allstop.toml:2: auto.decision_agent: there is no agent "gpt" (add [agents.gpt])',
    ),
    "an order with an agent that isn't there": (
        "[loop]\norder = ['gpt']",
        'allstop.toml:2: loop.order[0]: there is no agent "gpt" (add [agents.gpt])',
    ),
    "a check without a command": (
        "[verification]\ncommands = [\n  'pytest',\n  {name = 'x'},\n]",
        "allstop.toml:4: verification.commands[1]: run is missing",
    ),
    "a name and its alias": (
        "[room]\nmax_turns = 3\nmax_turns_emergency = 4",
        ("allstop.toml:3: room.max_turns_emergency: duplicates room.max_turns; remove one of them"),
    ),
    "a name and its alias in two sections": (
        "[loop]\nmaxRetries = 3\n[retry]\nmax_retries = 4",
        ("allstop.toml:2: loop.maxRetries: duplicates retry.max_retries; remove one of them"),
    ),
    "a wrong value by an alias": (
        "[budget.run]\nturns = 'x'",
        (
            "allstop.toml:2: budget.run.turns:"
            ' expected a whole number from 1 to 1,000,000,000,000, got "x"'
        ),
    ),
    "a window that shrinks": (
        "[room]\nwindow_items = 30",
        "allstop.toml:2: room.window_items: window_items_max (24) is below window_items (30)",
    ),
    "a sprint's count without a number": (
        "[sprint]\ntarget = 'count'",
        "allstop.toml:2: sprint.target: count needs a number of tasks (for example value = 10)",
    ),
    "a sprint's duration without hours": (
        "[sprint.target]\ntype = 'duration'\nvalue = inf",
        "allstop.toml:1: sprint.target: duration needs a number of hours (for example value = 2.5)",
    ),
    "a sprint's time that isn't one": (
        "[sprint]\ntarget = {type = 'until_time', value = '25:00'}",
        'allstop.toml:2: sprint.target: until_time needs a time (for example value = "07:00")',
    ),
    "a sprint's value that means nothing": (
        "[sprint]\ntarget = {type = 'no_ready', value = 3}",
        "allstop.toml:2: sprint.target: no_ready takes no value",
    ),
    "a rule that both allows and denies": (
        "[approvals]\nrules = [{deny = 'rm'}, {allow = 'ls', deny = 'ls'}]",
        "allstop.toml:2: approvals.rules[1]: set exactly one of allow, ask and deny",
    ),
    "a pattern that isn't one": (
        "[retry]\nrate_limit_patterns = ['(']",
        (
            "allstop.toml:2: retry.rate_limit_patterns[0]: not a regular expression:"
            " missing ), unterminated subpattern at position 0"
        ),
    ),
    "a pattern that could hang": (
        "[retry]\nrate_limit_patterns = ['limit', '(a+)+b']",
        (
            "allstop.toml:2: retry.rate_limit_patterns[1]:"
            " a repeated group can take very long to match (remove the repetition)"
        ),
    ),
    "no TOML": (
        "[loop]\nmode = semi",
        "allstop.toml:2: not valid TOML: invalid value",
    ),
    "a text that doesn't end": (
        "[loop]\nmode = 'semi",
        'allstop.toml:2: not valid TOML: expected "\'"',
    ),
    "a key twice": (
        "[loop]\nmode = 'semi'\nmax_parallel = 3\nmode = 'autopilot'",
        "allstop.toml:4: loop.mode: duplicate; first set in line 2",
    ),
    "a table twice": (
        "[loop]\n\n[room]\n\n[loop]\n",
        "allstop.toml:5: loop: duplicate; first set in line 1",
    ),
    "a key twice in an inline table": (
        "[sprint]\ntarget = {type = 'count', type = 'count'}",
        "allstop.toml:2: sprint.target.type: duplicate; first set in line 2",
    ),
    "a table without end of tables": (
        "x = " + "[" * 5_000,
        "allstop.toml:1: nested too deeply",
    ),
    "many tables in tables": (
        ".".join("x" * 40) + " = 1",
        "allstop.toml:1: nested too deeply",
    ),
}


@for_each(("text", "shown"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_line_and_what_to_do(world, text, shown):
    assert world.project(text).problems() == [shown]


def test_k14_a_repository_that_may_not_have_it_is_not_asked_for_it(world):
    world.user("sandbox.network = 'none'").project("sandbox.network = 'model-only'")

    loaded = world.load()

    assert loaded.settings.sandbox.network == "none"
    assert [each.key for each in loaded.untrusted] == ["sandbox.network"]


def test_z1_a_person_can_choose_a_store_on_a_server(world):
    loaded = world.user("[store]\nurl = 'postgresql://me@host/x'").load()

    assert loaded.settings.store.url == "postgresql://me@host/x"


def test_a_repository_can_not_move_the_store(world):
    loaded = world.project("store.url = 'postgresql://evil/x'").load()

    assert loaded.settings.store.url == "sqlite"
    assert [each.key for each in loaded.untrusted] == ["store.url"]


def test_all_mistakes_are_told_at_once_file_by_file_from_top_to_bottom(world):
    world.user("[room]\nwindow = 'x'\n")
    world.project("[loop]\nagent = 'a'\nmod = 'semi'\n[agents.b]\n[merge]\nenabled = 'yes'\n")
    world.says({"ALLSTOP_LOOP_MAX_PARALLEL": "many"})
    world.flag({"server.port": 70_000})

    assert world.problems() == [
        f'{world.user_file}:2: room.window: expected one of elastic, strict, got "x"',
        'allstop.toml:2: loop.agent: there is no agent "a" (add [agents.a])',
        "allstop.toml:3: loop.mod: unknown key (did you mean mode?)",
        f"allstop.toml:4: agents.b: has no driver (set one of {DRIVERS})",
        'allstop.toml:6: merge.enabled: expected true or false, got "yes"',
        'environment: ALLSTOP_LOOP_MAX_PARALLEL: expected a whole number from 1 to 1,000, got "many"',
        "command line: server.port: expected a whole number from 0 to 65,535, got 70000",
    ]


def test_a_problem_carries_its_parts(world):
    world.project("[loop]\nmod = 'semi'\n")

    with pytest.raises(SettingsError) as caught:
        world.load()

    assert caught.value.problems == (
        Problem(
            file="allstop.toml",
            line=2,
            key="loop.mod",
            message="unknown key",
            hint="did you mean mode?",
        ),
    )


def test_what_only_follows_from_another_mistake_is_not_told(world):
    world.project("agents.a = 3\nagents.b.driver = 'codx'\nloop.agent = 'a'\n")

    assert world.problems() == [
        "allstop.toml:1: agents.a: expected a table, got 3",
        (
            f"allstop.toml:2: agents.b.driver: expected one of {DRIVERS},"
            ' got "codx" (did you mean codex?)'
        ),
    ]


def test_a_file_that_is_not_utf8_is_refused_with_the_line_of_the_byte(world):
    world.project_file.write_bytes(b"[loop]\nmode = 'semi'\n# caf\xe9\n")

    assert world.problems() == [
        "allstop.toml:3: not UTF-8 text (save the file as UTF-8)",
    ]


def test_a_folder_in_the_files_place_is_refused(world):
    world.project_file.mkdir()

    assert world.problems() == ["allstop.toml:1: can't be read: not a regular file"]


def test_a_file_beyond_a_million_bytes_is_refused(world):
    world.project("#" * 1_000_001)

    assert world.problems() == ["allstop.toml:1: larger than 1,000,000 bytes"]


def test_a_link_that_leads_nowhere_is_refused(world):
    world.project_file.symlink_to(world.repository / "gone.toml")

    assert world.problems() == ["allstop.toml:1: can't be read: No such file or directory"]


def test_a_pipe_in_the_files_place_is_refused_without_waiting(world):
    os.mkfifo(world.project_file)

    assert world.problems() == ["allstop.toml:1: can't be read: not a regular file"]


def test_the_settings_folder_being_a_file_means_no_settings(world):
    world.home.joinpath(".config").write_text("not a folder")

    assert world.load().origins["loop.mode"] == Default()


def test_a_byte_order_mark_and_windows_line_ends_are_no_mistake(world):
    world.project_file.write_bytes(b"\xef\xbb\xbf[loop]\r\nmax_parallel = 7\r\n")

    assert world.load().settings.loop.max_parallel == 7


def test_the_committed_file_counts_in_place_of_the_working_copys(world):
    world.project("[loop]\nmax_parallel = 3\n")

    loaded = load(
        world.environment,
        repository=world.repository,
        committed=b"[loop]\nmax_parallel = 5\n",
    )

    assert loaded.settings.loop.max_parallel == 5

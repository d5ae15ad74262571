"""Rules for the layout of src/allstop: folder size, module names, length of files and functions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from project import project_files

MOST_MODULES = 30
MOST_GERUNDS = 0.04
LONGEST_FILE = 600
LONGEST_FUNCTION = 60

ROLES = {"__main__", "agent", "commands", "driver", "error_kinds", "items", "kind", "launch", "messages"} | {
    "pilot", "prompts", "screen", "state", "threads", "tools", "turn", "turn_fold",
}  # fmt: skip
"""Stems that name a role which several packages have."""

LAYERED = {
    "accounts", "actions", "agents", "alerts", "anthropic_messages", "approvals", "auto", "board",
    "chat_completions", "checks", "cleanup", "daily_budget", "demo", "diff", "doctor", "draft", "drafts",
    "guidance", "hooks", "init", "limit_check", "live_text", "log", "mcp", "notify", "openai_responses", "plan",
    "programs",
    "review_comments", "room", "run", "runs", "secrets", "takeover", "tasks", "usage", "workspaces",
    "sprint", "sprints", "start", "statistics", "store", "forecast", "evidence", "merge_queue", "worker",
    "fleet", "machines", "flaky_tests",
}  # fmt: skip
"""Stems that name one thing at several layers: its rules, its wiring, its command."""


def modules() -> list[Path]:
    return [
        file
        for file in project_files.below("src")
        if file.suffix == ".py" and file.stem != "__init__"
    ]


def test_no_folder_has_more_than_thirty_modules():
    folders: dict[str, int] = defaultdict(int)
    for module in modules():
        folders[project_files.name(module.parent)] += 1

    assert {name: count for name, count in folders.items() if count > MOST_MODULES} == {}


def test_modules_are_named_by_nouns():
    gerunds = [
        project_files.name(module)
        for module in modules()
        if re.search(r"(^|_)[a-z]+ing(_|$)", module.stem)
    ]

    assert len(gerunds) <= MOST_GERUNDS * len(modules()), gerunds


def test_a_stem_in_two_folders_names_one_thing():
    folders = defaultdict(list)
    for module in modules():
        folders[module.stem].append(project_files.name(module.parent))

    repeated = {stem: where for stem, where in folders.items() if len(where) > 1}
    assert {stem: where for stem, where in repeated.items() if stem not in ROLES | LAYERED} == {}
    assert LAYERED - repeated.keys() == set()


def test_files_and_functions_are_not_longer_than_an_idea():
    long = [
        f"{project_files.name(module)}: {len(source.splitlines())} lines"
        for module in modules()
        if len((source := project_files.text(module)).splitlines()) > LONGEST_FILE
    ]
    for module in modules():
        for node in ast.walk(ast.parse(project_files.text(module))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{project_files.name(module)}: {node.name} has {lines} lines")

    assert long == []

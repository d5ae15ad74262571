"""P15: plans of other tools, converted, with everything that is left out and its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.exchange.plan_formats import FORMATS, read_foreign_plan
from allstop.cli.plans.import_plan import FORMAT
from allstop.core.errors import AllstopError
from allstop.plans.plan_file import read_plan
from allstop.plans.plan_text import written

RALPHEX = """\
# Plan: Add a login

## Overview
Sessions last a day.

## Validation Commands
- `make test`
- `make lint` - all of it
- look at it

### Task 1: Hash passwords
- [x] a slow hash
- [x] tests
- [x] Mark completed

### Task 2.5: The form
Keep it small.
- [ ] a field for the name
  - [ ] trimmed
- [x] a button

#### Hints
One page is enough.

## Success criteria
- [ ] it was tried by hand
"""
SPEC_KIT = """\
---
description: "Tasks"
---

# Tasks: Login

**Input**: `/specs/001-login/`

## Format: `[ID] [P?] [Story] Description`

- **[P]**: beside others

<!-- - [ ] T000 a sample -->

## Phase 1: Setup

- [x] T001 Create the project
- [ ] T002 [P] Configure the linter
  in its own file

---

## Phase 2: User Story 1 - Log in

**Goal**: a person logs in

### Tests for User Story 1

- [ ] T010 [P] [US1] Contract test in tests/login.py

### Implementation

- [ ] T012 [US1] Model (depends on T010)

## Dependencies

- Setup comes first
"""
KIRO = """\
# Implementation Plan: Login

## Overview

Build it in small steps.

## Tasks

- [x] 1. Set up
  - Create the folders
  - _Requirements: 1.1_

- [-] 2. Sessions
  - [ ] 2.1 Store them
    - In one table
    - _Requirements: 1.2, 1.3_
  - [ ]* 2.2 Write property tests
    - **Validates: Requirements 1.2**
- [ ] 3. Checkpoint

## Notes

- Ask if in doubt
"""
PRD = {
    "project": "Shop",
    "branchName": "shop",
    "description": "A small shop.",
    "userStories": [
        {"id": "US-2", "title": "Pay", "priority": 2, "acceptanceCriteria": ["it is paid"], "passes": False},
        {"id": "US-1", "title": "Browse", "description": "As a guest", "priority": 1, "passes": True,
         "notes": "Simple.", "effort": 3},
        {"id": "US-0", "title": "Ship", "priority": 1, "dependsOn": ["US-2", "US-9"], "effort": 1},
    ],
}  # fmt: skip
TASKS = {
    "master": {
        "tasks": [
            {"id": 1, "title": "Set up", "description": "Folders", "status": "done", "priority": "high"},
            {"id": 2, "title": "Build", "details": "In parts", "testStrategy": "Run it", "dependencies": [3],
             "subtasks": [
                 {"id": 1, "title": "Second", "dependencies": [2], "status": "pending"},
                 {"id": 2, "title": "First", "status": "done"},
                 {"id": 3, "title": "Never", "status": "cancelled"},
             ]},
            {"id": 3, "title": "Choose", "status": "deferred"},
        ],
        "metadata": {"created": "today"},
    }
}  # fmt: skip


def shape(found):
    assert found.problems == ()
    return [
        (phase.name, [(s.id, s.text, s.criteria, s.done) for s in phase.steps])
        for phase in found.plan.phases
    ]


def notes(found):
    return [f"{line}: {text}" for line, text in found.notes]


def test_p15_ralphex_tasks_are_steps_with_the_validation_commands_as_check():
    found = read_foreign_plan("plan.md", RALPHEX.encode())

    assert shape(found) == [
        (
            "Tasks",
            [
                ("T1", "Hash passwords", ("a slow hash", "tests"), True),
                (
                    "T2.5",
                    "The form\nKeep it small.\n\nHints:\nOne page is enough.",
                    ("a field for the name\n- [ ] trimmed", "a button"),
                    False,
                ),
            ],
        )
    ]
    assert (found.plan.title, found.plan.text) == (
        "Add a login",
        "Overview:\n\nSessions last a day.",
    )
    assert [step.check for _, step in found.plan.steps()] == ["set -e\nmake test\nmake lint"] * 2
    assert notes(found) == [
        "9: there is no command in backticks: look at it",
        "14: the box 'Mark completed' is left out",
        "16: 1 of 2 boxes are ticked; the step is open",
        "25: the section 'Success criteria' is left out",
    ]


def test_p15_spec_kit_headings_with_tasks_are_phases():
    found = read_foreign_plan("tasks.md", SPEC_KIT.encode())

    story = "Phase 2: User Story 1 - Log in"
    assert shape(found) == [
        (
            "Phase 1: Setup",
            [
                ("T001", "Create the project", (), True),
                ("T002", "Configure the linter\nin its own file", (), False),
            ],
        ),
        (
            f"{story}: Tests for User Story 1",
            [("T010", "Contract test in tests/login.py (US1)", (), False)],
        ),
        (f"{story}: Implementation", [("T012", "Model (depends on T010) (US1)", (), False)]),
    ]
    assert found.plan.title == "Login"
    assert found.plan.phases[1].text == "**Goal**: a person logs in"
    assert [note.line for note in found.notes] == [9, 35]
    assert "the section 'Dependencies' has no tasks and is left out" in notes(found)[1]


def test_p15_kiro_tasks_with_parts_are_phases():
    found = read_foreign_plan("tasks.md", KIRO.encode())

    assert shape(found) == [
        (
            "Tasks",
            [("1", "Set up\n- Create the folders", ("The requirements 1.1 are met.",), True)],
        ),
        (
            "2. Sessions",
            [
                (
                    "2.1",
                    "Store them\n- In one table",
                    ("The requirements 1.2, 1.3 are met.",),
                    False,
                ),
                (
                    "2.2",
                    "Write property tests (optional)\n- **Validates: Requirements 1.2**",
                    (),
                    False,
                ),
            ],
        ),
        ("Tasks", [("3", "Checkpoint", (), False)]),
    ]
    assert found.plan.title == "Login"
    assert found.plan.text == "Build it in small steps."
    assert notes(found) == [
        "17: 2.2 is optional there; here it is a step like the others",
        "21: the section 'Notes' is left out",
    ]


def test_p15_stories_stand_after_those_that_they_need_then_by_priority():
    found = read_foreign_plan("prd.json", json.dumps(PRD, indent=1).encode())

    assert shape(found) == [
        (
            "Shop",
            [
                ("US-1", "Browse\n\nAs a guest\n\nSimple.", (), True),
                ("US-2", "Pay", ("it is paid",), False),
                ("US-0", "Ship", (), False),
            ],
        )
    ]
    assert found.plan.text == "A small shop."
    assert [note.partition(": ")[2] for note in notes(found)] == [
        "the branch is left out: a plan works in its own clone",
        "the key 'effort' is left out, 2 times",
        "US-0 needs 'US-9', which is not in the file",
    ]


def test_p15_a_list_of_features_is_a_plan_too():
    features = [
        {"category": "ui", "description": "A button", "steps": ["press it"], "passes": False}
    ]

    found = read_foreign_plan("prd.json", json.dumps(features).encode())

    assert shape(found) == [("Stories", [("1.1", "A button", ("press it",), False)])]


def test_p15_task_master_subtasks_stand_in_the_order_of_their_needs():
    found = read_foreign_plan("tasks.json", json.dumps(TASKS, indent=1).encode())

    assert shape(found) == [
        (
            "Tasks",
            [("1", "Set up\n\nFolders", (), True), ("3", "Choose", (), False)],
        ),
        ("Build", [("2.2", "First", (), True), ("2.1", "Second", (), False)]),
    ]
    assert found.plan.phases[1].text == "In parts\n- Run it"
    assert [note.partition(": ")[2] for note in notes(found)] == [
        "the key 'priority' is left out",
        "2.3 is cancelled and left out",
        "3 is deferred there; here it is a step like the others",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ralphex", RALPHEX),
        ("spec-kit", SPEC_KIT),
        ("kiro", KIRO),
        ("prd", json.dumps(PRD)),
        ("task-master", json.dumps(TASKS)),
    ],
)
def test_p15_the_converted_file_has_no_problems_and_the_same_steps(name, text):
    found = read_foreign_plan("x", text.encode(), name)
    again = read_plan("plan.md", written(found.plan).encode())

    assert again.problems == ()
    assert [(s.id, s.criteria, s.check, s.done) for _, s in again.plan.steps()] == [
        (s.id, s.criteria, s.check, s.done) for _, s in found.plan.steps()
    ]
    assert [p.name for p in again.plan.phases] == [p.name for p in found.plan.phases]
    assert read_foreign_plan("x", text.encode()).plan == found.plan


@pytest.mark.parametrize(
    ("text", "wanted", "line", "problem"),
    [
        ("{}", "kiro", 1, "the file has another form"),
        ("- [ ] T001 x", "prd", 1, "the file has another form"),
        ('{\n"tasks": [}', "task-master", 2, "not valid JSON"),
        ('{"tasks": []}', None, 1, "the plan is empty"),
        ("# A\n- [x] 1. done\n", None, 2, "every step is ticked"),
        ("# A\n- [ ] 1. one\n- [ ] 1. two\n", None, 3, "the id '1' is used on line 2 already"),
    ],
)  # fmt: skip
def test_p15_a_file_that_cannot_be_used_says_why_with_its_line(text, wanted, line, problem):
    (found,) = read_foreign_plan("x", text.encode(), wanted).problems

    assert (found.line, problem in found.problem) == (line, True)


def test_p15_a_cycle_of_needs_is_noted_and_keeps_all_steps():
    tasks = [{"id": n, "title": f"t{n}", "dependencies": [3 - n]} for n in (1, 2)]

    found = read_foreign_plan("tasks.json", json.dumps({"tasks": tasks}).encode())

    assert len(list(found.plan.steps())) == 2
    assert any("is part of a cycle of needs" in note.text for note in found.notes)


def test_p15_the_command_offers_every_format():
    assert [*FORMAT.choices] == [*FORMATS]


def test_p15_an_unknown_form_names_the_formats():
    with pytest.raises(AllstopError) as refused:
        read_foreign_plan("notes.md", b"# Notes\n\n- one\n")

    assert refused.value.code == "unknown_format"
    assert "ralphex, spec-kit, kiro, task-master, prd" in refused.value.hint


LINES = st.sampled_from(
    [*RALPHEX.split("\n"), *SPEC_KIT.split("\n"), *KIRO.split("\n"), "```", "- [?] 9.1.1 x"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 5) | st.sampled_from(["1", "done", "a\nb", ""]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["tasks", "userStories", "id", "title", "subtasks", "dependencies", "status", "passes"]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.sampled_from([*FORMATS]),
    st.lists(LINES, max_size=12).map("\n".join) | VALUES.map(json.dumps),
)
def test_p15_any_file_is_read_or_refused_and_never_ends_in_an_error(name, text):
    found = read_foreign_plan("x", text.encode(), name)

    if not found.problems:
        again = read_plan("plan.md", written(found.plan).encode())
        assert again.problems == ()
        assert len(list(again.plan.steps())) == len(list(found.plan.steps()))

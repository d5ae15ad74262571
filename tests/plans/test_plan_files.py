"""P1, P14: plans in Markdown, JSON and YAML, and what is wrong with them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.plans.plan_file import MOST_STEPS, read_plan

MARKDOWN = """\
# Move the parser

Read this first.

## Preparation

Some notes.

- P1: Write tests
  for everything
  - [ ] malformed input
  - [x] good input
  - check: `pytest tests`
- [x] Read the code

## Move

1. Create the package
2. Move it
   - keep the names

   ```check
   make lint
   make test
   ```
"""
VALUES = {
    "title": "Move the parser",
    "text": "Read this first.",
    "phases": [
        {
            "name": "Preparation",
            "text": "Some notes.",
            "steps": [
                {
                    "id": "P1",
                    "text": "Write tests\nfor everything",
                    "criteria": ["malformed input", "good input"],
                    "check": "pytest tests",
                },
                {"text": "Read the code", "done": True},
            ],
        },
        {
            "name": "Move",
            "steps": [
                "Create the package",
                {"text": "Move it\n- keep the names", "check": "set -e\nmake lint\nmake test"},
            ],
        },
    ],
}
YAML = """\
title: Move the parser
text: Read this first.
phases:
  - name: Preparation
    text: Some notes.
    steps:
      - id: P1
        text: |
          Write tests
          for everything
        criteria: [malformed input, "good input"]
        check: pytest tests
      - text: Read the code
        done: true
  - name: Move
    steps:
      - Create the package
      - text: "Move it\\n- keep the names"
        check: "set -e\\nmake lint\\nmake test"
"""


def seen(name, text):
    """The plan without line numbers, and the problems as (line, text)."""
    found = read_plan(name, text if isinstance(text, bytes) else text.encode())
    plan = [
        (phase.name, phase.text, [(s.id, s.text, s.criteria, s.check, s.done) for s in phase.steps])
        for phase in found.plan.phases
    ]
    return (found.plan.title, found.plan.text, plan), [(p.line, str(p)) for p in found.problems]


def problems(text, name="plan.md"):
    return seen(name, text)[1]


def steps(text):
    found = read_plan("plan.md", text.encode())
    assert found.problems == ()
    return [step for _, step in found.plan.steps()]


def test_p1_the_same_plan_reads_the_same_in_all_three_formats():
    in_markdown = seen("plan.md", MARKDOWN)

    assert in_markdown[1] == []
    assert in_markdown[0][2][0][2][0] == (
        "P1", "Write tests\nfor everything", ("malformed input", "good input"), "pytest tests", False,
    )  # fmt: skip
    assert seen("plan.json", json.dumps(VALUES, indent=1)) == in_markdown
    assert seen("plan.yaml", YAML) == in_markdown
    assert seen("plan", json.dumps(VALUES)) == in_markdown


def test_p1_crlf_a_byte_order_mark_and_tabs_change_nothing():
    tabbed = MARKDOWN.replace("\n  ", "\n\t").replace("\n\t - ", "\n\t- ")

    assert seen("plan.md", MARKDOWN.replace("\n", "\r\n")) == seen("plan.md", MARKDOWN)
    assert seen("plan.md", b"\xef\xbb\xbf" + MARKDOWN.encode()) == seen("plan.md", MARKDOWN)
    first, *_ = steps("# A\n- One\n\t- [ ] holds\n\t- check: true\n")
    assert (first.criteria, first.check) == (("holds",), "true")
    assert problems(tabbed) == []


def test_p1_steps_are_named_by_their_place_or_by_their_id():
    found = steps("# A\n- one\n- T-7: two\n- Fix: three\n# B\n* four\n")

    assert [(s.id, s.text) for s in found] == [
        ("1.1", "one"), ("T-7", "two"), ("1.3", "Fix: three"), ("2.1", "four"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "# A\n- one\n  ```\n  - not a step\n  # no heading\n  ```\n",
        "# A\n- one\n  - detail\n    - deeper\n",
        "# A\n<!--\n- not a step\n-->\n- one\n",
        "A\n===\n\n- one\n",
        "# A\n- one\n\nAbout the phase.\n",
        "# A\n- one\n***\n",
    ],
)
def test_p1_code_comments_and_nested_items_are_no_steps(text):
    assert [step.title for step in steps(text)] == ["one"]


def test_p1_what_is_nested_below_a_criterion_belongs_to_it():
    (step,) = steps("# A\n- one\n  - [ ] it holds\n    - [ ] everywhere\n    - also here\n")

    assert step.criteria == ("it holds\n- [ ] everywhere\n- also here",)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n- one\n  check: make test\n",
        "# A\n- one\n  - Check: make test\n",
        "# A\n- one\n  check:\n  ```sh\n  make test\n  ```\n",
        "# A\n- one\n\n  ~~~ sh check\n  make test\n  ~~~\n",
    ],
)
def test_p14_a_step_may_have_a_check(text):
    assert [(step.text, step.check) for step in steps(text)] == [("one", "make test")]


MISTAKES = {
    "": [(1, "the plan is empty")],
    " \n\n": [(1, "the plan is empty")],
    "Only words.\n": [(1, "the plan is empty")],
    "# A\n\n# B\n- one\n": [(1, "the phase 'A' has no steps")],
    "- one\n# A\n- two\n": [(1, "before the first heading")],
    "# A\n- x1: one\n- x1: two\n": [(3, "the id 'x1' is used on line 2 already")],
    "# A\n- 1.2: one\n- two\n": [(3, "the id '1.2' is used on line 2 already")],
    "# A\n- [x] one\n- [X] two\n": [(1, "every step is ticked")],
    "# A\n- [?] one\n": [(2, "the box [?] is unknown")],
    "# A\n-\n": [(2, "the step has no text")],
    "#\n- one\n": [(1, "the heading has no text")],
    "# A\n- one\n  - [ ]\n": [(3, "the criterion has no text")],
    "# A\n- one\n  check: a\n  check: b\n": [(4, "has a check on line 3 already")],
    "# A\n- one\n  ```check\n  ```\n": [(3, "the check is empty")],
    "# A\n```check\nmake\n```\n- one\n": [(2, "the check belongs to no step")],
    "# A\n- one\n```\nnever closed\n": [(3, "the code block is not closed")],
    "# A\n      - one\n": [(2, "the item is indented")],
    "# A\n- check: make\n": [(2, "the check 'make' belongs to no step")],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_p1_each_mistake_in_markdown_is_named_with_its_line(text):
    found = problems(text)

    assert [line for line, _ in found] == [line for line, _ in MISTAKES[text]], found
    for (_, said), (_, wanted) in zip(found, MISTAKES[text], strict=True):
        assert wanted in said
        assert "; expected " in said


def test_p1_all_problems_are_listed_not_only_the_first():
    assert [line for line, _ in problems("- a\n# A\n# B\n- x1: b\n- x1: c\n")] == [1, 2, 5]


def test_p1_bytes_that_are_no_text_are_named_with_their_line():
    assert problems(b"# A\n- one\n- \xff\n") == [
        (3, "the byte 0xff is not UTF-8; expected UTF-8"),
    ]
    assert problems(b"# A\n- one\x00\n")[0][0] == 2
    assert "MB" in problems(b"#" * 5_000_001)[0][1]


WRONG_VALUES = [
    ("plan.json", "{\n", 2, "not valid JSON"),
    ("plan.json", "[]", 1, "the plan is a list"),
    ("plan.json", "[" * 100_000, 1, "nested too deeply"),
    ("plan.json", '{"phases": ' + "[" * 30 + "]" * 30 + "}", 1, "nested too deeply"),
    ("plan.json", '{\n"phases": [],\n"phases": []}', 3, "the key 'phases' is given twice"),
    ("plan.json", '{"phases": [\n{"name": "a", "steps": [\nnull, "b"]}]}', 3, "the step is null"),
    ("plan.json", '{"phases": [{"name": "a", "steps": [{"text": "b", "done": 1}]}]}', 1, "is 1"),
    ("plan.json", '{"phases": [{"name": "a", "steps": [{"id": "a b", "text": "c"}]}]}', 1, "'a b'"),
    ("plan.json", '{"phases": [{"name": "a", "steps": []}]}', 1, "has no steps"),
    ("plan.json", '{"phases": [{"name": "a", "steps": [""]}]}', 1, "has no text"),
    ("plan.json", '{"phase": []}', 1, "unknown key 'phase'; expected phases"),
    ("plan.yaml", "phases: [\n", 2, "not valid YAML"),
    ("plan.yaml", "a: 1\na: 2\n", 2, "unknown key 'a'"),
    ("plan.yaml", "phases: []\nphases: []\n", 2, "the key 'phases' is given twice"),
    ("plan.yaml", "phases:\n- name: &a x\n  steps: [y]\n", 2, "there is an anchor &a"),
    ("plan.yaml", "phases:\n- name: x\n  steps: [*a]\n", 3, "there is an alias *a"),
    ("plan.yaml", "phases:\n- name: !!python/name:os.system x\n  steps: [y]\n", 2, "a tag"),
    ("plan.yaml", "phases:\n- name: x\n  steps: [y]\n---\nb: 1\n", 4, "a second document"),
    ("plan.yaml", "phases:\n- name:\n  steps: [y]\n", 2, "the value is empty"),
    ("plan.yaml", "phases:\n- {? [a] : b}\n", 2, "the key is a list"),
    ("plan.yaml", "- a\n", 1, "the plan is a list"),
    ("plan.yaml", "[" * 1000, 1, "nested too deeply"),
    ("plan.yaml", "\t- a\n", 1, "not valid YAML"),
    ("plan.yaml", "# only a comment\n", 1, "the plan is empty"),
]


@pytest.mark.parametrize(("name", "text", "line", "said"), WRONG_VALUES)
def test_p1_each_mistake_in_json_and_yaml_is_named_with_its_line(name, text, line, said):
    assert any(at == line and said in told for at, told in problems(text, name)), problems(
        text, name
    )


def test_p1_yaml_values_are_text_whatever_they_look_like():
    (_, _, plan), found = seen(
        "plan.yml",
        "phases:\n- name: 2026-01-01\n  steps:\n  - {id: 1, text: on, check: true}\n",
    )

    assert (plan, found) == ([("2026-01-01", "", [("1", "on", (), "true", False)])], [])


@pytest.mark.parametrize("name", ["plan.md", "plan.json", "plan.yaml"])
def test_p1_the_longest_plan_is_read(name):
    count = MOST_STEPS // 100
    phases = [{"name": f"P{n}", "steps": [f"Do {k}" for k in range(100)]} for n in range(count)]
    text = "".join(
        f"# {phase['name']}\n" + "".join(f"- {step}\n" for step in phase["steps"])
        for phase in phases
    )
    found = read_plan(
        name, (text if name == "plan.md" else json.dumps({"phases": phases})).encode()
    )

    assert (len(list(found.plan.steps())), found.problems) == (MOST_STEPS, ())
    assert f"has {MOST_STEPS + 1:,} steps" in problems(text + "- one more\n")[0][1]


@given(st.sampled_from(["plan.md", "plan.json", "plan.yaml"]), st.binary(max_size=200))
def test_p1_any_file_is_a_plan_or_has_problems(name, data):
    found = read_plan(name, data)

    assert found.problems or any(found.plan.steps())


PIECES = ["# A", "## B", "- one", "  - [ ] c", "  - d", "check: x", "  check: y", "```", "  ```check",
          "- [x] done", "1. two", "---", "===", "", "text", "\t- tab", "<!--", "-->", "    - deep"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_p1_any_lines_of_markdown_are_a_plan_or_have_problems(lines):
    found = read_plan("plan.md", "\n".join(lines).encode())

    assert found.problems or all(phase.steps for phase in found.plan.phases)
    assert all(problem.line >= 1 for problem in found.problems)

"""P13, P15: plans written as Markdown, and finished steps ticked in a file."""

from hypothesis import given
from hypothesis import strategies as st

from allstop.plans.markdown_plan import read
from allstop.plans.plan import Phase, Plan, Step, with_ids
from allstop.plans.plan_file import read_plan
from allstop.plans.plan_text import ticked, written

FULL = """\
# Move the parser

Keep the names.

```py
- no step
```

## Preparation

What must be known.

- P1: Write tests
  for what it does
  - [ ] bad input is covered,
    and empty input
  - check: pytest -q
- Count them
  - by hand

  ```check
  make count
  make lint
  ```
- [x] Sort them

## Move

- Create the package
"""
LINES = st.sampled_from([
    "one", "two words", "- item", "1. item", "# heading", "## heading", "```", "~~~check", "check: no",
    "<!-- note", "---", "===", "* * *", "[ ] box", "- [x] box", "- check: true", "P1: named", "  indented", "",
])  # fmt: skip
TEXTS = st.lists(LINES, max_size=4).map("\n".join).map(str.strip)
NAMED = TEXTS.filter(bool)
STEPS = st.builds(
    Step,
    id=st.just(""),
    text=NAMED,
    criteria=st.lists(
        st.sampled_from(["it holds", "and\nthis", "a\ncheck: b", "a\n- [ ] b\n# c"]), max_size=2
    ).map(tuple),
    check=st.sampled_from(["", "true", "make test", "`odd`", "set -e\na\nb"]),
)
PHASES = st.builds(
    Phase, name=st.sampled_from(["A", "B c"]), text=TEXTS, steps=st.lists(STEPS, min_size=1, max_size=3).map(tuple)
)  # fmt: skip
PLANS = st.builds(
    lambda title, text, phases: Plan(title=title, text=text, phases=with_ids(phases)),
    st.just("Title"),
    TEXTS,
    st.lists(PHASES, min_size=1, max_size=3),
)


def meaning(plan):
    """A plan without the lines of its file."""
    return plan.title, plan.text, [
        (phase.name, phase.text, [(s.id, s.text, s.criteria, s.check, s.done) for s in phase.steps])
        for phase in plan.phases
    ]  # fmt: skip


def test_p13_a_plan_that_was_read_is_written_with_the_same_meaning():
    plan = read(FULL).plan

    assert meaning(read(written(plan)).plan) == meaning(plan)
    assert "- [x] P1: Write tests" in written(plan, {"P1"})
    assert written(plan, {"P1"}).count("[x]") == 2


@given(PLANS)
def test_p15_any_text_of_a_plan_is_written_so_that_it_stays_text(plan):
    again = read_plan("plan.md", written(plan).encode())

    assert again.problems == ()
    assert shape(again.plan) == shape(plan)


def shape(plan):
    return [[(s.id, len(s.criteria), bool(s.check)) for s in p.steps] for p in plan.phases]


def test_p13_finished_steps_are_ticked_and_the_rest_of_the_file_stays():
    text, count = ticked(FULL, ["Write tests\nfor what it does", "Create the package", "unknown"])

    assert count == 2
    assert text == FULL.replace("- P1:", "- [x] P1:").replace("- Create", "- [x] Create")
    assert ticked(text, ["Create the package"]) == (text, 0)


def test_p13_line_ends_and_a_byte_order_mark_stay():
    text, count = ticked("\ufeff# A\r\n\r\n- one\r\n  more\r\n- two\r\n", ["one\nmore"])

    assert (text, count) == ("\ufeff# A\r\n\r\n- [x] one\r\n  more\r\n- two\r\n", 1)


def test_p13_a_step_that_stands_twice_is_ticked_once_for_each_time_it_is_done():
    text, count = ticked("# A\n\n1. [ ] same\n2. same\n3. same\n", ["same", "same"])

    assert (text, count) == ("# A\n\n1. [x] same\n2. [x] same\n3. same\n", 2)

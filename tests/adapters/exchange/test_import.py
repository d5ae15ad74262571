"""B4: importing one realistic file of each format."""

from pathlib import Path

from allstop.adapters.exchange import read_tasks
from allstop.core.tasks import NewTask

SAMPLES = Path(__file__).parent / "samples"


def test_b4_a_markdown_checklist():
    tasks = read_tasks(SAMPLES / "plan.md")

    all_of_them = "Part of “Passwords”:\n\nAll of them."
    assert tasks == [
        NewTask(id="T1", title="Make the table", operation="Shop", source="markdown:T1", done=True),
        NewTask(
            id="T2",
            title="Add a login page",
            body="What is indented below an item is its text.\n\n```\n- [ ] no item\n```",
            operation="Shop",
            needs=("T1",),
            tags=("web",),
            priority=3,
            source="markdown:T2",
        ),
        NewTask(
            id="T-3",
            title="Hash passwords",
            operation="Shop",
            needs=("T2", "T004"),
            tags=("backend",),
            agent="codex",
            minutes=20,
            source="markdown:T-3",
        ),
        NewTask(
            id="write-the-guide-4a5941",
            title="Write the guide",
            operation="Shop",
            source="markdown:4a5941c52e78c5a8",
        ),
        NewTask(
            id="buy-a-gift-for-issue-12",
            title="Buy a gift for issue #12",
            operation="Shop",
            tags=("cancelled",),
            source="markdown:9f36fce89b59b3aa",
            done=True,
        ),
        NewTask(
            id="T004",
            title="Sort the list in src/list.py",
            operation="Shop",
            tags=("P", "US1"),
            source="markdown:T004",
        ),
        NewTask(
            id="reset-them",
            title="Reset them",
            body=all_of_them,
            operation="Passwords",
            needs=("T1",),
            tags=("security",),
            priority=2,
            source="markdown:75b84979772af1b0",
        ),
        NewTask(
            id="show-them",
            title="Show them",
            body=all_of_them,
            operation="Passwords",
            needs=("T1",),
            tags=("security",),
            priority=5,
            source="markdown:4e91d3b2bb78b618",
        ),
        NewTask(
            id="ship",
            title="Ship it",
            operation="Accounts",
            needs=("reset-them", "show-them"),
            source="markdown:ship",
        ),
        NewTask(
            id="write-the-guide-76a9a9",
            title="Write the guide",
            source="markdown:76a9a9f48e6f9837",
        ),
    ]


def test_b4_a_prd_of_ralph():
    tasks = read_tasks(SAMPLES / "prd.json")

    assert tasks == [
        NewTask(
            id="US-001",
            title="Add a status column",
            body="As a developer, I store the status.\n\n"
            "Acceptance criteria:\n- The column exists\n- Typecheck passes\n\n"
            "Part of “MyApp”:\n\nTasks have a status.",
            operation="MyApp",
            source="prd:ralph/task-status:US-001",
            done=True,
        ),
        NewTask(
            id="US-002",
            title="Show the status",
            body="As a user, I see the status.\n\n"
            "Acceptance criteria:\n- A badge is shown\n\n"
            "Notes:\nUse the old badge.\n\n"
            "Part of “MyApp”:\n\nTasks have a status.",
            operation="MyApp",
            needs=("US-001",),
            tags=("ui",),
            priority=-1,
            source="prd:ralph/task-status:US-002",
        ),
    ]


def test_b4_a_list_of_features_has_its_descriptions_as_titles():
    tasks = read_tasks(SAMPLES / "features.json")

    assert tasks == [
        NewTask(
            id="a-new-chat-can-be-opened-402e8c",
            title="A new chat can be opened",
            body="Steps:\n- Open the page\n- Click on New",
            tags=("functional",),
            source="prd:402e8cb03eb28745",
        ),
        NewTask(
            id="the-page-is-blue-a31232",
            title="The page is blue",
            tags=("style",),
            source="prd:a31232d93679c444",
            done=True,
        ),
    ]


def test_b4_beads_with_an_epic_a_deleted_issue_and_things_that_are_no_work():
    tasks = read_tasks(SAMPLES / "issues.jsonl")

    assert tasks == [
        NewTask(
            id="bd-a1.1",
            title="Log in",
            body="With a name.\n\nDesign:\nA form.\n\nAcceptance criteria:\nIt works.\n\n"
            "Notes:\nSoon.\n\nPart of “Accounts”:\n\nPeople can log in.",
            operation="Accounts",
            needs=("bd-b2",),
            tags=("ui", "feature"),
            priority=2,
            source="beads:bd-a1.1",
        ),
        NewTask(
            id="bd-a1.2",
            title="Log out",
            body="Part of “Accounts”:\n\nPeople can log in.",
            operation="Accounts",
            source="beads:bd-a1.2",
            done=True,
        ),
        NewTask(id="bd-b2", title="Make the table", priority=-2, source="beads:bd-b2"),
        NewTask(
            id="bd-c3",
            title="Release",
            needs=("bd-a1.1", "bd-a1.2"),
            tags=("chore", "deferred"),
            source="beads:bd-c3",
        ),
    ]


def test_b4_what_bd_list_prints(tmp_path):
    file = tmp_path / "list.json"
    file.write_text(
        '[{"id": "a", "title": "A", "issue_type": "task", "priority": 2, "parent": "e",'
        ' "dependencies": [{"id": "b", "title": "B", "dependency_type": "blocks"}]}]'
    )

    tasks = read_tasks(file)

    assert tasks == [
        NewTask(id="a", title="A", operation="e", needs=("b",), source="beads:a"),
    ]


def test_b4_task_master_by_tag_with_subtasks():
    tasks = read_tasks(SAMPLES / "tasks.json")

    assert tasks == [
        NewTask(
            id="1",
            title="Make the table",
            body="In SQLite.\n\nDetails:\nTwo columns.\n\nTest strategy:\nInsert a row.",
            priority=1,
            source="taskmaster:master:1",
            done=True,
        ),
        NewTask(
            id="3.1",
            title="Log in",
            body="A form.\n\nPart of “Accounts”:\n\nPeople can log in.",
            operation="Accounts",
            needs=("1",),
            priority=1,
            source="taskmaster:master:3.1",
            done=True,
        ),
        NewTask(
            id="3.2",
            title="Log out",
            body="Part of “Accounts”:\n\nPeople can log in.",
            operation="Accounts",
            needs=("3.1", "1"),
            priority=1,
            source="taskmaster:master:3.2",
        ),
        NewTask(
            id="4",
            title="Release",
            needs=("3.1", "3.2"),
            tags=("deferred",),
            priority=-1,
            source="taskmaster:master:4",
        ),
        NewTask(
            id="feature-x-1",
            title="Try it",
            operation="feature-x",
            tags=("cancelled",),
            source="taskmaster:feature-x:1",
            done=True,
        ),
        NewTask(
            id="feature-x-2",
            title="Try again",
            operation="feature-x",
            needs=("feature-x-1",),
            source="taskmaster:feature-x:2",
        ),
    ]


def test_b4_task_master_flat_has_the_keys_of_the_tag_master(tmp_path):
    file = tmp_path / "tasks.json"
    file.write_text('{"tasks": [{"id": 7, "title": "A", "status": "pending"}]}')

    tasks = read_tasks(file)

    assert tasks == [NewTask(id="7", title="A", source="taskmaster:master:7")]


def test_b4_github_issues():
    tasks = read_tasks(SAMPLES / "issues.json")

    assert tasks == [
        NewTask(
            id="gh-12",
            title="Login fails",
            body="Steps:\n- [ ] open it",
            operation="v1.0",
            needs=("gh-14",),
            tags=("bug", "priority: high"),
            priority=1,
            source="github:acme/shop#12",
        ),
        NewTask(
            id="gh-13",
            title="Rewrite it",
            tags=("cancelled",),
            source="github:acme/shop#13",
            done=True,
        ),
        NewTask(
            id="gh-14",
            title="Make the table",
            tags=("P0",),
            priority=2,
            source="github:acme/shop#14",
            done=True,
        ),
    ]


def test_b4_github_rest_leaves_pull_requests_out_and_makes_parents_operations(tmp_path):
    file = tmp_path / "api.json"
    file.write_text(
        '[{"number": 1, "title": "A", "state": "open", "labels": ["x"], "parent":'
        ' {"number": 9, "title": "Big"}},'
        ' {"number": 2, "title": "PR", "state": "open", "pull_request": {"url": "u"}}]'
    )

    tasks = read_tasks(file)

    assert tasks == [
        NewTask(id="gh-1", title="A", operation="Big", tags=("x",), source="github:#1")
    ]


def test_b4_own_export():
    tasks = read_tasks(SAMPLES / "board.json")

    assert tasks == [
        NewTask(id="login", title="Add a login page", source="allstop:login", done=True),
        NewTask(
            id="logout",
            title="Add a way out",
            body="A button.",
            operation="Accounts",
            needs=("login",),
            tags=("quick-win", "two words"),
            priority=-3,
            agent="codex",
            iterations=7,
            minutes=12.5,
            source="github:acme/shop#12",
        ),
    ]


def test_b4_a_checklist_and_a_prd_say_which_tests_may_change(tmp_path):
    checklist = tmp_path / "tasks.md"
    checklist.write_text("- [ ] Round up (may change: tests/test_a.py, behaviour of total) #web\n")
    stories = tmp_path / "prd.json"
    stories.write_text(
        '{"userStories": [{"id": "1", "title": "Round up", "mayChange": ["tests/test_a.py"]}]}'
    )

    (marked,), (story,) = read_tasks(checklist), read_tasks(stories)
    assert marked.may_change == ("tests/test_a.py", "behaviour of total")
    assert (marked.title, marked.tags) == ("Round up", ("web",))
    assert story.may_change == ("tests/test_a.py",)

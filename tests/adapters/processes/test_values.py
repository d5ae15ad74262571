"""The pure parts: order of mounts, labels, hints, the bubblewrap command."""

import os

import msgspec
import pytest

from adapters.processes.launch_fixture import BoxFolders
from allstop.adapters.processes import proc
from allstop.adapters.processes.child_inputs import ArgumentsInput
from allstop.adapters.processes.frozen_labels import (
    LabelOrder,
    Order,
    covers,
    is_frozen,
    with_order,
)
from allstop.adapters.processes.proc import stat_of
from allstop.adapters.processes.sandbox.box_paths import on_host
from allstop.adapters.processes.sandbox.bubblewrap import command, make_template
from allstop.adapters.processes.sandbox.host_tools import Tools
from allstop.adapters.processes.sandbox.launch_plan import plan_launch
from allstop.adapters.processes.sandbox.mounts import (
    Link,
    Readable,
    ReadableFile,
    Writable,
    arrange,
    is_within,
)
from allstop.adapters.processes.sandbox.setup_hints import (
    APPARMOR,
    CONTAINER,
    INSTALL,
    missing_tool,
    why_refused,
)
from allstop.ports import Box


def test_outer_places_come_before_inner_ones():
    inner, outer = Readable("/a/b", "/a/b"), Writable("/w", "/a")

    assert arrange([inner, outer]) == (outer, inner)


def test_what_is_seen_anyway_is_not_mounted_again():
    whole = Readable("/a", "/a")

    assert arrange([ReadableFile("/a/b", "/a/b"), Link("x", "/a/c"), whole, whole]) == (whole,)


def test_a_workspace_comes_first_at_its_own_place():
    workspace = Writable("/w", "/a")

    assert arrange([Readable("/a", "/a"), workspace]) == (workspace,)


def test_a_workspace_goes_into_what_can_only_be_read():
    outer, workspace = Readable("/a", "/a"), Writable("/w", "/a/b")

    assert arrange([workspace, outer]) == (outer, workspace)


def test_no_link_is_made_in_a_workspace():
    workspace = Writable("/w", "/a")

    assert arrange([workspace, Link("x", "/a/b")]) == (workspace,)


def test_a_link_gives_way_to_the_folder_that_must_be_there():
    mount = Readable("/a/b/c", "/a/b/c")

    assert arrange([Link("x", "/a/b"), mount]) == (mount,)


@pytest.mark.parametrize(
    ("path", "folder", "within"),
    [("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/a", "/", True)],
)
def test_a_place_is_within_another_by_whole_names(path, folder, within):
    assert is_within(path, folder) is within


@pytest.mark.parametrize(
    ("label", "other", "covered"),
    [
        ("", "a", True),
        ("a", "a", True),
        ("a", "a/b", True),
        ("a", "ab", False),
        ("a/b", "a", False),
    ],
)
def test_a_label_covers_itself_and_what_is_below(label, other, covered):
    assert covers(label, other) is covered


def words(*said):
    result = ()
    for label, say in said:
        result = with_order(result, LabelOrder(label, say))
    return result


def test_the_last_word_that_covers_a_label_counts():
    said = words(("", Order.FREEZE), ("a", Order.THAW), ("a/b", Order.FREEZE))

    assert [is_frozen(said, label) for label in ("c", "a", "a/b", "a/b/c")] == [
        True,
        False,
        True,
        True,
    ]


def test_words_do_not_pile_up():
    said = [("a", Order.FREEZE), ("a", Order.THAW)] * 10

    assert words(*said) == ()
    assert words(("a", Order.FREEZE), ("b", Order.FREEZE), ("", Order.FREEZE)) == (
        LabelOrder("", Order.FREEZE),
    )


@pytest.mark.parametrize(
    ("tools", "hint"),
    [
        (Tools(bwrap="", setpriv="s"), INSTALL),
        (Tools(bwrap="b", setpriv=""), "apt install util-linux (setpriv)"),
        (Tools(bwrap="b", setpriv="s"), ""),
    ],
)
def test_what_is_not_installed_is_named(tools, hint):
    assert missing_tool(tools) == hint


@pytest.mark.parametrize(
    ("switches", "hint"),
    [
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, APPARMOR),
        (
            {"kernel/unprivileged_userns_clone": "0"},
            "run 'sysctl -w kernel.unprivileged_userns_clone=1'",
        ),
        ({"user/max_user_namespaces": "0"}, "run 'sysctl -w user.max_user_namespaces=15000'"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "0"}, CONTAINER),
    ],
)
def test_the_switch_that_forbids_a_box_is_named(switches, hint):
    assert why_refused(lambda name: switches.get(name, "")) == hint


def test_the_innermost_mount_says_where_a_place_is_on_the_host():
    box = Box(
        home="/h", workspace="/w", at="/projects/one", read=("/projects", "/projects/one/.venv")
    )
    places = {
        "/projects/two/x": "/projects/two/x",
        "/projects/one/x": "/w/x",
        "/projects/one/.venv/bin/x": "/projects/one/.venv/bin/x",
        "/home/agent/x": "/h/x",
        "/usr/bin/x": "/usr/bin/x",
        "/projects//one/./x": "/w/x",
        "/projects/one": "/w",
        "/projects/one/": "/w",
        "/": "/",
    }

    assert {box_folders: on_host(box_folders, box) for box_folders in places} == places


def options(words):
    """The options of each bwrap of a command, the outer one first."""
    inputs = [word.words for word in words if isinstance(word, ArgumentsInput)]
    return [tuple(part for word in feed for part in str(word).split("\0")) for feed in inputs]


@pytest.fixture
def made(host, tmp_path):
    """The command for root and for a user."""
    box_folders = BoxFolders.make(tmp_path)
    launch = box_folders.launch("true", "argument")

    def make(uid):
        other = msgspec.structs.replace(host, uid=uid, gid=uid)
        return command(plan_launch(launch, other), launch.box, make_template(other, "tag"))

    return make


def test_a_user_s_box_is_one_bwrap(made):
    (inner,) = options(made(1000))

    assert {"--unshare-all", "--die-with-parent", "--new-session", "--clearenv"} <= set(inner)
    assert inner[inner.index("--cap-drop") + 1] == "ALL"


def test_for_root_the_outer_box_holds_the_processes_and_the_inner_one_all_else(made):
    words = made(0)
    outer, inner = options(words)

    assert {"--unshare-pid", "--die-with-parent", "--info-fd"} <= set(outer)
    assert inner[:3] == ("--dev-bind", "/", "/")
    assert "--dev" in outer
    assert "--dev" not in inner
    assert {"--unshare-all", "--die-with-parent", "--new-session", "--clearenv"} <= set(inner)
    assert "--reuid=64321" in words


def test_the_program_and_its_arguments_come_last(made):
    assert made(1000)[-2:] == ("/usr/bin/true", "argument")


def test_what_is_waited_for_while_it_is_looked_at_is_gone(monkeypatch):
    """K22: the kernel then names no parent, and that is not the one of a program of nobody's."""
    own = proc._read(f"/proc/{os.getpid()}/stat")
    before, _, rest = own.rpartition(b") ")
    fields = rest.split()
    assert stat_of(os.getpid()).parent == os.getppid()

    monkeypatch.setattr(
        proc, "_read", lambda _: b") ".join([before, b" ".join([b"X", b"0", b"-1", *fields[3:]])])
    )

    assert stat_of(os.getpid()) is None

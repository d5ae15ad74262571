"""U2: in a shortened patch, a long file doesn't crowd out the others."""

from allstop.adapters.git.repository.diff import shorten_patch


def patch_of(name, lines):
    head = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1,{lines} @@\n"
    return (head + "".join(f"+line {number}\n" for number in range(lines))).encode()


def test_what_is_short_enough_is_shown_as_it_is():
    patch = patch_of("a", 3) + patch_of("b", 3)

    assert shorten_patch(patch, len(patch)) == patch


def test_the_longest_are_cut_at_the_end_of_a_line_and_the_others_are_whole():
    short = [patch_of(name, 3) for name in ("a", "m", "z")]
    patch = short[0] + patch_of("long", 5000) + short[1] + patch_of("longer", 9000) + short[2]

    printable = shorten_patch(patch, 10_000)

    assert len(printable) <= 10_000
    for each in short:
        assert each.strip() in printable
    for name in (b"long", b"longer"):
        part = printable.split(b"diff --git a/" + name + b" ")[1].split(b"\ndiff --git ")[0]
        assert part in patch
        assert len(part) > 4_000
        assert part.rsplit(b"\n", 1)[1].startswith(b"+line ")


def test_where_there_is_no_room_for_all_nothing_is_shown_by_half_a_name():
    patch = b"".join(patch_of(f"a-rather-long-name-{number}", 3) for number in range(1000))

    printable = shorten_patch(patch, 3_000)

    assert len(printable) <= 3_000
    for line in printable.splitlines():
        assert line in patch.splitlines()

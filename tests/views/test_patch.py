"""Git patches: files, numbered lines, and pairs of lines side by side."""

from allstop.views.patch import LineKind, patch_files, side_by_side

PATCH = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -10,4 +10,4 @@ def wait():
     one()
-    two()
-    three()
+    2()
     four()
--- a line that looks like a header
+++ another
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
diff --git a/was.md b/is now.md
similarity index 100%
rename from was.md
rename to is now.md
"""


def test_a_patch_is_read_into_files_with_numbered_lines():
    first, gone, renamed = patch_files(PATCH)

    assert [file.path for file in (first, gone, renamed)] == ["src/a.py", "gone.txt", "is now.md"]
    assert [(line.kind, line.before, line.after) for line in first.lines] == [
        (LineKind.HUNK, 0, 0),
        (LineKind.SAME, 10, 10),
        (LineKind.REMOVED, 11, 0),
        (LineKind.REMOVED, 12, 0),
        (LineKind.ADDED, 0, 11),
        (LineKind.SAME, 13, 12),
        (LineKind.REMOVED, 14, 0),
        (LineKind.ADDED, 0, 13),
    ]
    assert first.lines[0].text == "def wait():"
    assert renamed.lines == ()
    assert "\n".join(file.text for file in (first, gone, renamed)) == PATCH.rstrip("\n")
    assert patch_files("") == []


def test_s4_removed_lines_stand_on_the_left_of_those_that_replace_them():
    first, *_ = patch_files(PATCH)

    pairs = [
        (left.text.strip() if left else None, right.text.strip() if right else None)
        for left, right in side_by_side(first.lines)
    ]
    assert pairs == [
        ("def wait():", "def wait():"),
        ("one()", "one()"),
        ("two()", "2()"),
        ("three()", None),
        ("four()", "four()"),
        ("-- a line that looks like a header", "++ another"),
    ]

"""K18: which programs of awk only print."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.allowing.awk import beyond_printing


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "NR>=10 && NR<=20",
        "{s+=$1} END {print s/NR}",
        "{count[$1]++} END {for (k in count) print k, count[k]}",
        "!seen[$0]++",
        '/a|b/ && !/c>d/ {print FILENAME":"FNR}',
        "length($0) > 100",
        '{ if ($3 > 5) print $1; else printf "%s|%d\\n", $2, ($3 > 4) }',
        '{gsub(/"/, ""); print toupper(substr($0, 1, 3))}',
        'BEGIN {FS=","} NF==3',
        "/start/,/end/",
    ],
)
def test_k18_a_program_that_prints_is_known(program):
    assert beyond_printing(program) == ""


@pytest.mark.parametrize(
    "program",
    [
        "",
        'BEGIN{system("id")}',
        'BEGIN{system ("id")}',
        '{print > "x"}',
        '{print $1 >> "x"}',
        '{print (1)(2) > "x"}',
        '{printf("%s", $1) > "x"}',
        '{print | "sh"}',
        '{"id" | getline x}',
        'BEGIN{while((getline l < "/etc/passwd")>0)print l}',
        'BEGIN{print ENVIRON["HOME"]}',
        'BEGIN{ARGV[1]="/etc/passwd";ARGC=2}{print}',
        '@load "x"',
        'BEGIN{f="system";@f("id")}',
        "function f(x){return x}{print f(1)}",
        'BEGIN{if (1) /"/; system("id"); "/"}',
        'BEGIN{x++ /"/; system("id"); "/"}',
        "{print} # system",
        'BEGIN{a="\\\n";print}',
        "/[/]/",
        "{print $1} \\",
        "{print}" * 100,
    ],
)
def test_k18_a_program_with_a_door_to_the_outside_is_not(program):
    assert beyond_printing(program)


@given(st.text(alphabet='{}()[]$/"|><=+-~!&,; \nab1\\', max_size=60))
def test_k18_any_program_of_awk_gets_an_answer(program):
    assert isinstance(beyond_printing(program), str)

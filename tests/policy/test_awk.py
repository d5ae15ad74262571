"""K18, Q22: which awk programs only print."""

import pytest

from allstop.policy.awk import assigns, only_prints
from support.cases import for_each


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "NR==FNR {a[$1]; next} $1 in a",
        "{s+=$1} END {print s/NR}",
        "/start/{f=1} f{print} /end/{f=0}",
        "{ if (length($0) > max) max = length($0) } END { print max }",
        "NR==1 {for (i=1; i<=NF; i++) print i, $i}",
        '{n=split($0, p, "/"); print p[n]}',
        '$3 > 100 && $2 ~ /^[[:alpha:]_-]+$/ {printf("%s\\n", $1)}',
        "{ print ($1 > $2) ? $1 : $2 }",
        "{ print $1 }\nEND { print NR }",
    ],
)
def test_k18_a_program_that_only_prints_is_known(program):
    assert only_prints(program)


@for_each(
    "program",
    [
        "",
        '{print > "x"}',
        '{print $1 >> "x"}',
        '{if ($1 > 2) print > "x"}',
        '{print (1)(2) > "x"}',
        '{print a[1 > "x"]}',
        'print > "x"',
        '{print | "sh"}',
        'BEGIN {"id" | getline x; print x}',
        'BEGIN {system("id")}',
        'BEGIN {awk::system("id")}',
        '{extension ("./x.so", "f")}',
        '{f = "system"; @f("id")}',
        'BEGIN {ARGV[1] = ".env"; ARGC = 2} {print}',
        "{print ENVIRON[$1]}",
        '{print SYMTAB["x"]}',
        "function f(x) {return x} {print f($1)}",
        "{print} # {",
        "{print $1",
        "{print $1)}",
        "{while (1) {}}",
    ],
)
def test_k18_one_that_writes_runs_or_is_not_known_is_not(program):
    assert not only_prints(program)


@pytest.mark.parametrize(
    "program",
    [
        '/[\\]/{print "]/ {system($0)} #"}',
        '/[]/{print "]/ {system($0)} #"}',
        '/[^]/{print "]/ {system($0)} #"}',
        '/[[:alpha:]/{print "]/ {system($0)} #"}',
        '/[\\[:x:]/{print "]/ {system($0)} #"}',
        '{if (x) /"/; print "/ system($0)"}',
        '{x++ /"/; print "/ system($0)"}',
        '/a/ /"/ {print "/ system($0)"}',
        '{length /"/; print "/ system($0)"}',
    ],
)
def test_k18_q22_what_awks_read_differently_is_not_known(program):
    assert not only_prints(program)


@pytest.mark.parametrize(
    ("value", "own"),
    [
        ("n=10", True),
        ("name=a b", True),
        ("OFS=,", True),
        ("ARGC=2", False),
        ("ENVIRON=x", False),
        ("system=1", False),
        ("n", False),
        ("=x", False),
    ],
)
def test_k18_only_variables_of_its_own_are_set_from_outside(value, own):
    assert assigns(value) is own

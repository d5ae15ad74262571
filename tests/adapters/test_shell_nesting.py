"""K18, Q22: nested commands are asked about; searches show no secrets; nothing unsafe is hidden."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.shell import check, parse
from allstop.adapters.shell.file_matches import file_matches
from allstop.adapters.shell.outward_links import links_out
from allstop.core.asks import Decision, Rule
from allstop.policy.policy import Policy
from support.cases import for_each

POLICY = Policy(workspace="/home/ann/project")
CORPUS = Path(__file__).parent.parent / "corpus" / "unsafe.jsonl"
UNSAFE = [
    command
    for line in CORPUS.read_text().splitlines()
    if (command := json.loads(line)["command"]).strip()
]
WRAPPINGS = [
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "if {}; then ls; fi",
    "if ls; then pwd; else {}; fi",
    "for f in a; do {}; done",
    "for f in a b; do if [ -f $f ]; then {}; fi; done",
    "cat <({})",
    "cat < <({})",
    "! {}",
    "ls # x\n{}",
    "{} # x",
    "time {}",
    "timeout 5 {}",
    "LC_ALL=C {}",
    "ls | {}",
    "{{ ls; ({}); }} | head",
]


def said(text, policy=POLICY):
    return check(policy, text).decision


@for_each(
    "text",
    [
        "(ls)",
        "{ ls; }",
        "! ls",
        "ls # all of it",
        "if [ -f a ]; then ls; fi",
        "case a in a) ls;; esac",
        "for f in a b; do ls; done",
        "for ((i = 0; i < 3; i++)); do ls; done",
        "while ls; do pwd; done",
        "until ls; do pwd; done",
        "select f in a b; do ls; done",
        "f() { ls; }; f",
        "((1))",
        "[[ -f a ]]",
        "ls &",
        "LC_ALL=C ls",
        "GIT_PAGER=cat git log",
        "x=1",
        "cat <(ls)",
        "cat < <(ls)",
        "ls > >(cat)",
        "[ -f <(ls) ]",
        "bash -n a.sh",
        "time ls",
        "timeout 5 ls",
        "env ls",
        "find . -exec wc -l {} +",
        "find . -exec wc -l {} \\;",
        "find . -execdir ls {} +",
        "find . -ok ls {} \\;",
        "find . -delete",
        "find . -fprint a",
        "find . -print0 | xargs -0 wc -l",
        "xargs ls",
        "ls *.md",
        "ls -d */",
        "[ -f * ]",
        "cat < *.md",
        "jq . -- --arg a .env",
        "jq --indent --arg . .env 2",
        "python manage --help",
        "cargo xtask --help",
        "npm run",
        "cat /etc/os-release",
    ],
)
def test_k18_what_expands_nests_or_starts_another_program_is_asked_about(text):
    assert said(text) is Decision.ASK


@pytest.mark.parametrize(
    "text", ["find . -name '*.py'", "rg -g '*.ts' foo", "grep -r foo --include='*.py' src"]
)
def test_k18_a_pattern_in_quotes_is_a_word(text):
    assert said(text) is Decision.ALLOW


def test_k18_a_rule_about_a_shell_is_not_got_around_by_its_script():
    denies = Rule(prefix=("bash",), decision=Decision.DENY)
    policy = Policy(workspace="/home/ann/project", rules=(denies,))

    assert said("bash -c ls", policy) is Decision.DENY
    assert said("bash -lc 'ls | head'", policy) is Decision.DENY


@for_each(
    ("text", "decision"),
    [
        ("bash -lc 'cd src && cat ../a.py'", Decision.ALLOW),
        ("cd src && bash -c 'cat ../a.py'", Decision.ALLOW),
        ("bash -c 'cd src' && cat ../a.py", Decision.ASK),
        ("bash -c 'cd src && ls' && cat ../a.py", Decision.ASK),
        ("bash -c 'cat ../a.py'", Decision.ASK),
        ('bash -c "cat $HOME/a"', Decision.ASK),
        ("bash -c 'cat $HOME/a'", Decision.ASK),
        ("bash -c \"cat '.env'\"", Decision.ASK),
        ("bash -c 'ls' x y", Decision.ASK),
        ("bash -c 'ls' < a.sh", Decision.ALLOW),
        ("bash -c", Decision.ASK),
        ("bash -c ''", Decision.ASK),
        ("bash -ic ls", Decision.ASK),
        ("bash -xc ls", Decision.ASK),
        ("bash -c -l ls", Decision.ASK),
        ("bash -lc ls a.sh", Decision.ASK),
        ("bash -c bash", Decision.ASK),
        ("echo id | bash -c bash", Decision.ASK),
        ("echo id | bash -c 'bash -s'", Decision.ASK),
        ("curl http://e | bash -c cat", Decision.DENY),
        ("./bash -c ls", Decision.ASK),
        ("src/bin/bash -c ls", Decision.ASK),
        ("fish -c ls", Decision.ASK),
        ("env bash -c ls", Decision.ASK),
        ("X=1 bash -c ls", Decision.ASK),
        ("bash -c 'sudo ls'", Decision.DENY),
        ("bash -c 'ls; rm -rf /'", Decision.DENY),
        ("bash -c 'ls > ../x'", Decision.DENY),
        ("bash -c 'ls > x'", Decision.ASK),
        ("bash -c 'ls' > x", Decision.ASK),
        ("bash -c 'ls &'", Decision.ASK),
        ("bash -c 'f() { ls; }; f'", Decision.ASK),
    ],
)
def test_x13_k18_the_script_of_a_shell_is_judged_like_a_line(text, decision):
    assert said(text) is decision


def test_x13_k18_shells_within_shells_are_followed_three_deep():
    line = "ls"
    for _ in range(3):
        line = f"bash -c {shlex.quote(line)}"
    assert said(line) is Decision.ALLOW

    assert said(f"bash -c {shlex.quote(line)}") is Decision.ASK


@for_each(
    "text",
    [
        "cat <<'EOF'\n$(id) `id` ${x}\nrm -rf /\nEOF",
        "cat <<'EOF' | head -3\na\nEOF\nls",
        "bash -c \"cat <<'E'\nx\nE\"",
        'cat <<"E" && ls\n$(id)\nE',
    ],
)
def test_x13_k18_a_here_document_in_quotes_is_text(text):
    assert said(text) is Decision.ALLOW


@for_each(
    "text",
    ["echo '<<'E'\nrm x\nE'", "echo \"<<'E'\nrm x\nE\"", "echo a'b <<'E'\nrm x\nE\n'"],
)
def test_x13_k18_what_looks_like_a_here_document_can_be_a_word(text):
    (command,) = parse(text).commands

    assert command.words == tuple(shlex.split(text))


@for_each(
    "text",
    [
        "cat <<EOF\nhi\nEOF",
        "cat <<-'EOF'\nhi\nEOF",
        "cat <<'EOF'\nhi",
        "cat <<'EOF'\nhi\nEOF2",
        "cat <<'EOF'\nhi\nEOF\nid -x; rm x",
        "cat <<'EOF'\nhi\nEOF \nrm x\nEOF\nrm y",
        "cat <<'A' <<'B'\na\nA\nrm x\nB",
        "cat <<'E' > x\nhi\nE",
        "cat > x <<'E'\nhi\nE",
        "tee x <<'E'\nhi\nE",
        "bash <<'E'\nls\nE",
        "bash -s <<'E'\nls\nE",
        "bash -c bash <<'E'\nls\nE",
        "python3 - <<'E'\nprint(1)\nE",
        "xargs cat <<'E'\n/etc/passwd\nE",
        "git commit -F - <<'E'\nx\nE",
        "cat 3<<'E'\nx\nE",
        "cat 0<<'E'\nx\nE",
        "cat <<'E' \\\nx\nE\nrm x",
        "ls # <<'E'\nrm x\nE",
        "ls \\<<'E'\nrm x\nE",
        "cat <<'E' 'x\nE\nrm x\n'",
        "cat<<<'E'\nrm x\nE",
        "cat <<'E'E\nrm x\nE\nEE",
        "cat <<'E''F'\nx\nE\nrm x\nEF",
        "cat <<'E F'\nx\nE F",
        "$x <<'E'\nx\nE",
        "cat $x <<'E'\nx\nE",
        "(( 1 <<'E'\nrm x\nE",
        "[[ a <<'E'\nrm x\nE",
    ],
)
def test_x13_k18_other_here_documents_are_asked_about(text):
    assert said(text) is not Decision.ALLOW


@given(st.sampled_from(UNSAFE))
def test_x13_q22_nothing_unsafe_is_hidden_by_a_here_document(command):
    assert said(f"cat <<'E'\nx\nE\n{command}") is not Decision.ALLOW
    assert said(f"{command}\ncat <<'E'\nx\nE") is not Decision.ALLOW
    assert said(f"ls '<<'E'\n{command}\nE") is not Decision.ALLOW


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkout")
    files = (
        "a.md b.md src/a.py src/b.py src/deep/c.py one/x.py data/a.json .env.py certs/server.key"
    )
    for name in [
        *files.split(),
        "dashed/-o.md",
        "php/wp-config.php",
        "php/a.php",
        "pkg/p/Cargo.toml",
    ]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "linked").mkdir()
    (root / "linked" / "x.md").symlink_to("/etc/passwd")
    return Policy(
        workspace=str(root), escapes=links_out(str(root)), matches=file_matches(str(root))
    )


@for_each(
    "text",
    [
        "ls *.md",
        "ls -la src/*.py",
        "cat *.md | head",
        "head -5 src/*.py a.md",
        "wc -l src/*.py",
        "wc -l ./*.md src/*/*.py",
        "grep -n foo src/*.py",
        "grep -rn foo --include=*.py src",
        "grep -n version pkg/*/Cargo.toml",
        "ls src/*",
        "ls *.none",
        "bash -lc 'wc -l src/*.py | tail -1'",
        "ls -d */",
        "cat dashed/*.md",
    ],
)
def test_x13_k18_a_pattern_of_harmless_files_is_allowed(checkout, text):
    assert said(text, checkout) is Decision.ALLOW
    assert said(text) is Decision.ASK


@for_each(
    "text",
    [
        "cat linked/*.md",
        "cat php/*.php",
        "cat certs/*",
        "cat *",
        "cat .*",
        "cat .e*",
        "cat data/*.json",
        "cat certs/*.key",
        "wc -l *.md",
        "grep foo *.md",
        "grep src/*.py a.md",
        "uniq one/*.py",
        "sed -n one/*.py a.md",
        "sort src/*.py",
        "find . -name *.md",
        "rm *.md",
        "*.md",
        "src/*.sh",
        "cat ../*.md",
        "cat src/*/../../../x.md",
        "cat /etc/*.py",
        "cat /*/passwd",
        "cat ~/*.md",
        "cat src/**/*.py",
        "cat src/[ab].py",
        "cat src/{a,b}*.py",
        "cat $x*.md",
        "cat 'src/'*.py",
        "cat src/*.py$(id)",
        "cat -*.md",
        "cd src && cat *.py",
        "bash -c 'cd src' ; cd one && bash -c 'cat *.py'",
        "git log src/*.py",
        "echo *.md > x",
        "cat < *.md",
    ],
)
def test_x13_k18_other_patterns_are_asked_about(checkout, text):
    assert said(text, checkout) is not Decision.ALLOW


def test_x13_k18_patterns_match_what_any_shell_would_take(checkout):
    matches = file_matches(checkout.workspace)

    assert matches("*.MD") == ("a.md", "b.md")
    assert matches("*.py") == (".env.py",)
    assert matches("src/?.py") == ("src/a.py", "src/b.py")
    assert matches("dashed/*.md") == ("dashed/-o.md",)
    assert matches("none/*.md") == ("none/*.md",)


def test_x13_k18_a_match_that_looks_like_an_option_is_not_taken(tmp_path):
    (tmp_path / "-la.md").touch()

    assert file_matches(str(tmp_path))("*.md") is None


def test_x13_k18_too_many_matches_are_not_taken(tmp_path):
    for number in range(101):
        (tmp_path / f"{number}.md").touch()

    assert file_matches(str(tmp_path))("*.md") is None


def test_k18_a_rule_that_allows_covers_no_pattern_of_files():
    allows = Rule(prefix=("cargo", "test"), decision=Decision.ALLOW)
    policy = Policy(workspace="/home/ann/project", rules=(allows,))

    assert said("cargo test src/a.rs", policy) is Decision.ALLOW
    assert said("cargo test src/*.rs", policy) is Decision.ASK


@for_each(
    ("program", "decision"),
    [
        ("{print $1}", Decision.ALLOW),
        ("NR>=10 && NR<=20", Decision.ALLOW),
        ("{count[$1]++} END {for (k in count) print k, count[k]}", Decision.ALLOW),
        ("!seen[$0]++", Decision.ALLOW),
        ("{print toupper($1), substr($0, 1, 3)}", Decision.ALLOW),
        ('{gsub(/,/, ""); print $2}', Decision.ALLOW),
        ('BEGIN{system("id")}', Decision.ASK),
        ('BEGIN{system ("id")}', Decision.ASK),
        ('{print > "x"}', Decision.ASK),
        ('{print $1,\n$2 > "x"}', Decision.ASK),
        ('{print $1 >> "x"}', Decision.ASK),
        ('{print (1)(2) > "x"}', Decision.ASK),
        ('{print | "sh"}', Decision.ASK),
        ('{"id" | getline x}', Decision.ASK),
        ('BEGIN{print ENVIRON["HOME"]}', Decision.ASK),
        ('BEGIN{ARGV[1]="a";ARGC=2}{print}', Decision.ASK),
        ('BEGIN{f="system";@f("id")}', Decision.ASK),
        ('BEGIN{if (1) /"/; system("id"); "/"}', Decision.ASK),
        ('{print length/"/; system(id); "/NR}', Decision.ASK),
        ("{print f(1)}", Decision.ASK),
        ("BEGIN{while(1) x++}", Decision.ASK),
    ],
)
def test_k18_only_programs_of_awk_that_print_are_known(program, decision):
    assert said(f"awk '{program}' a.txt") is decision


@for_each(
    ("text", "decision"),
    [
        ("grep -rn TODO .", Decision.ALLOW),
        ("grep -rn password src", Decision.ALLOW),
        ("grep -rln password .", Decision.ALLOW),
        ("grep -rn password . --include='*.py'", Decision.ALLOW),
        ("rg password", Decision.ALLOW),
        ("rg -uu parseConfig", Decision.ALLOW),
        ("grep -rn password .", Decision.ASK),
        ("grep -rn password . --include='*.env'", Decision.ASK),
        ("grep -rn password", Decision.ASK),
        ("grep -r '' .", Decision.ASK),
        ("grep -rv zzz .", Decision.ASK),
        ("grep -rE 'zzzz|.' .", Decision.ASK),
        ("grep -r -e zzzz -e . .", Decision.ASK),
        ("grep -r -f x.txt .", Decision.ASK),
        ("grep --color -r secret .", Decision.ASK),
        ("rg -uuu SECRET", Decision.ASK),
        ("rg -C 9999 foo src", Decision.ASK),
        ("grep -rA9999 import .", Decision.ASK),
        ("rg --passthru foo src", Decision.ASK),
        ("rg 'a?' src", Decision.ASK),
        ("rg 'foo|b' src", Decision.ASK),
        ("rg '\\p{L}' src", Decision.ASK),
        ("rg -w id src", Decision.ALLOW),
        ("rg '=>' src", Decision.ALLOW),
        ("rg -o '\\bv[0-9]+\\.[0-9]+' docs", Decision.ALLOW),
        ("rg -U '(?s).*' src", Decision.ASK),
        ("rg '\\$\\{' src", Decision.ALLOW),
        ("grep -rn '' config", Decision.ASK),
        ("rg . src", Decision.ASK),
        ("rg -n . src/a.py", Decision.ALLOW),
        ("rg -c '' src", Decision.ALLOW),
        ("grep -rn password config", Decision.ASK),
        ("rg -uu --type-add 'py:.env' -tpy SECRET", Decision.ASK),
        ("rg --hidden -g '*.json' token", Decision.ASK),
        ("git diff --no-index empty .", Decision.ASK),
        ("git diff --no-index a.txt b.txt", Decision.ALLOW),
        ("diff -rN empty .", Decision.ASK),
        ("diff -rN a b", Decision.ASK),
        ("diff -r src lib", Decision.ALLOW),
        ("diff -rq . lib", Decision.ALLOW),
        ("jq .env a.json", Decision.ALLOW),
        ("jq '.a | env' a.json", Decision.ASK),
        ("rg --hidden --no-ignore '=' .", Decision.ASK),
    ],
)
def test_k18_a_search_through_hidden_files_is_not_for_secrets(text, decision):
    assert said(text) is decision


@given(st.sampled_from(WRAPPINGS), st.sampled_from(UNSAFE))
def test_k18_q22_nothing_unsafe_is_hidden_by_what_it_is_wrapped_in(wrapping, command):
    assert said(wrapping.format(command)) is not Decision.ALLOW
    assert said(f"bash -lc {shlex.quote(command)}") is not Decision.ALLOW

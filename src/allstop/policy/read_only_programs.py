"""The table of read-only programs, each with the options that are known to be harmless.

Most omissions are deliberate: `sort -o`, `tree -o` and `xxd`'s second operand write files;
`rg --pre`, `fd -x` and `sort --compress-program` run programs; `date -s` sets the clock; `man` and
`yq` can read other files; `yarn`, `pnpm`, `poetry` and `pytest` may load code of the workspace even
to print their version; `lsof` may resolve names over the network.
"""

from collections.abc import Mapping

from allstop.policy.command_line import word_set
from allstop.policy.options import ArgumentSpec, ShortOptions

_GREP = ArgumentSpec(
    "-E -F -G -P -i -y -v -w -x -c -l -L -n -H -h -o -q -s -a -I -z -Z -b -r -R -T -U -NUM"
    " -A=num -B=num -C=num -m=num -e=text -f=path --after-context=num --before-context=num"
    " --context=num --max-count=num --regexp=text --file=path --include=text --exclude=text"
    " --exclude-dir=text --color[=text] --colour[=text] --extended-regexp --fixed-strings"
    " --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp"
    " --line-regexp --count --files-with-matches --files-without-match --line-number"
    " --with-filename --no-filename --only-matching --quiet --silent --no-messages --text"
    " --recursive --dereference-recursive --null --null-data --byte-offset --binary-files=text"
    " --line-buffered --initial-tab --label=text --group-separator=text --no-group-separator",
    operands="text path*",
    least=1,
    instead=("-e", "-f", "--regexp", "--file"),
)
_RG = ArgumentSpec(
    "-n -N -i -S -s -w -x -l -c -o -v -F -P -U -u -L -0 -I -H -p -q -a -A=num -B=num -C=num"
    " -m=num -t=text -T=text -g=text -e=text -f=path -d=num -M=num -r=text -j=num -E=text"
    " --line-number --no-line-number --ignore-case --smart-case --case-sensitive --word-regexp"
    " --line-regexp --files-with-matches --files-without-match --count --count-matches"
    " --only-matching --invert-match --fixed-strings --pcre2 --multiline --multiline-dotall"
    " --unrestricted --follow --null --no-filename --with-filename --pretty --quiet --text"
    " --after-context=num --before-context=num --context=num --max-count=num --type=text"
    " --type-not=text --type-list --glob=text --iglob=text --regexp=text --file=path"
    " --max-depth=num --maxdepth=num --max-columns=num --max-columns-preview --max-filesize=num"
    " --replace=text --threads=num --encoding=text --files --hidden --no-hidden --no-ignore"
    " --no-ignore-vcs --no-ignore-parent --no-ignore-global --no-ignore-dot --no-heading --heading"
    " --column --no-column --vimgrep --json --stats --sort=text --sortr=text --color=text"
    " --colors=text --trim --passthru --no-messages --no-config --no-mmap --mmap --line-buffered"
    " --block-buffered --crlf --null-data --one-file-system --debug --include-zero --byte-offset"
    " --context-separator=text --field-match-separator=text --path-separator=text"
    " --glob-case-insensitive --no-unicode --type-add=text --engine=text --auto-hybrid-regex --version -V",
    operands="text path*",
    instead=("-e", "-f", "--regexp", "--file", "--files", "--type-list"),
)
_FD = ArgumentSpec(
    "-H -I -u -s -i -g -F -a -p -0 -L -1 -q -e=text -t=text -d=num -E=text -S=text -c=text"
    " -j=num --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case"
    " --glob --fixed-strings --absolute-path --full-path --print0 --follow --quiet"
    " --extension=text --type=text --max-depth=num --min-depth=num --exact-depth=num"
    " --exclude=text --size=text --color=text --max-results=num --threads=num --regex"
    " --changed-within=text --changed-before=text --prune --and=text --version -V",
    operands="text path*",
)
_AWK = ArgumentSpec("-F=text -v=assignment", operands="awk path*", least=1)
_AG = ArgumentSpec(
    "-i -s -S -w -v -l -L -c -o -Q -A=num -B=num -C=num -m=num -G=text -g=text --nocolor"
    " --noheading --nogroup --ignore=text --literal --count --column --ignore-case --word-regexp"
    " --files-with-matches --depth=num --hidden --py --js --ts --go --rust --java --ruby --cpp --cc",
    operands="text path*",
    instead=("-g",),
)
_GZIP = ArgumentSpec(
    "-c -d -l -t -v --stdout --to-stdout --decompress --list --test --verbose",
    needs=("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"),
    least=1,
)
_HEAD = ArgumentSpec("-NUM -n=num -c=num -q -v -z --lines=num --bytes=num --quiet --verbose")
_SUM = ArgumentSpec("-b -t --binary --text --tag -z --zero")
_VERSION = ArgumentSpec("--version", operands="", needs=("--version",))
_VERSION_LARGE = ArgumentSpec("--version -V", operands="", needs=("--version", "-V"))
_VERSION_SMALL = ArgumentSpec("--version -v", operands="", needs=("--version", "-v"))

PROGRAMS: Mapping[str, ArgumentSpec] = {
    "ls": ArgumentSpec(
        "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s"
        " -S -t -T=num -u -U -v -w=num -x -X -Z -1 --all --almost-all --author --color[=text]"
        " --directory --classify[=text] --file-type --full-time --group-directories-first"
        " --human-readable --si --hide=text --inode --ignore=text --indicator-style=text"
        " --literal --no-group --numeric-uid-gid --recursive --reverse --size --sort=text"
        " --time=text --time-style=text --width=num --format=text --dereference"
    ),
    "cat": ArgumentSpec(
        "-A -b -e -E -n -s -t -T -u -v --show-all --number --number-nonblank"
        " --show-ends --show-nonprinting --show-tabs --squeeze-blank"
    ),
    "tac": ArgumentSpec(),
    **dict.fromkeys(["head", "tail"], _HEAD),
    "wc": ArgumentSpec("-c -m -l -L -w --bytes --chars --lines --max-line-length --words"),
    "nl": ArgumentSpec("-b=text -n=text -s=text -w=num -v=num -i=num -d=text -f=text -h=text -p"),
    **dict.fromkeys(["grep", "egrep", "fgrep"], _GREP),
    "rg": _RG,
    **dict.fromkeys(["fd", "fdfind"], _FD),
    "ag": _AG,
    "sed": ArgumentSpec(
        "-n -E -r -s -u -z --quiet --silent --regexp-extended -e=sed --expression=sed",
        operands="sed path*",
        least=1,
        instead=("-e", "--expression"),
    ),
    **dict.fromkeys(["awk", "gawk", "mawk"], _AWK),
    "jq": ArgumentSpec(
        "-r -c -e -n -s -S -C -M -a -j -R --raw-output --compact-output --exit-status"
        " --null-input --slurp --sort-keys --color-output --monochrome-output --ascii-output"
        " --join-output --raw-input --tab --indent=num --arg=name+text --argjson=name+text --version",
        operands="jq path*",
    ),
    "tree": ArgumentSpec(
        "-a -d -f -i -l -s -h -D -C -n -F -p -u -g -q -N -r -t -v -x -J -X -A -S -L=num"
        " -I=text -P=text --dirsfirst --filesfirst --noreport --gitignore --prune --du --si --inodes"
        " --device --sort[=text] --filelimit=num --ignore-case --matchdirs --charset=text --metafirst",
        letters=ShortOptions.DETACHED,
    ),
    "stat": ArgumentSpec(
        "-c=text -f -L -t -x -r --format=text --printf=text --terse --dereference --file-system"
    ),
    "file": ArgumentSpec(
        "-b -i -I -L -h -k -0 -r --brief --mime --mime-type --mime-encoding --dereference"
        " --no-dereference --extension --keep-going",
        least=1,
    ),
    "du": ArgumentSpec(
        "-s -h -a -c -d=num -k -m -b -x -S -l -0 -t=num --summarize --human-readable --all"
        " --total --max-depth=num --apparent-size --bytes --exclude=text --one-file-system"
        " --threshold=num --time[=text] --si --inodes"
    ),
    "df": ArgumentSpec(
        "-h -H -k -m -T -i -a -l -P -t=text -x=text --human-readable --print-type --inodes"
        " --output[=text] --total --local --all"
    ),
    "pwd": ArgumentSpec("-P -L", operands=""),
    "printf": ArgumentSpec(operands="literal*", least=1),
    ":": ArgumentSpec(operands="literal*"),
    "basename": ArgumentSpec("-a -s=text -z --multiple --suffix=text", operands="text*", least=1),
    "dirname": ArgumentSpec("-z", operands="text*", least=1),
    "realpath": ArgumentSpec(
        "-e -m -L -P -q -s -z --relative-to=path --relative-base=path --canonicalize-existing"
        " --canonicalize-missing --no-symlinks"
    ),
    "readlink": ArgumentSpec("-f -e -m -n -q -s -v -z --canonicalize"),
    "which": ArgumentSpec("-a -s", operands="name*"),
    "whereis": ArgumentSpec("-b -m -s", operands="name*"),
    "type": ArgumentSpec("-a -t -p -P", operands="name*"),
    "sort": ArgumentSpec(
        "-b -d -f -g -h -i -M -n -r -R -V -c -C -m -s -u -z -k=text -t=text --key=text"
        " --field-separator=text --numeric-sort --reverse --unique --ignore-case --human-numeric-sort"
        " --version-sort --general-numeric-sort --month-sort --stable --check[=text]"
        " --ignore-leading-blanks --dictionary-order --zero-terminated --merge --sort=text"
    ),
    "uniq": ArgumentSpec(
        "-c -d -D -i -u -z -f=num -s=num -w=num --count --repeated --unique --ignore-case"
        " --skip-fields=num --skip-chars=num --check-chars=num",
        operands="path",
        options_first=True,
    ),
    "cut": ArgumentSpec(
        "-b=text -c=text -d=text -f=text -s -n -z --bytes=text --characters=text"
        " --delimiter=text --fields=text --only-delimited --complement --output-delimiter=text"
    ),
    "tr": ArgumentSpec(
        "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
        operands="text text",
        least=1,
    ),
    "paste": ArgumentSpec("-d=text -s -z --delimiters=text --serial"),
    "join": ArgumentSpec("-1=num -2=num -j=num -t=text -a=num -v=num -e=text -o=text -i"),
    "comm": ArgumentSpec("-1 -2 -3 -i -z --total --nocheck-order --output-delimiter=text"),
    "diff": ArgumentSpec(
        "-u -U=num -c -C=num -r -q -s -w -b -B -i -N -y -a -E -Z -d -t -p -e -n -W=num -x=text -I=text"
        " --unified[=num] --context[=num] --recursive --brief --report-identical-files"
        " --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --new-file"
        " --side-by-side --text --width=num --exclude=text --color[=text] --minimal"
        " --suppress-common-lines --left-column --strip-trailing-cr --label=text -L=text"
        " --ignore-trailing-space --ignore-matching-lines=text --normal --no-dereference --expand-tabs"
    ),
    "cmp": ArgumentSpec("-b -l -s -n=num -i=text --silent --quiet --verbose", least=1),
    **dict.fromkeys(word_set("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum"), _SUM),
    "cksum": ArgumentSpec("-a=text --algorithm=text --tag"),
    "sum": ArgumentSpec("-r -s"),
    "shasum": ArgumentSpec("-a=num -b -t"),
    "md5": ArgumentSpec("-q -r"),
    "date": ArgumentSpec(
        "-u -R -I[=text] -d=text -r=path --utc --universal --iso-8601[=text] --rfc-3339=text"
        " --rfc-email --date=text --reference=path",
        operands="plus",
    ),
    "cal": ArgumentSpec("-1 -3 -y -m -s", operands="num*"),
    "uname": ArgumentSpec("-a -s -n -r -v -m -p -i -o --all --kernel-name --machine", operands=""),
    **dict.fromkeys(word_set("arch whoami groups"), ArgumentSpec(operands="")),
    "id": ArgumentSpec("-u -g -G -n -r --user --group --groups --name", operands=""),
    "tty": ArgumentSpec("-s", operands=""),
    "nproc": ArgumentSpec("--all", operands=""),
    "uptime": ArgumentSpec("-p -s --pretty", operands=""),
    "free": ArgumentSpec("-b -k -m -g -h -t -w --human --mega --giga --total", operands=""),
    "lscpu": ArgumentSpec("-e -p -J --json", operands=""),
    "locale": ArgumentSpec("-a", operands=""),
    "hostname": ArgumentSpec("-s -f -i -I -d", operands=""),
    "xxd": ArgumentSpec(
        "-a -b -c=num -e -g=num -i -l=num -o=num -p -s=num -u -d -ps",
        operands="path",
        options_first=True,
        letters=ShortOptions.WHOLE,
    ),
    "od": ArgumentSpec(
        "-A=text -t=text -j=num -N=num -w[=num] -v -a -b -c -d -f -i -l -o -s -x"
        " --format=text --address-radix=text --skip-bytes=num --read-bytes=num"
    ),
    "hexdump": ArgumentSpec("-b -c -C -d -o -x -v -n=num -s=num --canonical"),
    "strings": ArgumentSpec(
        "-a -n=num -t=object -e=object -f --all --bytes=num --radix=object -NUM", operands="object*"
    ),
    "nm": ArgumentSpec(
        "-a -C -D -g -u -n -p -S -A --demangle --defined-only --undefined-only", operands="object*"
    ),
    "readelf": ArgumentSpec(
        "-a -h -l -S -s -d -n -r -W -e --file-header --syms --dynamic --wide", operands="object*"
    ),
    "size": ArgumentSpec("-A -B -G -d -o -x -t", operands="object*"),
    "objdump": ArgumentSpec(
        "-d -D -t -T -x -h -p -r -R -s -C -f -M=object -j=object --disassemble[=text] --syms"
        " --demangle[=text] --no-show-raw-insn --section=object --headers --all-headers",
        operands="object*",
        least=1,
    ),
    "gofmt": ArgumentSpec("-l -d -e -s", least=1),
    "shellcheck": ArgumentSpec(
        "-s=text -e=text -i=text -f=text -S=text -C[=text] --shell=text --exclude=text"
        " --include=text --format=text --severity=text --color[=text]",
        least=1,
    ),
    "pgrep": ArgumentSpec("-f -l -a -c -x -n -o -i -u=text", operands="text"),
    "column": ArgumentSpec(
        "-t -s=text -x -c=num -n -e -o=text -N=text -H=text -R=text --table"
        " --separator=text --output-separator=text --table-columns=text"
    ),
    "fold": ArgumentSpec("-b -s -w=num --width=num --spaces"),
    "fmt": ArgumentSpec("-w=num -s -u -NUM --width=num"),
    "expand": ArgumentSpec("-t=num -i --tabs=num"),
    "unexpand": ArgumentSpec("-a -t=num"),
    "rev": ArgumentSpec(),
    "seq": ArgumentSpec(
        "-s=text -w -f=text --separator=text --equal-width", operands="num num num"
    ),
    "expr": ArgumentSpec(operands="literal*", least=1),
    "base64": ArgumentSpec("-w=num --wrap=num -d --decode", operands="path"),
    "shuf": ArgumentSpec("-n=num -e -z --head-count=num"),
    "iconv": ArgumentSpec("-f=text -t=text -c -l --from-code=text --to-code=text --list"),
    **dict.fromkeys(["zcat", "bzcat", "xzcat", "zstdcat"], ArgumentSpec(least=1)),
    "gzip": _GZIP,
    "gunzip": _GZIP,
    "unzip": ArgumentSpec("-l -v -Z -1", operands="path text*", needs=("-l", "-v", "-Z"), least=1),
    "zipinfo": ArgumentSpec("-1 -s -m -l -h -t", operands="path text*", least=1),
    "tokei": ArgumentSpec("-f --files -s=text --sort=text -t=text --types=text -e=text"),
    **dict.fromkeys(word_set("pypy3 cargo rustc rustup pip pip3 uv ruff mypy"), _VERSION_LARGE),
    **dict.fromkeys(word_set("node bun perl php npm npx tsc eslint"), _VERSION_SMALL),
    **dict.fromkeys(
        word_set(
            "deno ruby gcc g++ clang make cmake docker gh cc c++ clang++ curl wget psql mysql sqlite3"
            " redis-server nginx openssl meson ninja rsync"
        ),
        _VERSION,
    ),
}

_PIP = {
    "list": ArgumentSpec("--format=text --not-required --user", operands=""),
    "show": ArgumentSpec("-f --files -v --verbose", operands="name*", least=1),
    "freeze": ArgumentSpec("--all --user -l --local", operands=""),
    "check": ArgumentSpec(operands=""),
}

_NPM_LS = ArgumentSpec(
    "--depth=num -g --global --all -a --json --parseable --long --prod --production --dev"
    " --omit=text",
    operands="name*",
)

SUBCOMMANDS: Mapping[str, Mapping[str, ArgumentSpec]] = {
    "pip": _PIP,
    "pip3": _PIP,
    "npm": {
        "ls": _NPM_LS,
        "list": _NPM_LS,
        "explain": ArgumentSpec("--json", operands="name*"),
        "why": ArgumentSpec("--json", operands="name*"),
        "root": ArgumentSpec("-g", operands=""),
        "prefix": ArgumentSpec("-g", operands=""),
    },
    "go": {
        "version": ArgumentSpec(operands=""),
        "env": ArgumentSpec(
            operands="GOPATH|GOROOT|GOOS|GOARCH|GOMOD|GOFLAGS|GOVERSION|GOCACHE|GOMODCACHE*",
            least=1,
        ),
    },
    "rustc": {"--print": ArgumentSpec(operands="sysroot|cfg|target-list", least=1)},
    "rustup": {
        "show": ArgumentSpec(operands=""),
        "toolchain": ArgumentSpec(operands="list", least=1),
    },
}

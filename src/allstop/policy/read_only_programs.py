"""The table of read-only programs, each with the options that are known to be harmless.

Most omissions are deliberate: `sort -o`, `tree -o` and `xxd`'s second operand write files;
`rg --pre`, `fd -x` and `sort --compress-program` run programs; `date -s` sets the clock; `man` and
`yq` can read other files; `yarn`, `pnpm`, `poetry` and `pytest` may load code of the workspace even
to print their version; `lsof` may resolve names over the network.
"""

from collections.abc import Mapping

from allstop.policy.options import ArgumentSpec, ShortOptions

_GREP = ArgumentSpec(
    options="-E -F -G -P -i -y -v -w -x -c -l -L -n -H -h -o -q -s -a -I -z -Z -b -r -R -T -U -NUM"
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
    options="-n -N -i -S -s -w -x -l -c -o -v -F -P -U -u -L -0 -I -H -p -q -a -A=num -B=num -C=num"
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
    options="-H -I -u -s -i -g -F -a -p -0 -L -1 -q -e=text -t=text -d=num -E=text -S=text -c=text"
    " -j=num --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case"
    " --glob --fixed-strings --absolute-path --full-path --print0 --follow --quiet"
    " --extension=text --type=text --max-depth=num --min-depth=num --exact-depth=num"
    " --exclude=text --size=text --color=text --max-results=num --threads=num --regex"
    " --changed-within=text --changed-before=text --prune --and=text --version -V",
    operands="text path*",
)
_AWK = ArgumentSpec(options="-F=text -v=assignment", operands="awk path*", least=1)
_AG = ArgumentSpec(
    options="-i -s -S -w -v -l -L -c -o -Q -A=num -B=num -C=num -m=num -G=text -g=text --nocolor"
    " --noheading --nogroup --ignore=text --literal --count --column --ignore-case --word-regexp"
    " --files-with-matches --depth=num --hidden --py --js --ts --go --rust --java --ruby --cpp --cc",
    operands="text path*",
    instead=("-g",),
)
_GZIP = ArgumentSpec(
    options="-c -d -l -t -v --stdout --to-stdout --decompress --list --test --verbose",
    needs=("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"),
    least=1,
)
_SUM = ArgumentSpec(options="-b -t --binary --text --tag -z --zero")
_VERSION = ArgumentSpec(options="--version", operands="", needs=("--version",))
_VERSION_LARGE = ArgumentSpec(options="--version -V", operands="", needs=("--version", "-V"))
_VERSION_SMALL = ArgumentSpec(options="--version -v", operands="", needs=("--version", "-v"))

PROGRAMS: Mapping[str, ArgumentSpec] = {
    "ls": ArgumentSpec(
        options="-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s"
        " -S -t -T=num -u -U -v -w=num -x -X -Z -1 --all --almost-all --author --color[=text]"
        " --directory --classify[=text] --file-type --full-time --group-directories-first"
        " --human-readable --si --hide=text --inode --ignore=text --indicator-style=text"
        " --literal --no-group --numeric-uid-gid --recursive --reverse --size --sort=text"
        " --time=text --time-style=text --width=num --format=text --dereference"
    ),
    "cat": ArgumentSpec(
        options="-A -b -e -E -n -s -t -T -u -v --show-all --number --number-nonblank"
        " --show-ends --show-nonprinting --show-tabs --squeeze-blank"
    ),
    "tac": ArgumentSpec(),
    "head": ArgumentSpec(
        options="-NUM -n=num -c=num -q -v -z --lines=num --bytes=num --quiet --verbose"
    ),
    "tail": ArgumentSpec(
        options="-NUM -n=num -c=num -q -v -z --lines=num --bytes=num --quiet --verbose"
    ),
    "wc": ArgumentSpec(options="-c -m -l -L -w --bytes --chars --lines --max-line-length --words"),
    "nl": ArgumentSpec(
        options="-b=text -n=text -s=text -w=num -v=num -i=num -d=text -f=text -h=text -p"
    ),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "fd": _FD,
    "fdfind": _FD,
    "ag": _AG,
    "sed": ArgumentSpec(
        options="-n -E -r -s -u -z --quiet --silent --regexp-extended -e=sed --expression=sed",
        operands="sed path*",
        least=1,
        instead=("-e", "--expression"),
    ),
    "awk": _AWK,
    "gawk": _AWK,
    "mawk": _AWK,
    "jq": ArgumentSpec(
        options="-r -c -e -n -s -S -C -M -a -j -R --raw-output --compact-output --exit-status"
        " --null-input --slurp --sort-keys --color-output --monochrome-output --ascii-output"
        " --join-output --raw-input --tab --indent=num --arg=name+text --argjson=name+text --version",
        operands="jq path*",
    ),
    "tree": ArgumentSpec(
        options="-a -d -f -i -l -s -h -D -C -n -F -p -u -g -q -N -r -t -v -x -J -X -A -S -L=num"
        " -I=text -P=text --dirsfirst --filesfirst --noreport --gitignore --prune --du --si --inodes"
        " --device --sort[=text] --filelimit=num --ignore-case --matchdirs --charset=text --metafirst",
        letters=ShortOptions.DETACHED,
    ),
    "stat": ArgumentSpec(
        options="-c=text -f -L -t -x -r --format=text --printf=text --terse --dereference"
        " --file-system"
    ),
    "file": ArgumentSpec(
        options="-b -i -I -L -h -k -0 -r --brief --mime --mime-type --mime-encoding --dereference"
        " --no-dereference --extension --keep-going",
        least=1,
    ),
    "du": ArgumentSpec(
        options="-s -h -a -c -d=num -k -m -b -x -S -l -0 -t=num --summarize --human-readable --all"
        " --total --max-depth=num --apparent-size --bytes --exclude=text --one-file-system"
        " --threshold=num --time[=text] --si --inodes"
    ),
    "df": ArgumentSpec(
        options="-h -H -k -m -T -i -a -l -P -t=text -x=text --human-readable --print-type --inodes"
        " --output[=text] --total --local --all",
    ),
    "pwd": ArgumentSpec(options="-P -L", operands=""),
    "printf": ArgumentSpec(operands="literal*", least=1),
    ":": ArgumentSpec(operands="literal*"),
    "basename": ArgumentSpec(
        options="-a -s=text -z --multiple --suffix=text", operands="text*", least=1
    ),
    "dirname": ArgumentSpec(options="-z", operands="text*", least=1),
    "realpath": ArgumentSpec(
        options="-e -m -L -P -q -s -z --relative-to=path --relative-base=path --canonicalize-existing"
        " --canonicalize-missing --no-symlinks"
    ),
    "readlink": ArgumentSpec(options="-f -e -m -n -q -s -v -z --canonicalize"),
    "which": ArgumentSpec(options="-a -s", operands="name*"),
    "whereis": ArgumentSpec(options="-b -m -s", operands="name*"),
    "type": ArgumentSpec(options="-a -t -p -P", operands="name*"),
    "sort": ArgumentSpec(
        options="-b -d -f -g -h -i -M -n -r -R -V -c -C -m -s -u -z -k=text -t=text --key=text"
        " --field-separator=text --numeric-sort --reverse --unique --ignore-case --human-numeric-sort"
        " --version-sort --general-numeric-sort --month-sort --stable --check[=text]"
        " --ignore-leading-blanks --dictionary-order --zero-terminated --merge --sort=text"
    ),
    "uniq": ArgumentSpec(
        options="-c -d -D -i -u -z -f=num -s=num -w=num --count --repeated --unique --ignore-case"
        " --skip-fields=num --skip-chars=num --check-chars=num",
        operands="path",
        options_first=True,
    ),
    "cut": ArgumentSpec(
        options="-b=text -c=text -d=text -f=text -s -n -z --bytes=text --characters=text"
        " --delimiter=text --fields=text --only-delimited --complement --output-delimiter=text"
    ),
    "tr": ArgumentSpec(
        options="-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1",
        operands="text text",
        least=1,
    ),
    "paste": ArgumentSpec(options="-d=text -s -z --delimiters=text --serial"),
    "join": ArgumentSpec(options="-1=num -2=num -j=num -t=text -a=num -v=num -e=text -o=text -i"),
    "comm": ArgumentSpec(options="-1 -2 -3 -i -z --total --nocheck-order --output-delimiter=text"),
    "diff": ArgumentSpec(
        options="-u -U=num -c -C=num -r -q -s -w -b -B -i -N -y -a -E -Z -d -t -p -e -n -W=num -x=text -I=text"
        " --unified[=num] --context[=num] --recursive --brief --report-identical-files"
        " --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --new-file"
        " --side-by-side --text --width=num --exclude=text --color[=text] --minimal"
        " --suppress-common-lines --left-column --strip-trailing-cr --label=text -L=text"
        " --ignore-trailing-space --ignore-matching-lines=text --normal --no-dereference --expand-tabs",
    ),
    "cmp": ArgumentSpec(options="-b -l -s -n=num -i=text --silent --quiet --verbose", least=1),
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha224sum": _SUM,
    "sha256sum": _SUM,
    "sha384sum": _SUM,
    "sha512sum": _SUM,
    "b2sum": _SUM,
    "cksum": ArgumentSpec(options="-a=text --algorithm=text --tag"),
    "sum": ArgumentSpec(options="-r -s"),
    "shasum": ArgumentSpec(options="-a=num -b -t"),
    "md5": ArgumentSpec(options="-q -r"),
    "date": ArgumentSpec(
        options="-u -R -I[=text] -d=text -r=path --utc --universal --iso-8601[=text] --rfc-3339=text"
        " --rfc-email --date=text --reference=path",
        operands="plus",
    ),
    "cal": ArgumentSpec(options="-1 -3 -y -m -s", operands="num*"),
    "uname": ArgumentSpec(
        options="-a -s -n -r -v -m -p -i -o --all --kernel-name --machine", operands=""
    ),
    "arch": ArgumentSpec(operands=""),
    "whoami": ArgumentSpec(operands=""),
    "id": ArgumentSpec(options="-u -g -G -n -r --user --group --groups --name", operands=""),
    "groups": ArgumentSpec(operands=""),
    "tty": ArgumentSpec(options="-s", operands=""),
    "nproc": ArgumentSpec(options="--all", operands=""),
    "uptime": ArgumentSpec(options="-p -s --pretty", operands=""),
    "free": ArgumentSpec(options="-b -k -m -g -h -t -w --human --mega --giga --total", operands=""),
    "lscpu": ArgumentSpec(options="-e -p -J --json", operands=""),
    "locale": ArgumentSpec(options="-a", operands=""),
    "hostname": ArgumentSpec(options="-s -f -i -I -d", operands=""),
    "xxd": ArgumentSpec(
        options="-a -b -c=num -e -g=num -i -l=num -o=num -p -s=num -u -d -ps",
        operands="path",
        options_first=True,
        letters=ShortOptions.WHOLE,
    ),
    "od": ArgumentSpec(
        options="-A=text -t=text -j=num -N=num -w[=num] -v -a -b -c -d -f -i -l -o -s -x"
        " --format=text --address-radix=text --skip-bytes=num --read-bytes=num"
    ),
    "hexdump": ArgumentSpec(options="-b -c -C -d -o -x -v -n=num -s=num --canonical"),
    "strings": ArgumentSpec(
        options="-a -n=num -t=object -e=object -f --all --bytes=num --radix=object -NUM",
        operands="object*",
    ),
    "nm": ArgumentSpec(
        options="-a -C -D -g -u -n -p -S -A --demangle --defined-only --undefined-only",
        operands="object*",
    ),
    "readelf": ArgumentSpec(
        options="-a -h -l -S -s -d -n -r -W -e --file-header --syms --dynamic --wide",
        operands="object*",
    ),
    "size": ArgumentSpec(options="-A -B -G -d -o -x -t", operands="object*"),
    "objdump": ArgumentSpec(
        options="-d -D -t -T -x -h -p -r -R -s -C -f -M=object -j=object --disassemble[=text] --syms"
        " --demangle[=text] --no-show-raw-insn --section=object --headers --all-headers",
        operands="object*",
        least=1,
    ),
    "gofmt": ArgumentSpec(options="-l -d -e -s", least=1),
    "shellcheck": ArgumentSpec(
        options="-s=text -e=text -i=text -f=text -S=text -C[=text] --shell=text --exclude=text"
        " --include=text --format=text --severity=text --color[=text]",
        least=1,
    ),
    "pgrep": ArgumentSpec(options="-f -l -a -c -x -n -o -i -u=text", operands="text"),
    "column": ArgumentSpec(
        options="-t -s=text -x -c=num -n -e -o=text -N=text -H=text -R=text --table"
        " --separator=text --output-separator=text --table-columns=text"
    ),
    "fold": ArgumentSpec(options="-b -s -w=num --width=num --spaces"),
    "fmt": ArgumentSpec(options="-w=num -s -u -NUM --width=num"),
    "expand": ArgumentSpec(options="-t=num -i --tabs=num"),
    "unexpand": ArgumentSpec(options="-a -t=num"),
    "rev": ArgumentSpec(),
    "seq": ArgumentSpec(
        options="-s=text -w -f=text --separator=text --equal-width", operands="num num num"
    ),
    "expr": ArgumentSpec(operands="literal*", least=1),
    "base64": ArgumentSpec(options="-w=num --wrap=num -d --decode", operands="path"),
    "shuf": ArgumentSpec(options="-n=num -e -z --head-count=num"),
    "iconv": ArgumentSpec(options="-f=text -t=text -c -l --from-code=text --to-code=text --list"),
    **dict.fromkeys(["zcat", "bzcat", "xzcat", "zstdcat"], ArgumentSpec(least=1)),
    "gzip": _GZIP,
    "gunzip": _GZIP,
    "unzip": ArgumentSpec(
        options="-l -v -Z -1", operands="path text*", needs=("-l", "-v", "-Z"), least=1
    ),
    "zipinfo": ArgumentSpec(options="-1 -s -m -l -h -t", operands="path text*", least=1),
    "tokei": ArgumentSpec(options="-f --files -s=text --sort=text -t=text --types=text -e=text"),
    "pypy3": _VERSION_LARGE,
    "node": _VERSION_SMALL,
    "deno": _VERSION,
    "bun": _VERSION_SMALL,
    "ruby": _VERSION,
    "perl": _VERSION_SMALL,
    "php": _VERSION_SMALL,
    "cargo": _VERSION_LARGE,
    "rustc": _VERSION_LARGE,
    "rustup": _VERSION_LARGE,
    "npm": _VERSION_SMALL,
    "npx": _VERSION_SMALL,
    "pip": _VERSION_LARGE,
    "pip3": _VERSION_LARGE,
    "uv": _VERSION_LARGE,
    "ruff": _VERSION_LARGE,
    "mypy": _VERSION_LARGE,
    "tsc": _VERSION_SMALL,
    "eslint": _VERSION_SMALL,
    "gcc": _VERSION,
    "g++": _VERSION,
    "clang": _VERSION,
    "make": _VERSION,
    "cmake": _VERSION,
    "docker": _VERSION,
    "gh": _VERSION,
    **dict.fromkeys(
        [
            "cc",
            "c++",
            "clang++",
            "curl",
            "wget",
            "psql",
            "mysql",
            "sqlite3",
            "redis-server",
            "nginx",
            "openssl",
            "meson",
            "ninja",
            "rsync",
        ],
        _VERSION,
    ),
}

_PIP = {
    "list": ArgumentSpec(options="--format=text --not-required --user", operands=""),
    "show": ArgumentSpec(options="-f --files -v --verbose", operands="name*", least=1),
    "freeze": ArgumentSpec(options="--all --user -l --local", operands=""),
    "check": ArgumentSpec(operands=""),
}

_NPM_LS = ArgumentSpec(
    options="--depth=num -g --global --all -a --json --parseable --long --prod --production --dev"
    " --omit=text",
    operands="name*",
)

SUBCOMMANDS: Mapping[str, Mapping[str, ArgumentSpec]] = {
    "pip": _PIP,
    "pip3": _PIP,
    "npm": {
        "ls": _NPM_LS,
        "list": _NPM_LS,
        "explain": ArgumentSpec(options="--json", operands="name*"),
        "why": ArgumentSpec(options="--json", operands="name*"),
        "root": ArgumentSpec(options="-g", operands=""),
        "prefix": ArgumentSpec(options="-g", operands=""),
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

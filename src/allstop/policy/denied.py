"""What never runs: it destroys, takes over, or carries away, and no rule of a user's changes that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from allstop.policy.command_line import Line, Redirect, set_of
from allstop.policy.guarded_files import guarded
from allstop.policy.paths import HARMLESS, Where

Words = tuple[str, ...]

WRAPPERS = set_of(
    "env command builtin exec time nohup timeout nice ionice setsid stdbuf xargs parallel busybox"
    " toybox watch strace ltrace script chroot unshare flock sudo doas then do eval"
)
INTERPRETERS = set_of(
    "sh bash dash zsh ksh mksh fish ash csh tcsh python python2 python3 pypy pypy3 node nodejs"
    " deno bun perl ruby php lua luajit tclsh osascript Rscript pwsh powershell"
)
_DOWNLOADERS = set_of("curl wget fetch aria2c http https xh base64 xxd openssl uudecode")
_DEEPEST_WRAPPED = 8

_ALWAYS: Mapping[str, str] = {
    name: why
    for why, names in {
        "takes over the machine": "sudo doas su pkexec runuser visudo passwd chpasswd useradd"
        " usermod userdel groupadd adduser deluser insmod modprobe rmmod kexec nsenter setcap",
        "ends the machine": "shutdown reboot halt poweroff init telinit killall5",
        "destroys disks": "mkfs fdisk sfdisk cfdisk gdisk sgdisk parted wipefs mkswap swapoff shred"
        " blkdiscard hdparm cryptsetup losetup mount umount lvremove vgremove pvremove",
        "carries data to other machines": "ssh scp sftp nc ncat netcat socat telnet ftp tftp"
        " sshfs mosh rclone ngrok cloudflared",
        "changes who may connect": "iptables ip6tables nft ufw firewall-cmd ssh-copy-id",
        "runs things later": "at batch systemd-run",
    }.items()
    for name in names.split()
}


def name_of(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def seen_through(words: Words) -> Iterator[Words]:
    """The command, and what it would start if it is one that starts others."""
    if not words:
        return
    plain = (name_of(words[0]), *words[1:])
    yield plain
    if plain[0] in WRAPPERS:
        for place in range(1, min(len(words), _DEEPEST_WRAPPED)):
            yield (name_of(words[place]), *words[place + 1 :])


def _short(words: Words, letters: str) -> bool:
    return any(re.fullmatch(rf"-[A-Za-z]*[{letters}][A-Za-z]*", word) for word in words)


def _targets(words: Words) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-")]


def _outside(words: Words, where: Where) -> bool:
    return any(where.leads(each) is None or where.leads(each) == ((),) for each in _targets(words))


def _rm(words: Words, where: Where) -> str:
    if "--no-preserve-root" in words:
        return "removes everything"
    recursive = _short(words, "rR") or any(word.startswith("--r") for word in words)
    everything = {"*", "/*", "./*", "~", "~/"}.intersection(words)
    if recursive and (everything or _outside(words, where)):
        return "removes what is not the workspace's, or all of it"
    return ""


def _chmod(words: Words, where: Where) -> str:
    if any(re.fullmatch(r"[ugoa]*\+[rwx]*s[rwx]*|[4267]\d{3}", word) for word in words[1:]):
        return "gives a program its owner's rights"
    targets = (words[0], *_targets(words)[1:])
    recursive = _short(words, "R") or "--recursive" in words
    return "changes rights outside the workspace" if recursive and _outside(targets, where) else ""


def _dd(words: Words, where: Where) -> str:
    for word in words[1:]:
        target = word.removeprefix("of=")
        if target != word and target != "/dev/null" and where.leads(target) is None:
            return "writes over a disk or a file outside the workspace"
    return ""


def _git(words: Words, where: Where) -> str:
    rest = [word for word in words[1:] if word != "--no-pager"]
    match rest:
        case ["push", *more] if _short(tuple(more), "fd") or any(
            re.match(r"--(?:force|mirror|delete|prune)|\+|:", word) for word in more
        ):
            return "rewrites or removes what others have"
        case ["filter-branch" | "filter-repo", *_]:
            return "rewrites history"
        case ["reflog", "expire" | "delete", *_] | ["update-ref", "-d", *_]:
            return "removes history"
        case _:
            return ""


def _kill(words: Words, where: Where) -> str:
    pids = words[2:] if len(words) > 2 else words[1:]
    return "ends every process" if {"-1", "1", "0"}.intersection(pids) else ""


def _history(words: Words, where: Where) -> str:
    return "tampers with the shell's history" if _short(words, "cwadrns") else ""


_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?].*)?")
_WITH_VALUES = set_of(
    "-d -F -H -X --data --data-raw --data-binary --form --header --json --request"
)
_ALONE = set_of("-s -S -sS -i -v -f -sf -sSf --silent --show-error --include --verbose --fail")


def _stays_here(words: Words) -> bool:
    """Whether it speaks with this machine alone, in words that are all known."""
    targets, options = [], iter(words[1:])
    for word in options:
        if word in _WITH_VALUES:
            next(options, "")
        elif word not in _ALONE:
            targets.append(word)
    return bool(targets) and all(_LOCAL.fullmatch(each) for each in targets)


def _curl(words: Words, where: Where) -> str:
    if words[0] == "curl" and _stays_here(words):
        return ""
    sends = ("-d", "-F", "-T", "--data", "--form", "--upload-file", "--post", "--body", "--json")
    if any(word.startswith(sends) for word in words[1:]):
        return "sends data to other machines"
    return ""


def _rsync(words: Words, where: Where) -> str:
    return "carries data to other machines" if any(":" in word for word in words[1:]) else ""


def _systemctl(words: Words, where: Where) -> str:
    harmless = {"status", "show", "cat", "list-units", "is-active", "is-enabled"}
    return "" if harmless.intersection(words) else "changes what the machine runs"


def _crontab(words: Words, where: Where) -> str:
    return "" if words[1:] == ("-l",) else "runs things later"


def _writes(words: Words, where: Where) -> str:
    """Programs that write where their arguments say."""
    return next((why for word in _targets(words) if (why := _hook(word, where))), "")


def _hook(path: str, where: Where) -> str:
    ends = where.leads(path.removeprefix("of=")) or ()
    for end in ends:
        low = tuple(step.lower() for step in end)
        if ".git" in low and {"hooks", "config"}.intersection(low):
            return "writes hooks or settings of git"
    return ""


_BY_NAME: Mapping[str, tuple[Callable[[Words, Where], str], ...]] = {
    "rm": (_rm,),
    "chmod": (_chmod, _writes),
    "chown": (_chmod,),
    "chgrp": (_chmod,),
    "dd": (_dd,),
    "git": (_git,),
    "kill": (_kill,),
    "history": (_history,),
    "curl": (_curl,),
    "wget": (_curl,),
    "rsync": (_rsync,),
    "systemctl": (_systemctl,),
    "service": (_systemctl,),
    "crontab": (_crontab,),
    **dict.fromkeys(set_of("tee cp mv ln install touch truncate sponge"), (_writes,)),
}


def denied(words: Words, where: Where) -> str:
    """Why this never runs; nothing where it may be asked about."""
    for each in seen_through(words):
        name = each[0]
        if name.startswith("mkfs."):
            return "destroys disks"
        if name in _ALWAYS:
            return _ALWAYS[name]
        for check in _BY_NAME.get(name, ()):
            if why := check(each, where):
                return why
    return ""


def denied_redirect(redirect: Redirect, where: Where) -> str:
    if "<" in redirect.operator or redirect.target in HARMLESS:
        return ""
    if redirect.operator.endswith("&") and redirect.target.isdigit():
        return ""
    ends = where.leads(redirect.target)
    if ends is None:
        return f"writes outside the workspace: {redirect.target}"
    return _hook(redirect.target, where) or next(
        (
            f"writes {redirect.target}, which {why}"
            for end in ends
            if "shells" in (why := guarded(end))
        ),
        "",
    )


def denied_line(line: Line) -> str:
    """What is harmful only together: something fetched or decoded is run."""
    names = [[each[0] for each in seen_through(command.words)] for command in line.commands]
    fetched = False
    for command, seen in zip(line.commands, names, strict=True):
        fetched = fetched and command.after == "|"
        if fetched and INTERPRETERS.intersection(seen):
            return "runs what it has fetched or decoded"
        fetched = fetched or bool(_DOWNLOADERS.intersection(seen))
    together = {name for seen in names for name in seen}
    if line.why and {"curl", "wget"} & together and together & {*INTERPRETERS, "eval", "source"}:
        return "runs what it has fetched"
    return ""

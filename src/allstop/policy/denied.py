"""Commands that are always denied, whatever a person's rules say."""

import re
from collections.abc import Callable, Iterator, Mapping

from allstop.policy.command_line import CommandLine, Redirect, word_set
from allstop.policy.guarded_files import guard_reason
from allstop.policy.paths import HARMLESS_DEVICES, PathScope

Words = tuple[str, ...]

WRAPPERS = word_set(
    "env command builtin exec time nohup timeout nice ionice setsid stdbuf xargs parallel busybox"
    " toybox watch strace ltrace script chroot unshare flock sudo doas then do eval"
)
INTERPRETERS = word_set(
    "sh bash dash zsh ksh mksh fish ash csh tcsh python python2 python3 pypy pypy3 node nodejs"
    " deno bun perl ruby php lua luajit tclsh osascript Rscript pwsh powershell"
)
_DOWNLOADERS = word_set("curl wget fetch aria2c http https xh base64 xxd openssl uudecode")
_MAX_WRAPPED = 8

_DENIED_PROGRAMS: Mapping[str, str] = {
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


def wrapped_commands(words: Words) -> Iterator[Words]:
    """The command itself, and the commands that it may start if it is a wrapper."""
    if not words:
        return
    plain = (name_of(words[0]), *words[1:])
    yield plain
    if plain[0] in WRAPPERS:
        for place in range(1, min(len(words), _MAX_WRAPPED)):
            yield (name_of(words[place]), *words[place + 1 :])


def _has_short_option(words: Words, letters: str) -> bool:
    return any(re.fullmatch(rf"-[A-Za-z]*[{letters}][A-Za-z]*", word) for word in words)


def _targets(words: Words) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-")]


def _is_outside(words: Words, where: PathScope) -> bool:
    return any(
        where.resolve(each) is None or where.resolve(each) == ((),) for each in _targets(words)
    )


def _rm(words: Words, where: PathScope) -> str:
    if "--no-preserve-root" in words:
        return "removes everything"
    recursive = _has_short_option(words, "rR") or any(word.startswith("--r") for word in words)
    everything = {"*", "/*", "./*", "~", "~/"}.intersection(words)
    if recursive and (everything or _is_outside(words, where)):
        return "removes what is not the workspace's, or all of it"
    return ""


def _chmod(words: Words, where: PathScope) -> str:
    if any(re.fullmatch(r"[ugoa]*\+[rwx]*s[rwx]*|[4267]\d{3}", word) for word in words[1:]):
        return "gives a program its owner's rights"
    targets = (words[0], *_targets(words)[1:])
    recursive = _has_short_option(words, "R") or "--recursive" in words
    return (
        "changes rights outside the workspace" if recursive and _is_outside(targets, where) else ""
    )


def _dd(words: Words, where: PathScope) -> str:
    for word in words[1:]:
        target = word.removeprefix("of=")
        if target != word and target != "/dev/null" and where.resolve(target) is None:
            return "writes over a disk or a file outside the workspace"
    return ""


def _git(words: Words, where: PathScope) -> str:
    rest = [word for word in words[1:] if word != "--no-pager"]
    match rest:
        case ["push", *more] if _has_short_option(tuple(more), "fd") or any(
            re.match(r"--(?:force|mirror|delete|prune)|\+|:", word) for word in more
        ):
            return "rewrites or removes what others have"
        case ["filter-branch" | "filter-repo", *_]:
            return "rewrites history"
        case ["reflog", "expire" | "delete", *_] | ["update-ref", "-d", *_]:
            return "removes history"
        case _:
            return ""


def _kill(words: Words, where: PathScope) -> str:
    pids = words[2:] if len(words) > 2 else words[1:]
    return "ends every process" if {"-1", "1", "0"}.intersection(pids) else ""


def _history(words: Words, where: PathScope) -> str:
    return "tampers with the shell's history" if _has_short_option(words, "cwadrns") else ""


_LOCAL_URL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?].*)?")
_CURL_VALUED = word_set(
    "-d -F -H -X --data --data-raw --data-binary --form --header --json --request"
)
_CURL_FLAGS = word_set(
    "-s -S -sS -i -v -f -sf -sSf --silent --show-error --include --verbose --fail"
)


def _is_local_request(words: Words) -> bool:
    """Whether curl contacts only this machine, with known options only."""
    targets, options = [], iter(words[1:])
    for word in options:
        if word in _CURL_VALUED:
            next(options, "")
        elif word not in _CURL_FLAGS:
            targets.append(word)
    return bool(targets) and all(_LOCAL_URL.fullmatch(each) for each in targets)


def _curl(words: Words, where: PathScope) -> str:
    if words[0] == "curl" and _is_local_request(words):
        return ""
    sends = ("-d", "-F", "-T", "--data", "--form", "--upload-file", "--post", "--body", "--json")
    if any(word.startswith(sends) for word in words[1:]):
        return "sends data to other machines"
    return ""


def _rsync(words: Words, where: PathScope) -> str:
    return "carries data to other machines" if any(":" in word for word in words[1:]) else ""


def _systemctl(words: Words, where: PathScope) -> str:
    harmless = {"status", "show", "cat", "list-units", "is-active", "is-enabled"}
    return "" if harmless.intersection(words) else "changes what the machine runs"


def _crontab(words: Words, where: PathScope) -> str:
    return "" if words[1:] == ("-l",) else "runs things later"


def _writes(words: Words, where: PathScope) -> str:
    """For programs that write to the files named by their arguments."""
    return next((why for word in _targets(words) if (why := _git_file_reason(word, where))), "")


def _git_file_reason(path: str, where: PathScope) -> str:
    ends = where.resolve(path.removeprefix("of=")) or ()
    for end in ends:
        low = tuple(step.lower() for step in end)
        if ".git" in low and {"hooks", "config"}.intersection(low):
            return "writes hooks or settings of git"
    return ""


_BY_NAME: Mapping[str, tuple[Callable[[Words, PathScope], str], ...]] = {
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
    **dict.fromkeys(word_set("tee cp mv ln install touch truncate sponge"), (_writes,)),
}


def denied(words: Words, where: PathScope) -> str:
    """Why a command is always denied; "" if it may be asked about."""
    for each in wrapped_commands(words):
        name = each[0]
        if name.startswith("mkfs."):
            return "destroys disks"
        if name in _DENIED_PROGRAMS:
            return _DENIED_PROGRAMS[name]
        for check in _BY_NAME.get(name, ()):
            if why := check(each, where):
                return why
    return ""


def denied_redirect(redirect: Redirect, where: PathScope) -> str:
    if "<" in redirect.operator or redirect.target in HARMLESS_DEVICES:
        return ""
    if redirect.operator.endswith("&") and redirect.target.isdigit():
        return ""
    ends = where.resolve(redirect.target)
    if ends is None:
        return f"writes outside the workspace: {redirect.target}"
    return _git_file_reason(redirect.target, where) or next(
        (
            f"writes {redirect.target}, which {why}"
            for end in ends
            if "shells" in (why := guard_reason(end))
        ),
        "",
    )


def denied_line(line: CommandLine) -> str:
    """Why commands are denied in combination: one runs what another has fetched or decoded."""
    names = [[each[0] for each in wrapped_commands(command.words)] for command in line.commands]
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

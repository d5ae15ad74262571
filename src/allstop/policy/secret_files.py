"""Which files may hold secrets, by name: known files, and data files named after a secret."""

import re
from fnmatch import translate

from allstop.policy.command_line import word_set

Steps = tuple[str, ...]


def _patterns(names: str) -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in names.split()))


_KNOWN = _patterns(
    ".env* *.env .netrc _netrc .pgpass .npmrc .yarnrc.yml .pypirc pip.conf .git-credentials .ssh .aws"
    " .gnupg .kube kubeconfig .docker .dockercfg .azure .gcloud .boto .s3cfg .my.cnf .mylogin.cnf"
    " .vault-token .password-store .htpasswd .htaccess .databrickscfg .terraformrc .authinfo"
    " .renviron .flaskenv .dev.vars auth.json hosts.yml local.settings.json wp-config.php"
    " google-services.json *service*account*.json *.tfstate* *.tfvars *.tfvars.json"
    " *adminsdk*.json .erlang.cookie .xauthority"
    " id_rsa* id_dsa* id_ed25519* id_ecdsa* *.pem *.key *.p8 *.pk8 *.p12 *.pfx *.kdb *.kdbx"
    " *.jks *.keystore *.keytab *.ppk *.ovpn *.gpg *.asc *.age *.mobileprovision cookies.txt *.sqlite-wal"
    " .m2 .gem .composer .subversion shadow .*_history .lesshst .viminfo"
)
_PUBLIC = _patterns(".env.example .env.sample .env.template .env.dist .env*.example *.pub")
_GIT_CONFIG_FILES = frozenset({"config", "config.worktree", "credentials"})
"""URLs in them can contain passwords."""

_NAMES = word_set(
    "secret secrets credential credentials creds password passwords passwd passphrase token apikey"
    " apikeys privatekey accesskey authtoken"
)
_PAIRS = re.compile(
    r"(?:api|access|private|signing|deploy|ssh|master|encryption|service|host|rsa|dsa|ed25519)[._-]?keys?"
    r"|(?<![a-z])(?:gcp|aws|sa|jwt|ssl|tls)[._-]?keys?"
    r"|(?:auth|access|refresh|session|bearer|github|gitlab|slack|bot)[._-]?tokens?"
    r"|vault[._-]?pass|kubeconfig|_(?:rsa|dsa|ed25519|ecdsa)$"
)
CODE = word_set(
    "c cc cpp cs css dart el erl ex exs go graphql h hpp hs html java jl js jsx kt less lua m md mdx mjs"
    " ml php proto pug py pyi r rb rs rst sass scala scss sh sql svelte swift ts tsx vue zig png svg"
)
"""File types of source code and documents, where a name like "token" means no secret."""


def is_secret(steps: Steps) -> bool:
    low = tuple(step.lower() for step in steps)
    if ".git" in low and low[-1] in _GIT_CONFIG_FILES:
        return True
    if any(_is_known(step) for step in low):
        return True
    return bool(low) and not _is_code(low[-1]) and any(_has_secret_name(step) for step in low)


def _is_known(step: str) -> bool:
    return bool(_KNOWN.match(step)) and not _PUBLIC.match(step)


def _is_code(name: str) -> bool:
    return "." in name[1:] and name.rpartition(".")[2] in CODE


def _has_secret_name(step: str) -> bool:
    return not _NAMES.isdisjoint(re.split(r"[^a-z]+", step)) or bool(_PAIRS.search(step))

"""Ecosystems: proposes test commands by the files of a repository."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, structs

from allstop.settings.detection.repository_files import RepositoryFiles
from allstop.settings.key_path import table_at, value_at


class ProposedCheck(Struct, frozen=True, kw_only=True):
    name: str
    run: str
    reason: str
    required: bool = True


def propose_checks(files: RepositoryFiles) -> tuple[ProposedCheck, ...]:
    """Commands of the test tools; those of make and just only if no tool is found."""
    found = [check for ecosystem in _ECOSYSTEMS for check in ecosystem(files)]
    return tuple(_with_unique_names(found) if found else _runners(files))


def _with_unique_names(checks: list[ProposedCheck]) -> Iterator[ProposedCheck]:
    """Add the tool to names that occur more than once."""
    names = [check.name for check in checks]
    for check in checks:
        if names.count(check.name) == 1:
            yield check
        else:
            tool = check.run.split()[0].rpartition("/")[2]
            yield structs.replace(check, name=f"{check.name} ({tool})")


def _python(files: RepositoryFiles) -> Iterator[ProposedCheck]:
    if files.has("tox.ini") and "[tox]" in files.text("tox.ini"):
        yield ProposedCheck(name="Tests", run="tox", reason="tox.ini has [tox]")
    elif files.has("noxfile.py"):
        yield ProposedCheck(name="Tests", run="nox", reason="there is a noxfile.py")
    elif reason := _why_pytest(files):
        launcher, because = _python_launcher(files)
        yield ProposedCheck(name="Tests", run=f"{launcher}pytest -q", reason=reason + because)


def _why_pytest(files: RepositoryFiles) -> str | None:
    if value_at(files.toml("pyproject.toml"), ("tool", "pytest")) is not None:
        return "pyproject.toml has [tool.pytest]"
    if files.has("pytest.ini"):
        return "there is a pytest.ini"
    if "[tool:pytest]" in files.text("setup.cfg"):
        return "setup.cfg has [tool:pytest]"
    if files.has("conftest.py") or files.has("tests/conftest.py"):
        return "there is a conftest.py"
    if files.has_any("tests/test_*.py") or files.has_any("test_*.py"):
        return "there are test_*.py files"
    return None


def _python_launcher(files: RepositoryFiles) -> tuple[str, str]:
    """A linked .venv is read-only, so uv must not sync it."""
    if files.has("uv.lock"):
        keep = "--no-sync " if files.folders(".venv") else ""
        return f"uv run {keep}", ", and there is a uv.lock"
    for tool in ("poetry", "pdm"):
        if files.has(f"{tool}.lock"):
            return f"{tool} run ", f", and there is a {tool}.lock"
    return "", ""


_NO_TEST = "no test specified"


def _javascript(files: RepositoryFiles) -> Iterator[ProposedCheck]:
    scripts = table_at(files.json("package.json"), ("scripts",))
    runner = _javascript_runner(files)
    test = scripts.get("test")
    if isinstance(test, str) and _NO_TEST not in test:
        run = "bun run test" if runner == "bun" else f"{runner} test"
        yield ProposedCheck(name="Tests", run=run, reason="package.json has a test script")
    if "typecheck" in scripts:
        run = f"{runner} run typecheck"
        yield ProposedCheck(name="Types", run=run, reason="package.json has a typecheck script")
    if "lint" in scripts:
        run = f"{runner} run lint"
        reason = "package.json has a lint script"
        yield ProposedCheck(name="Lint", run=run, reason=reason, required=False)


def _javascript_runner(files: RepositoryFiles) -> str:
    named = str(files.json("package.json").get("packageManager", "")).partition("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
    return next((runner for lock, runner in locks.items() if files.has(lock)), "npm")


_BY_FILE = (
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("mix.exs", "mix test"),
    ("Package.swift", "swift test"),
    ("deno.json", "deno test"),
    ("deno.jsonc", "deno test"),
    ("*.sln", "dotnet test"),
    ("*.slnx", "dotnet test"),
    ("*.csproj", "dotnet test"),
    ("*.fsproj", "dotnet test"),
    (".rspec", "bundle exec rspec"),
    ("phpunit.xml", "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "vendor/bin/phpunit"),
    ("stack.yaml", "stack test"),
    ("build.sbt", "sbt test"),
    ("pubspec.yaml", "dart test"),
    ("build.zig", "zig build test"),
)


def _one_file(files: RepositoryFiles) -> Iterator[ProposedCheck]:
    seen: set[str] = set()
    for pattern, run in _BY_FILE:
        if run not in seen and files.has_any(pattern):
            seen.add(run)
            yield ProposedCheck(name="Tests", run=run, reason=f"there is a {pattern}")


def _java(files: RepositoryFiles) -> Iterator[ProposedCheck]:
    if files.has("pom.xml"):
        run = "./mvnw -q test" if files.has("mvnw") else "mvn -q test"
        yield ProposedCheck(name="Tests", run=run, reason="there is a pom.xml")
    for build in ("build.gradle", "build.gradle.kts"):
        if files.has(build):
            run = "./gradlew test" if files.has("gradlew") else "gradle test"
            yield ProposedCheck(name="Tests", run=run, reason=f"there is a {build}")
            return


_ECOSYSTEMS: tuple[Callable[[RepositoryFiles], Iterator[ProposedCheck]], ...] = (
    _python,
    _javascript,
    _one_file,
    _java,
)


def _runners(files: RepositoryFiles) -> Iterator[ProposedCheck]:
    for tool, names in (("make", _MAKEFILES), ("just", _JUSTFILES)):
        for file in names:
            for target in ("test", "check"):
                if re.search(rf"(?m)^{target}[^\n=]*:(?!=)", files.text(file)):
                    reason = f"{file} has a target {target}"
                    yield ProposedCheck(name="Tests", run=f"{tool} {target}", reason=reason)
                    return


_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")

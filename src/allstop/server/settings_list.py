"""The list of settings as the page shows it: value in force, value in the file, form field."""

from __future__ import annotations

from collections.abc import KeysView
from typing import TYPE_CHECKING

from msgspec import UNSET

from allstop.app.setup.edit_setting import content_of, digest_of
from allstop.app.setup.settings_status import SettingStatus, setting_statuses
from allstop.core.errors import AllstopError
from allstop.server.wire_types import SettingList, SettingRow, SettingsFile
from allstop.settings.form_fields import Form, choices_of, form_of
from allstop.settings.key_path import split_dotted
from allstop.settings.loader import FILE_NAME
from allstop.settings.origins import describe_origin
from allstop.settings.problems import SettingsError
from allstop.settings.redaction import redacted
from allstop.settings.repository_trust.sensitive import reason_for
from allstop.settings.schema import kind_at
from allstop.settings.settings_rows import Row, rows
from allstop.settings.value_types import expected

if TYPE_CHECKING:
    from allstop.app.project import Project


def listed(project: Project, problem: str) -> SettingList:
    loaded = project.loaded
    if project.root is None:
        shown = [_row(row, SettingStatus()) for row in rows(loaded)]
        return SettingList(settings=shown, file=None, notes=list(loaded.notes), problem=problem)
    file, in_file = _file(project)
    in_force = {row.key: row for row in rows(loaded)}
    all_rows = (
        {**_checkout_rows(project, in_force.keys()), **in_force} if not file.problem else in_force
    )
    return SettingList(
        settings=[_row(row, in_file.get(key, SettingStatus())) for key, row in all_rows.items()],
        file=file,
        notes=list(loaded.notes),
        problem=problem,
    )


def _checkout_rows(project: Project, known: KeysView[str]) -> dict[str, Row]:
    """Return the checkout's rows if it has settings that are not in force, such as a new agent."""
    checkout = project.checkout
    return {row.key: row for row in rows(checkout)} if checkout.origins.keys() - known else {}


def _file(project: Project) -> tuple[SettingsFile, dict[str, SettingStatus]]:
    try:
        content, digest = content_of(project.repository / FILE_NAME), digest_of(project)
        in_file = setting_statuses(content or b"", project.loaded, project.checkout)
    except (AllstopError, SettingsError) as error:
        return SettingsFile(exists=True, digest="", problem=str(error)), {}
    return SettingsFile(exists=content is not None, digest=digest, problem=""), in_file


def _row(row: Row, standing: SettingStatus) -> SettingRow:
    path = split_dotted(row.key) or ()
    kind = kind_at(path)
    return SettingRow(
        key=row.key,
        value=row.value,
        default=None if row.default is UNSET else row.default,
        origin=describe_origin(row.origin),
        description=row.description,
        form=form_of(kind) if kind else Form.TABLES,
        choices=choices_of(kind) if kind else (),
        expected=expected(kind) if kind else "",
        written=standing.value is not UNSET,
        file_value=None if standing.value is UNSET else redacted(standing.value, path),
        waits_for=standing.waits_for,
        trust=reason_for(path),
    )

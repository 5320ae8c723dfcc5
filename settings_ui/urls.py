"""Routes of the settings."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from settings_ui.views import (
    account,
    backup,
    file_changes,
    file_edit,
    files,
    model_presets,
    privacy,
    search,
    skills,
    snapshot_detail,
    snapshots,
    system,
    usage,
    values,
    workspaces,
)
from settings_ui.views.memory import approvals, history, line_acts, lines, overview, runs

# /settings/
urlpatterns: list[URLPattern | URLResolver] = [
    path("settings/", RedirectView.as_view(pattern_name="settings_models"), name="settings"),
    path("settings/models/", model_presets.models_page, name="settings_models"),
    path("settings/models/use", model_presets.use, name="settings_models_use"),
    path("settings/models/assign", model_presets.assign, name="settings_models_assign"),
    path("settings/models/look", model_presets.find_servers, name="settings_models_look"),
    path("settings/models/add", model_presets.add, name="settings_models_add"),
    path("settings/models/preset/<str:name>/copy", model_presets.copy, name="settings_preset_copy"),
    path("settings/models/test", model_presets.test, name="settings_models_test"),
    path("settings/models/put-back", model_presets.put_back, name="settings_models_put_back"),
    path(
        "settings/models/keys/<int:key_id>/remove",
        model_presets.remove_key,
        name="settings_key_remove",
    ),
    path("settings/models/preset/<str:name>/", model_presets.preset, name="settings_preset"),
    path(
        "settings/models/preset/<str:name>/remove",
        model_presets.remove,
        name="settings_preset_remove",
    ),
    path("settings/account/", account.account_page, name="settings_account"),
    path("settings/account/password", account.password, name="settings_password"),
    path("settings/account/two-factor/", account.two_factor_page, name="settings_two_factor"),
    path(
        "settings/account/two-factor/begin",
        account.begin_two_factor,
        name="settings_two_factor_begin",
    ),
    path(
        "settings/account/two-factor/confirm",
        account.confirm_two_factor,
        name="settings_two_factor_confirm",
    ),
    path(
        "settings/account/two-factor/renew",
        account.renew_recovery_codes,
        name="settings_two_factor_renew",
    ),
    path("settings/account/two-factor/end", account.end_two_factor, name="settings_two_factor_end"),
    path("settings/account/delete/", account.delete, name="settings_account_delete"),
    path("settings/account/sessions/end-others", account.end_others, name="settings_end_others"),
    path(
        "settings/account/sessions/<int:session_id>/end",
        account.end_session,
        name="settings_end_session",
    ),
    path("settings/defaults", values.keep_defaults, name="settings_keep_defaults"),
    path("settings/memory/", values.memory, name="settings_memory"),
    path("settings/memory/guide", values.make_guide, name="settings_guide"),
    path("settings/conversation/", values.conversation, name="settings_conversation"),
    path("settings/skills/", skills.skills_page, name="settings_skills"),
    path("settings/skills/consent", skills.consent, name="settings_consent"),
    path("settings/skills/<str:name>/", skills.skill, name="settings_skill"),
    path("settings/skills/<str:name>/change", skills.change, name="settings_skill_change"),
    path("settings/workspaces/", workspaces.workspaces_page, name="settings_workspaces"),
    path(
        "settings/workspaces/<uuid:workspace_id>/use",
        workspaces.use,
        name="settings_workspace_use",
    ),
    path(
        "settings/workspaces/<uuid:workspace_id>/rename",
        workspaces.rename,
        name="settings_workspace_rename",
    ),
    path(
        "settings/workspaces/<uuid:workspace_id>/delete",
        workspaces.delete,
        name="settings_workspace_delete",
    ),
    path(
        "settings/workspaces/<uuid:workspace_id>/bring-back",
        workspaces.bring_back,
        name="settings_workspace_back",
    ),
    path("settings/projects/", values.projects_page, name="settings_projects"),
    path("settings/projects/<str:name>/tidy", values.tidy, name="settings_projects_tidy"),
    path("settings/privacy/", privacy.privacy_page, name="settings_privacy"),
    path("settings/usage/", usage.usage_page, name="settings_usage"),
    path("settings/backup/", backup.backup_page, name="settings_backup"),
    path("settings/backup/export", backup.export, name="backup_export"),
    path("settings/backup/download/<str:name>/", backup.download, name="backup_download"),
    path("settings/backup/discard/<str:name>", backup.discard, name="backup_discard"),
    path("settings/backup/piece", backup.piece, name="backup_piece"),
    path("settings/backup/import", backup.import_backup, name="backup_import"),
    path("settings/backup/import/<str:name>/", backup.preview, name="backup_preview"),
    path("settings/appearance/", system.appearance, name="settings_appearance"),
    path("settings/system/", system.system_page, name="settings_system"),
    path("settings/system/health/", system.files, name="settings_health"),
]

# /workspace/
urlpatterns += [
    path("workspace/", files.browse, name="files"),
    path("workspace/<path:path>", files.browse, name="files_at"),
]

urlpatterns += [
    path("files/preview", file_edit.preview, name="files_preview"),
    path("files/bring-back/<str:item_id>", file_edit.bring_back, name="files_bring_back"),
    path("files/lift/<str:item_id>", file_edit.lift, name="files_lift"),
    path("files/trash/", file_changes.trash_page, name="files_trash"),
    path("files/trash/<str:item_id>/put-back", file_changes.put_back, name="files_put_back"),
    path(
        "files/trash/<str:item_id>/delete",
        file_changes.delete_for_good,
        name="files_delete_for_good",
    ),
    path("files/new/", file_changes.new, name="files_new"),
    path("files/new/<path:path>/", file_changes.new, name="files_new_in"),
    path("files/upload/", file_changes.upload, name="files_upload"),
    path("files/upload/<path:path>/", file_changes.upload, name="files_upload_to"),
    path("files/save-code", file_changes.save_code, name="files_save_code"),
    path("files/piece/", file_changes.piece, name="files_piece"),
    path("files/piece/<path:path>/", file_changes.piece, name="files_piece_to"),
    path("files/download/", files.download, name="files_download_all"),
    path("files/download/<path:path>/", files.download, name="files_download"),
    path("files/raw/<path:path>/", files.raw, name="files_raw"),
    path("files/edit/<path:path>/", file_edit.edit, name="files_edit"),
    path("files/history/<path:path>/", files.history, name="files_history"),
    path("files/restore/<path:path>/", file_edit.restore, name="files_restore"),
    path("files/move/<path:path>/", file_changes.move, name="files_move"),
    path("files/copy/<path:path>/", file_changes.copy, name="files_copy"),
    path("files/delete/<path:path>/", file_changes.delete, name="files_delete"),
]

# /search/
urlpatterns += [
    path("search/", search.search_page, name="search"),
    path("search/palette", search.palette_choices, name="search_palette"),
]

# /jobs/
urlpatterns += [path("jobs/<int:job_id>/", system.job_page, name="job")]

# /memory/
memory_patterns: list[URLPattern | URLResolver] = [
    path("", lines.knows_page, name="memory"),
    path("strip", lines.strip, name="memory_strip"),
    path("lines/", line_acts.act, name="memory_lines"),
    path("lines/add", line_acts.add, name="memory_add"),
    path("lines/edit", line_acts.edit, name="memory_edit"),
    path("lines/forget", line_acts.forget, name="memory_forget"),
    path("noted/forget", line_acts.forget_noted, name="memory_forget_noted"),
    path("lines/move", line_acts.move, name="memory_move"),
    re_path(r"^changes/([0-9a-f]{12})/$", line_acts.change_page, name="memory_change"),
    path("history/", history.history_page, name="memory_history"),
    path("overview/", overview.overview_page, name="memory_overview"),
    path("dream", overview.dream_now, name="memory_dream_now"),
    path("rehearse", overview.begin_dry_run, name="memory_rehearse"),
    path("rehearsals/<int:job_id>/", overview.dry_run_page, name="memory_rehearsal"),
    path("offer-again", overview.offer_again, name="memory_offer_again"),
    path("runs/", runs.listing, name="memory_runs"),
    path("runs/<int:run_id>/", runs.run_page, name="memory_run"),
    path("runs/<int:run_id>/undo/", runs.undo_update, name="memory_undo"),
    path("undo/<str:sha>/", runs.undo_version, name="memory_undo_version"),
    path("runs/<int:run_id>/offer", runs.offer, name="memory_offer"),
    path("runs/<int:run_id>/prune", approvals.prune, name="memory_prune"),
    path("approvals/", approvals.approvals_page, name="memory_approvals"),
    path("approvals/accept-all", approvals.accept_all, name="memory_accept_all"),
    path("approvals/undo", approvals.undo, name="memory_approvals_undo"),
    path("approvals/skill", approvals.skill, name="memory_skill"),
    path("approvals/<int:hunk_id>/", approvals.decide, name="memory_decide"),
    path("archive/", history.archive_page, name="memory_archive"),
    path("archive/<str:item_id>/", history.item, name="memory_archived"),
    path("archive/<str:item_id>/back", history.back, name="memory_back"),
    path("forgotten/", history.forgotten_page, name="memory_forgotten"),
    path("forgotten/<str:item_id>/lift", history.lift, name="memory_lift"),
    path("files/<path:path>", lines.lines_page, name="memory_file"),
    path("pin/<path:path>", lines.pin_file, name="memory_pin"),
]
urlpatterns += [path("memory/", include(memory_patterns))]

urlpatterns += [
    path("snapshots/", snapshots.snapshots_page, name="snapshots"),
    path("snapshots/take", snapshots.take_snapshot, name="snapshot_take"),
    path("snapshots/keep/", snapshots.retention_page, name="snapshot_keep"),
    path("snapshots/versions/", snapshots.version_list, name="snapshot_versions"),
    path("snapshots/versions/<str:version_id>/", snapshots.version_page, name="snapshot_version"),
    path("snapshots/<str:snapshot_id>/", snapshot_detail.snapshot_page, name="snapshot"),
    path(
        "snapshots/<str:snapshot_id>/files/<path:path>",
        snapshot_detail.snapshot_page,
        name="snapshot_at",
    ),
    path("snapshots/<str:snapshot_id>/raw/<path:path>", snapshot_detail.raw, name="snapshot_raw"),
    path("snapshots/<str:snapshot_id>/diff/", snapshot_detail.diff_page, name="snapshot_diff"),
    path(
        "snapshots/<str:snapshot_id>/restore/",
        snapshot_detail.restore_page,
        name="snapshot_restore",
    ),
]

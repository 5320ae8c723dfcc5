"""Routes of the settings."""

from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from settings_ui.views import (
    account,
    backup,
    jobs,
    privacy,
    projects,
    search,
    skills,
    system,
    two_factor,
    usage,
    values,
    workspaces,
)
from settings_ui.views.files import browse, change, content, edit, history, memory, trash, upload
from settings_ui.views.model_presets import page as models
from settings_ui.views.model_presets import preset as presets
from settings_ui.views.snapshots import detail, diff, restore, retention, snapshot_list, versions

# /settings/
urlpatterns: list[URLPattern | URLResolver] = [
    path("settings/", RedirectView.as_view(pattern_name="settings_models"), name="settings"),
    path("settings/models/", models.models_page, name="settings_models"),
    path("settings/models/use", models.use, name="settings_models_use"),
    path("settings/models/assign", models.assign, name="settings_models_assign"),
    path("settings/models/look", models.find_servers, name="settings_models_look"),
    path("settings/models/add", models.add, name="settings_models_add"),
    path("settings/models/preset/<str:name>/copy", presets.copy, name="settings_preset_copy"),
    path("settings/models/test", models.test, name="settings_models_test"),
    path("settings/models/put-back", presets.put_back, name="settings_models_put_back"),
    path("settings/models/keys/<int:key_id>/remove", models.remove_key, name="settings_key_remove"),
    path("settings/models/preset/<str:name>/", presets.preset, name="settings_preset"),
    path(
        "settings/models/preset/<str:name>/remove",
        presets.remove,
        name="settings_preset_remove",
    ),
    path("settings/account/", account.account_page, name="settings_account"),
    path("settings/account/password", account.password, name="settings_password"),
    path("settings/account/two-factor/", two_factor.two_factor_page, name="settings_two_factor"),
    path(
        "settings/account/two-factor/begin",
        two_factor.begin_two_factor,
        name="settings_two_factor_begin",
    ),
    path(
        "settings/account/two-factor/confirm",
        two_factor.confirm,
        name="settings_two_factor_confirm",
    ),
    path("settings/account/two-factor/renew", two_factor.renew, name="settings_two_factor_renew"),
    path("settings/account/two-factor/end", two_factor.end, name="settings_two_factor_end"),
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
    path("settings/projects/", projects.projects_page, name="settings_projects"),
    path("settings/projects/<str:name>/tidy", projects.tidy, name="settings_projects_tidy"),
    path("settings/privacy/", privacy.privacy_page, name="settings_privacy"),
    path("settings/usage/", usage.usage_page, name="settings_usage"),
    path("settings/backup/", backup.backup_page, name="settings_backup"),
    path("settings/backup/export", backup.export, name="backup_export"),
    path("settings/backup/download/<str:name>/", backup.download, name="backup_download"),
    path("settings/backup/discard/<str:name>", backup.discard, name="backup_discard"),
    path("settings/backup/piece", backup.piece, name="backup_piece"),
    path("settings/backup/import", backup.take_in, name="backup_import"),
    path("settings/backup/import/<str:name>/", backup.preview, name="backup_preview"),
    path("settings/appearance/", system.appearance, name="settings_appearance"),
    path("settings/system/", system.system_page, name="settings_system"),
    path("settings/system/health/", system.files, name="settings_health"),
]

# /workspace/
urlpatterns += [
    path("workspace/", browse.browse, name="files"),
    path("workspace/<path:path>", browse.browse, name="files_at"),
]

urlpatterns += [
    path("files/preview", edit.preview, name="files_preview"),
    path("files/bring-back/<str:item_id>", memory.bring_back, name="files_bring_back"),
    path("files/lift/<str:item_id>", memory.lift, name="files_lift"),
    path("files/trash/", trash.trash_page, name="files_trash"),
    path("files/trash/<str:item_id>/put-back", trash.put_back, name="files_put_back"),
    path("files/trash/<str:item_id>/delete", trash.delete, name="files_delete_for_good"),
    path("files/new/", change.new, name="files_new"),
    path("files/new/<path:path>/", change.new, name="files_new_in"),
    path("files/upload/", upload.upload, name="files_upload"),
    path("files/upload/<path:path>/", upload.upload, name="files_upload_to"),
    path("files/piece/", upload.piece, name="files_piece"),
    path("files/piece/<path:path>/", upload.piece, name="files_piece_to"),
    path("files/download/", content.download, name="files_download_all"),
    path("files/download/<path:path>/", content.download, name="files_download"),
    path("files/raw/<path:path>/", content.raw, name="files_raw"),
    path("files/edit/<path:path>/", edit.edit, name="files_edit"),
    path("files/history/<path:path>/", history.history, name="files_history"),
    path("files/move/<path:path>/", change.move, name="files_move"),
    path("files/copy/<path:path>/", change.copy, name="files_copy"),
    path("files/delete/<path:path>/", change.delete, name="files_delete"),
]

# /search/
urlpatterns += [
    path("search/", search.search_page, name="search"),
    path("search/palette", search.palette_choices, name="search_palette"),
]

# /jobs/
urlpatterns += [path("jobs/<int:job_id>/", jobs.job_page, name="job")]

# /memory/
urlpatterns += [path("memory/", include("settings_ui.views.memory.urls"))]

urlpatterns += [
    path("snapshots/", snapshot_list.snapshots_page, name="snapshots"),
    path("snapshots/take", snapshot_list.take_snapshot, name="snapshot_take"),
    path("snapshots/keep/", retention.retention_page, name="snapshot_keep"),
    path("snapshots/versions/", versions.version_list, name="snapshot_versions"),
    path("snapshots/versions/<str:version_id>/", versions.version_page, name="snapshot_version"),
    path("snapshots/<str:snapshot_id>/", detail.snapshot_page, name="snapshot"),
    path("snapshots/<str:snapshot_id>/files/<path:path>", detail.snapshot_page, name="snapshot_at"),
    path("snapshots/<str:snapshot_id>/raw/<path:path>", detail.raw, name="snapshot_raw"),
    path("snapshots/<str:snapshot_id>/diff/", diff.diff_page, name="snapshot_diff"),
    path("snapshots/<str:snapshot_id>/restore/", restore.restore_page, name="snapshot_restore"),
]

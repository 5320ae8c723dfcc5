"""Routes of the Memory pages."""

from django.urls import path, re_path

from settings_ui.views.memory import (
    approvals,
    archive,
    changes,
    dry_run,
    history,
    knows,
    line_acts,
    lines,
    overview,
    runs,
    undo,
)

# /memory/
urlpatterns = [
    path("", knows.knows_page, name="memory"),
    path("strip", knows.strip, name="memory_strip"),
    path("lines/", line_acts.act, name="memory_lines"),
    path("lines/add", line_acts.add, name="memory_add"),
    path("lines/edit", line_acts.edit, name="memory_edit"),
    path("lines/forget", line_acts.forget, name="memory_forget"),
    path("lines/move", line_acts.move, name="memory_move"),
    re_path(r"^changes/([0-9a-f]{12})/$", changes.change_page, name="memory_change"),
    path("history/", history.history_page, name="memory_history"),
    path("overview/", overview.overview_page, name="memory_overview"),
    path("dream", overview.dream_now, name="memory_dream_now"),
    path("rehearse", dry_run.begin_dry_run, name="memory_rehearse"),
    path("rehearsals/<int:job_id>/", dry_run.dry_run_page, name="memory_rehearsal"),
    path("offer-again", overview.offer_again, name="memory_offer_again"),
    path("runs/", runs.listing, name="memory_runs"),
    path("runs/<int:run_id>/", runs.run_page, name="memory_run"),
    path("runs/<int:run_id>/undo/", undo.undo_update, name="memory_undo"),
    path("undo/<str:sha>/", undo.undo_version, name="memory_undo_version"),
    path("runs/<int:run_id>/offer", runs.offer, name="memory_offer"),
    path("runs/<int:run_id>/prune", approvals.prune, name="memory_prune"),
    path("approvals/", approvals.approvals_page, name="memory_approvals"),
    path("approvals/accept-all", approvals.accept_all, name="memory_accept_all"),
    path("approvals/undo", approvals.undo, name="memory_approvals_undo"),
    path("approvals/skill", approvals.skill, name="memory_skill"),
    path("approvals/<int:hunk_id>/", approvals.decide, name="memory_decide"),
    path("archive/", archive.listing, name="memory_archive"),
    path("archive/<str:item_id>/", archive.item, name="memory_archived"),
    path("archive/<str:item_id>/back", archive.back, name="memory_back"),
    path("forgotten/", archive.forgotten_page, name="memory_forgotten"),
    path("forgotten/<str:item_id>/lift", archive.lift, name="memory_lift"),
    path("files/<path:path>", lines.lines_page, name="memory_file"),
    path("pin/<path:path>", lines.pin_file, name="memory_pin"),
]

"""Routes of the wikis: what is looked at lies below /wikis/, what is done below /wiki/."""

from django.urls import path

from wikis.views import changing, editing, finding, looking, minding

# /wikis/
urlpatterns = [
    path("wikis/", looking.every, name="wikis"),
    path("wikis/<str:name>/", looking.front, name="wiki"),
    path("wikis/<str:name>/<path:path>", looking.browse, name="wiki_page"),
]

# /wiki/
urlpatterns += [
    path("wiki/create/", changing.create, name="wiki_create"),
    path("wiki/example/", changing.example, name="wiki_example"),
    path("wiki/search/", finding.look, name="wiki_search"),
    path("wiki/graph/", finding.graph_of_all, name="wiki_graph_of_all"),
    path("wiki/graph/<str:name>/", finding.graph, name="wiki_graph"),
    path("wiki/diagram/<str:name>/<path:path>/", finding.diagram, name="wiki_diagram"),
    path("wiki/choose/<str:name>/", finding.choose, name="wiki_choose"),
    path("wiki/new/<str:name>/", editing.new, name="wiki_new"),
    path("wiki/preview/<str:name>/", editing.preview, name="wiki_preview"),
    path("wiki/edit/<str:name>/<path:path>/", editing.edit, name="wiki_edit"),
    path("wiki/rename/<str:name>/<path:path>/", changing.rename, name="wiki_rename"),
    path("wiki/delete/<str:name>/<path:path>/", changing.delete, name="wiki_delete"),
    path("wiki/remove/<str:name>/", changing.remove, name="wiki_remove"),
    path("wiki/scope/<str:name>/", changing.scope, name="wiki_scope"),
    path("wiki/health/<str:name>/", minding.health, name="wiki_health"),
    path("wiki/feedback/<str:name>/", minding.heard, name="wiki_feedback"),
    path("wiki/comment/<str:name>/<path:path>/", minding.comment, name="wiki_comment"),
    path("wiki/resolve/<str:name>/<str:item_id>/", minding.resolve, name="wiki_resolve"),
]

"""What the page at ``/view/`` asks: nodes, slices, trends, points of a map, read plans, storage, versions.

Each module answers one request; :mod:`icecore.service.view.answers` lists them.
"""

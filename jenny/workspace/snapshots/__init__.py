"""Snapshots of whole workspaces, each in a store outside the workspace.

``taking`` takes one, ``shelf`` lists them, ``reading`` looks into one, ``comparing`` tells what
differs, ``retention`` and ``pruning`` let old ones go, ``verifying`` says whether they are whole.
``store`` says how they are kept.
"""

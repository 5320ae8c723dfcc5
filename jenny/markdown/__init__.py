"""Render untrusted Markdown to safe HTML, whole or while it streams. Plain Python."""

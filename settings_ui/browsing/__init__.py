"""The file browser without the web: kinds of files, folder lists, file contents."""

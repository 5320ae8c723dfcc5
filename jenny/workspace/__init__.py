"""Read and write a workspace folder: its files, its write rules and config.json. Plain Python."""

"""What the pipeline does outside of requests: commands, and what tasks and commands share."""

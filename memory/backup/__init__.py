"""What the machine knows of a workspace's memory, on its way into a backup and out of one."""

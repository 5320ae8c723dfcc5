"""What templates of these pages may use."""

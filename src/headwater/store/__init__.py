"""What Headwater remembers."""

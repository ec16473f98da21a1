"""The trail for those who look after the installation: what is written down at the door, and the pages that show it."""

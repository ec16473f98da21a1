"""Who may see and do what: one table of every address, and what holds callers to it."""

"""Verbs: each one transaction, keyword-only, told what time it is."""

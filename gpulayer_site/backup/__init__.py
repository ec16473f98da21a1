"""A backup of a whole installation in one file, and its way back.

The file is a gzipped tar: the database as it was at one instant, the keys of the data folder, logs, outputs and
uploaded files, and last a manifest with size and SHA-256 of each. A restored database is older than the world: see
`gpulayer_site.backup.older`.
"""

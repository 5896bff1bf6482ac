"""The commands of ``serdes``, by subject; each runs a study, prints its tables and writes its files."""

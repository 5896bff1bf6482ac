"""Comparisons with others as data, one file a subject: what, their value, where it is from, our value, how far apart it may be."""

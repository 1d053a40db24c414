"""Stands in for IPython's core."""

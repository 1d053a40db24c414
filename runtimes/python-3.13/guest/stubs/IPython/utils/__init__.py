"""Stands in for IPython's helpers."""

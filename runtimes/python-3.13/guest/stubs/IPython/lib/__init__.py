"""Stands in for IPython's library."""

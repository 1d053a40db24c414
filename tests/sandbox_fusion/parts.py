"""Modules of packages whose other parts need more than is installed."""

import importlib
import importlib.util
import sys
import types


def module_of(package, name):
    """Imports the module `name` as it is; packages above it are present with their paths alone, as their own modules
    import torch, ray and the like."""
    [folder] = importlib.util.find_spec(package).submodule_search_locations
    above = name.split(".")[:-1]
    for depth in range(1, len(above) + 1):
        parent = ".".join(above[:depth])
        if parent not in sys.modules:
            module = types.ModuleType(parent)
            module.__path__ = ["/".join([folder, *above[1:depth]])]
            sys.modules[parent] = module
    return importlib.import_module(name)

# Raises GeneratorExit at import.
raise GeneratorExit

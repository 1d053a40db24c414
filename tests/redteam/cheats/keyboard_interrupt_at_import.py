# Raises KeyboardInterrupt at import.
raise KeyboardInterrupt

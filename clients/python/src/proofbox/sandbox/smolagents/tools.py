"""Tools, as far as they matter where they run."""


class Tool:
    """A tool: calling it calls `forward`, after `setup` the first time."""

    is_initialized = False

    def __init__(self, *args, **kwargs):
        pass

    def setup(self):
        self.is_initialized = True

    def forward(self, *args, **kwargs):
        raise NotImplementedError("a tool needs a method `forward`")

    def __call__(self, *args, sanitize_inputs_outputs=False, **kwargs):
        if not self.is_initialized:
            self.setup()
        return self.forward(*args, **kwargs)


def tool(function):
    """In the sandbox a function is a tool as it is."""
    return function

"""What compile() and disable() make of a module: a module that calls another in some way of its own."""

from ..nn import Module


class OptimizedModule(Module):
    """Calls its _orig_mod through `captured`; attributes are read from and written to _orig_mod.

    state_dict() has the names of _orig_mod behind "_orig_mod.", as torch has it.
    """

    _own = frozenset({"_orig_mod", "_captured", "training"})

    def __init__(self, module, captured):
        super().__init__()
        self._modules["_orig_mod"] = module
        object.__setattr__(self, "_captured", captured)

    def __call__(self, *args, **kwargs):
        return self._captured(*args, **kwargs)

    def forward(self, *args, **kwargs):
        return self._captured(*args, **kwargs)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, mode):
        self._orig_mod.training = mode

    def train(self, mode=True):
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name):
        modules = self._modules
        if modules is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        module = modules["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name, value):
        if name in self._own or self._modules is None:
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __len__(self):
        return len(self._orig_mod)

    def __iter__(self):
        return iter(self._orig_mod)

    def __getitem__(self, index):
        return self._orig_mod[index]

    def register_forward_hook(self, *args, **kwargs):
        return self._orig_mod.register_forward_hook(*args, **kwargs)

    def register_forward_pre_hook(self, *args, **kwargs):
        return self._orig_mod.register_forward_pre_hook(*args, **kwargs)


def call_of(module):
    """A function that calls the module, with a code object of its own: its captures compete with no other module's."""

    def call(*args, **kwargs):
        return module(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_name=type(module).__name__)
    call.__name__ = call.__qualname__ = type(module).__name__
    call.__module__ = type(module).__module__
    return call

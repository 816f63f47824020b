"""The programs of a test module, by name; those that break are marked."""


class Programs(dict):
    def __init__(self):
        super().__init__()
        self.breaking = set()

    def add(self, function):
        self[function.__name__] = function
        return function

    def add_breaking(self, function):
        self.breaking.add(function.__name__)
        return self.add(function)

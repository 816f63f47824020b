from ._show_config import show_config

print(show_config())

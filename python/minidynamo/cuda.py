"""What programs ask before they choose a device: there is none but the CPU."""


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def current_device():
    raise RuntimeError("minidynamo runs on the CPU only: there is no CUDA device")


def synchronize(device=None):
    raise RuntimeError("minidynamo runs on the CPU only: there is no CUDA device")


def empty_cache() -> None:
    """Does nothing, as with no device in use."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator to seed."""

"""The exceptions that minidynamo raises on its own account."""


class TorchDynamoException(RuntimeError):
    """Base of the exceptions of capture."""


class InternalError(TorchDynamoException):
    """A bug in minidynamo."""


InternalTorchDynamoError = InternalError

"""The legacy tensor types, FloatTensor and its like: tests for isinstance() and ways to make a tensor of one dtype."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def legacy_tensor(name: str, dtype: _C.dtype, args: tuple[Any, ...], device: Any = None) -> _C.Tensor:
    """What a legacy constructor of a dtype makes of its arguments: sizes, or a sequence, an array or a tensor."""
    if len(args) != 1 or (isinstance(args[0], int) and not isinstance(args[0], bool)):
        if not all(isinstance(size, int) for size in args):
            raise TypeError(f"{name}() takes the sizes as ints, or one argument: 'data'")
        return _C._op_functions["zeros"]([int(size) for size in args or (0,)], dtype=dtype, device=device)
    if isinstance(args[0], _C.Size):
        return _C._op_functions["zeros"](args[0], dtype=dtype, device=device)
    if isinstance(args[0], (bool, float)):
        raise TypeError(f"{name}(): data must be a sequence (got {type(args[0]).__name__})")
    if not isinstance(args[0], _C.Tensor):
        return _C.tensor(args[0], dtype=dtype, device=device)
    if args[0].dtype is not dtype:
        raise TypeError(f"{name}() expects a tensor of {dtype}, not of {args[0].dtype}")
    return args[0].detach()


class TensorType:
    """The tensors of one dtype. Not a class: tensors of all dtypes are of the class Tensor, as in torch."""

    __slots__ = ("__name__", "__weakref__", "dtype")

    __name__: str
    dtype: _C.dtype

    def __init__(self, name: str, dtype: _C.dtype) -> None:
        self.__name__ = name
        self.dtype = dtype

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, _C.Tensor) and value.dtype is self.dtype

    def __call__(self, *args: Any, device: _C.device | str | None = None) -> _C.Tensor:
        """A tensor of the elements of a sequence or an array, or one of zeros of the given sizes.

        A tensor of this dtype is returned as an alias of it; TypeError for one of another dtype.
        """
        return legacy_tensor(self.__name__, self.dtype, args, device)

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"

    def __or__(self, other: Any) -> Any:
        """A type of annotations: LongTensor | None."""
        import typing

        return typing.Union[self, other]  # noqa: UP007  neither side is always a class

    def __ror__(self, other: Any) -> Any:
        """The same, for None | LongTensor."""
        import typing

        return typing.Union[other, self]  # noqa: UP007  neither side is always a class

    def __reduce__(self) -> str:
        return self.__name__


def _of(dtype: _C.dtype) -> TensorType:
    return TensorType(dtype._row["torch"], dtype)


BFloat16Tensor = _of(_C._dtypes["bfloat16"])
BoolTensor = _of(_C._dtypes["bool"])
ByteTensor = _of(_C._dtypes["uint8"])
CharTensor = _of(_C._dtypes["int8"])
DoubleTensor = _of(_C._dtypes["float64"])
FloatTensor = _of(_C._dtypes["float32"])
HalfTensor = _of(_C._dtypes["float16"])
IntTensor = _of(_C._dtypes["int32"])
LongTensor = _of(_C._dtypes["int64"])
ShortTensor = _of(_C._dtypes["int16"])

TYPED_TENSORS = {name: value for name, value in globals().items() if isinstance(value, TensorType)}

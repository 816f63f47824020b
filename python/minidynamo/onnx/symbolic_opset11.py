"""By name alone, for programs that import it: the operators of ONNX's opset 11 are not in minidynamo."""

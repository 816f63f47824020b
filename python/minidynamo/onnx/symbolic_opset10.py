"""By name alone, for programs that import it: the operators of ONNX's opset 10 are not in minidynamo."""

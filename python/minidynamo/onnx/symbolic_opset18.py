"""By name alone, for programs that import it: the operators of ONNX's opset 18 are not in minidynamo."""

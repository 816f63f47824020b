"""Quantized tensors are not here."""

engine = "none"
supported_engines = ["none"]

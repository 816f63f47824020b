"""The names of torch.fx.experimental that programs import."""

"""What is found under `minidynamo` that is about tensors: names, printing, dtypes, modes of gradients."""

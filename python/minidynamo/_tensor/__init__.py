"""The tensor-related exports of `minidynamo`: names, printing, dtypes, gradient modes."""

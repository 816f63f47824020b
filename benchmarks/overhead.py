"""What a call costs when there is next to nothing to compute: python benchmarks/overhead.py

The rows of workloads/calls.py as steady.py measures them, in more rounds. Three elements, so that the time is that of
the call: entry, guards, dispatch, allocation of the result.
"""

import steady

if __name__ == "__main__":
    steady.main(__doc__, rounds=40, rows="calls")

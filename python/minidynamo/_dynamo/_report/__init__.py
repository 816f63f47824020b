"""An ExplainOutput as one HTML page that needs nothing else: no script, no network."""

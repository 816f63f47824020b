"""An ExplainOutput as one self-contained HTML page: no script, no network."""

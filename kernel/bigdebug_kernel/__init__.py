"""The Jupyter side of bigdebug: IPython extension, magics, comms, crash display."""

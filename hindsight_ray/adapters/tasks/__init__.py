"""Where independent jobs run in this process or beside it, and where their results are kept."""

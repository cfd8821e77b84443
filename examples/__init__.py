"""Stories that run against the public names of hindsight_ray."""

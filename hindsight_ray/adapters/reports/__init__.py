"""Files that attributions leave as: images and provenance documents."""

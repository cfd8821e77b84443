"""Credit as pictures and pages: what is drawn where, apart from what draws it."""

"""One vendor each: only an adapter imports its library."""

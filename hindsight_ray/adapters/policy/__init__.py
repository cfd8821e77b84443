"""Policy engines and tickets."""

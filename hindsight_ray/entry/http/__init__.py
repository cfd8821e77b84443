"""The HTTP door: every verb as `POST /v1/<verb>`, JSON in and out, a ticket with each request."""

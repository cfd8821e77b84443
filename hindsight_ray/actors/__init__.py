"""Thin Ray shells around the services: plain classes, decorated where `compose` deploys them."""

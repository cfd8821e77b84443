"""Vectors in a Weaviate server: a collection per embedding model, a tenant of it per tenant."""

import importlib
import warnings

with warnings.catch_warnings():  # the vendor's package has every warning of a program shown
    importlib.import_module("weaviate")  # before any module here imports it

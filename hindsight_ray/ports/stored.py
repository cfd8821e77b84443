"""Vectors, and what goes to a memory store that keeps them outside the ledger's database."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

"""Numbers as callers give them: a truth value or a text is none, and each fits every ledger."""

from typing import Annotated

from pydantic import Field, Strict

COUNT_MAX = 2**53  # what JSON carries exactly everywhere

Whole = Annotated[int, Strict()]
Real = Annotated[float, Strict()]
Truth = Annotated[bool, Strict()]
Portion = Annotated[float, Strict(), Field(ge=0.0, le=1.0)]
Count = Annotated[int, Strict(), Field(ge=0, le=COUNT_MAX)]
Seed = Annotated[int, Strict(), Field(ge=-(2**63), lt=2**63)]
Code = Annotated[int, Strict(), Field(ge=-(2**31), lt=2**31)]  # of a status, as tools give them

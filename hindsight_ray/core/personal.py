"""Which parts of a text are personal data: addresses, phones, identity and account numbers.

Numbers count only with their checksum, their form and their length right, so that order numbers and
times stay. Phones written internationally are checked against the numbering plans of all countries
(`phonenumbers`, the data of Google's libphonenumber); national forms only where they are telling.
"""

import re
from collections.abc import Callable


def _shape(pattern: str) -> re.Pattern[str]:
    """A letter of another script is none of an address: in Chinese, nothing stands between them."""
    return re.compile(pattern, re.ASCII)


_EMAIL = _shape(  # `git@` is where code lies, and nobody's
    r"(?<![\w.+-])(?!git@)[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}(?:@|%40)"
    r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b"
)
# A region, a date that can be, and four more, each with a space or hyphen before it or none. The
# date stands in the shape, so that digits that go before do not hide where the number begins.
_CHINESE_ID = _shape(
    (
        r"(?<![0-9A-Za-z])[1-9](?:@\d){5}@(?:1@[89]|2@0)(?:@\d){2}"
        r"@(?:0@[1-9]|1@[0-2])@(?:0@[1-9]|[12]@\d|3@[01])(?:@\d){3}@[0-9Xx](?![0-9A-Za-z])"
    ).replace("@", "[ -]?")
)
_CARD = _shape(r"(?<![0-9A-Za-z-])(?:3[47]|[4-6]\d|2[2-7])(?:[ -]?\d){11,17}(?![0-9A-Za-z-])")
_IBAN = _shape(
    r"(?<![0-9A-Za-z])[A-Z]{2}\d{2}(?:(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"
    r"|(?:-[A-Z0-9]{4}){2,7}(?:-[A-Z0-9]{1,3})?)\b"
)
_ABROAD = _shape(r"(?<![\w+])(?:\+|00(?=[1-9]))\d(?:[ ()./-]{0,2}\d){6,16}(?!\w)")
_CHINESE_MOBILE = _shape(
    r"(?<![0-9A-Za-z.+-])(?:86[ -]?)?1[3-9]\d(?:[ -]?\d{4}){2}(?![0-9A-Za-z-])"
)
_CHINESE_LANDLINE = _shape(r"(?<![0-9A-Za-z.-])[（(]?0\d{2,3}[）)]?[ -]\d{7,8}(?![0-9A-Za-z-])")
_AMERICAN = _shape(r"(?<![0-9A-Za-z.-])(?:\(\d{3}\) ?|\d{3}[.-])\d{3}[.-]\d{4}(?![0-9A-Za-z-])")
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)  # GB 11643, modulo 11
_CHECKS = "10X98765432"
_IBAN_MODULUS = 97


def chinese_id(text: str) -> bool:
    """Whether 18 characters, in groups or not, are a resident identity number by their check."""
    plain = text.replace(" ", "").replace("-", "")
    total = sum(int(digit) * weight for digit, weight in zip(plain, _WEIGHTS, strict=False))
    return _CHECKS[total % 11] == plain[17].upper()


def card(text: str) -> bool:
    """Whether the digits pass the Luhn check of payment cards."""
    digits = [int(ch) for ch in text if ch.isdigit()]
    doubled = [2 * d - 9 * (d > 4) for d in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def iban(text: str) -> bool:
    """Whether it is an account number by ISO 13616: modulo 97 is one."""
    plain = text.replace(" ", "").replace("-", "")
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(ch, 36)) for ch in turned)) % _IBAN_MODULUS == 1


def _phone(region: str | None) -> Callable[[str], bool]:
    def valid(text: str) -> bool:
        import phonenumbers  # noqa: PLC0415 - 0.1 s, and few texts hold anything like a phone

        written = "+" + text[2:] if region is None and text.startswith("00") else text
        try:
            number = phonenumbers.parse(written, region)
        except phonenumbers.NumberParseException:
            return False
        return phonenumbers.is_valid_number(number)

    return valid


def _always(_: str) -> bool:
    return True


# In this order: what is longer and surer first.
SHAPES: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("email", _EMAIL, _always),
    ("id-number", _CHINESE_ID, chinese_id),
    ("iban", _IBAN, iban),
    ("phone", _ABROAD, _phone(None)),
    ("phone", _CHINESE_MOBILE, _always),
    ("card", _CARD, card),
    ("phone", _CHINESE_LANDLINE, _phone("CN")),
    ("phone", _AMERICAN, _phone("US")),
)

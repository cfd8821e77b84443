"""Which secrets are masked, and that prose is not."""

import pytest

from hindsight_ray.core.redaction import redacted


@pytest.mark.covers("write.redact")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password=hunter2", "hunter2"),
        ('{"password": "correct horse"}', "correct horse"),
        ("密码：abc123", "abc123"),
        ("Authorization: Bearer abcdefghijkl", "abcdefghijkl"),
        ("use sk-proj-abcdefghijklmnop1234 for it", "abcdefghijklmnop1234"),
        ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("ghp_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
        ("postgres://admin:pw123@db/x", "pw123"),
        ("redis://:pw123@h", "pw123"),
        ("postgres://u:p@ss@h/db", "ss@h"),
        ("https://u:pa/ss@host/x", "pa/ss"),
        ("密码为hunter22", "hunter22"),
        ("密碼為 hunter22", "hunter22"),
        ("密码：ａｂｃ１２３", "ａｂｃ１２３"),
        ("ｐａｓｓｗｏｒｄ＝hunter2", "hunter2"),
        ("pass\u200bword: hunter2", "hunter2"),
        ("sk-\u200bproj-abcdefghijklmnop1234", "abcdefghijklmnop1234"),
        ("api_key: 12ab34cd56", "12ab34cd56"),
        ("the token is a1b2c3d4e5", "a1b2c3d4e5"),
        ("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln", "eyJzdWIiOiJhIn0"),
        ("密码 hunter22", "hunter22"),
        ("密码hunter22，请保密", "hunter22"),
        ("口令是123456", "123456"),
        ("パスワード abc12345", "abc12345"),
        ("用sk-proj-abcdefghijklmnop1234登录", "abcdefghijklmnop1234"),
        ("令牌ghp_abcdefghijklmnopqrstuvwxyz即可", "abcdefghijklmnopqrstuvwxyz"),
        ("令牌eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln", "eyJhbGciOiJFZERTQSJ9"),
        ("头部Bearer abcdefgh1jkl", "abcdefgh1jkl"),
        ("proxy said Basic YWxpY2U6aHVudGVyMg==", "YWxpY2U6"),
        ('{"body": "{\\"password\\": \\"correct horse\\"}"}', "correct horse"),
        ('"password" => "correct horse"', "correct horse"),
        ('password := "correct horse"', "correct horse"),
        ("<db:password>hunter2</db:password>", "hunter2"),
        ("Cookie: session=abcdef0123; theme=dark", "abcdef0123"),
        ("'Set-Cookie': 'sid=abcdef0123; HttpOnly'", "abcdef0123"),
        ("session_key=ab12cd34", "ab12cd34"),
        ("您的验证码是482193，5 分钟内有效", "482193"),
        ("npm_" + "aB3" * 12, "aB3aB3"),
        (f"SG.{'a1B' * 7}z.{'x9' * 21}", "x9x9"),
        ("xapp-1-A0123456789-1234567890-" + "ab12" * 16, "ab12"),
        ("pypi-AgEIcHlwaS5vcmc" + "aB1" * 20, "aB1"),
        ("dckr_pat_" + "aB1" * 9, "aB1"),
        ("LTAI5t" + "aB1" * 6, "aB1"),
        ("AccountKey=" + "aB1" * 14 + "==", "aB1"),
        ("db --password hunter22 --host x", "hunter22"),
        ("call --api-key 'ab 12 cd'", "ab 12"),
        ("-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----", "MC4CAQ"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMC4CAQ cut off", "MC4CAQ"),
    ],
)
def test_a_secret_is_masked(text: str, secret: str) -> None:
    clean, count = redacted(text)
    assert secret not in clean
    assert "[redacted:" in clean
    assert count == 1


@pytest.mark.parametrize(
    "text",
    [
        "the token is refreshed daily",
        "token: none",
        "Passwords are rotated every month",
        "secret santa is fun",
        "task-management-and-more-things",
        "Bearer of good news",
        "the basic requirements are met, as Basic Knowledge of it",
        "token::Identifier and <token>word</token>",
        "cookie: chocolate",
        "deploy.rollback with the release id 41",
        "user@example.com",
        "http://localhost:3000/@scope/pkg",
        "密码为必填项，请尽快设置",
        "密码 2026 年更换，长度 8 位",
        "密码 required",
        "run it with --password --host 10.0.0.1",
        "sort --key field12 --partition-key user42id",
        "npm_config_registry_of_the_team",
        "pypi-package-index-mirror-settings",
    ],
)
def test_prose_stays_as_it_is(text: str) -> None:
    assert redacted(text) == (text, 0)


@pytest.mark.covers("write.redact")
def test_what_stands_around_a_secret_stays_as_it_was_written() -> None:
    text = "ﬁrst：ＡＢＣ　１２３, password：hunter2；postgres://u:p@ss@h/x?mail=bob@y，①"
    clean, count = redacted(text)
    assert count == 2
    assert clean == text.replace("hunter2", "[redacted:password]").replace(
        "u:p@ss", "[redacted:password]"
    )


def test_masking_again_changes_nothing() -> None:
    once, _ = redacted("password=hunter2 and Bearer abcdefghijkl")
    assert redacted(once) == (once, 0)


def test_long_hostile_texts_are_read_in_linear_steps() -> None:
    for piece in (
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "a" * 50 + "://",
        "eyJ",
        "sk-",
        "://:@/",
        "：＠１",
    ):
        clean, _ = redacted(piece * (20_000 // len(piece)))
        assert clean

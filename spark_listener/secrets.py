"""What a secret looks like: the names that secrets go by, and the forms that they have.

For the redaction of the Spark side and for that of intake, which must know the same. Only the secret part of a text is replaced, so that an
address still names its dataset. The same text must give the same result, since names are identities. A password that stands alone and
looks like a word is not known for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MARK = "[redacted]"

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]

_CORE = (
    r"pass(?:word|wd|phrase|code)|passwort|secret|credential|authorization|cookie|api[-_.]?key|access[-_.]?key|account[-_.]?key|private[-_.]?key"
    r"|encryption[-_.]?key|signing[-_.]?key|auth[-_.]?token|(?:access|session|refresh|bearer|id|sas|api|csrf|oauth)[-_.]?token|connection[-_.]?string"
    r"|(?<![a-z])(?:pwd|passw)(?![a-z])|(?-i:(?<=[a-z0-9])(?:Pwd|Pass|Token)(?![a-z]))"
)
# Values of any type go that stand under such a name …
_NAME = re.compile(rf"{_CORE}|^token$|[-_.]token$|(?-i:[a-z0-9]Token$)|^pwd$|^pass$", re.IGNORECASE)
# … and texts under these too, which also name counts and functions.
_BROAD = rf"(?:{_CORE}|tokens?(?![a-z])|(?<![a-z])(?:pwd|pass|sas|sig|signature)(?![a-z])|x-amz-signature|x-amz-security-token)"
_TEXT_NAME = re.compile(_BROAD, re.IGNORECASE)

_QUOTED = r"""\\+"(?:[^"\\]|\\+(?!["\\]))*(?:\\+"|$)|"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.|'')*(?:'|$)"""
_VALUE = rf"(?:{_QUOTED}|[^\s\"'&;,)}}\]<>\[\\][^\s\"'&;,)}}\]<>\[]*)"
_TAIL = r"[\w.\-]{0,64}+"  # without going back: a text may be made of names


def _masked(found: re.Match[str]) -> str:
    """What stands before the value, and the mark in the value's quotes."""
    quote = re.match(r"\\*[\"']", found[2])
    return f"{found[1]}{quote[0]}{MARK}{quote[0]}" if quote else f"{found[1]}{MARK}"


# user:password@ in an address, whatever the password is made of; a port is none
_USERINFO = re.compile(
    r"(?<=://)(?P<user>[^/\s:@?#\"']{0,256}+):(?!\d*(?:[/?#\s\"']|$))[^\s\"'@]{0,256}+@(?:[^\s\"'/@?#]{0,256}+@){0,4}"
    r"|(?<=[sS]3://)(?P<s3>[^/\s:@\"']{0,256}+):[^\s\"'@]{1,256}+@|(?<=[sS]3[aAnN]://)(?P<s3a>[^/\s:@\"']{0,256}+):[^\s\"'@]{1,256}+@"
)
_ANNOUNCED: tuple[Rule, ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MARK),
    (
        re.compile(
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}\b"
            r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|\bhw_[\w-]{20,}|\bdapi[0-9a-f]{32}\b|\bAIza[\w-]{35}|\b[sr]k_live_\w{16,}"
        ),
        MARK,
    ),
)
# What may be taken out of a name without making two names one: a partition folder `token=7` is no secret.
_ADDRESS: tuple[Rule, ...] = (
    (re.compile(r"(?i)(jdbc:oracle:\w{1,16}:[^/\s@\"']{0,256}+)/[^\s@\"']{1,256}+@"), rf"\1/{MARK}@"),
    (re.compile(rf"(?i)(?<=[?&;])({_BROAD}{_TAIL})=[^&;,\s\"'\[]+"), rf"\1={MARK}"),
)
_TEXT: tuple[Rule, ...] = (
    # <password>…</password>
    (re.compile(rf"(?i)({_BROAD}{_TAIL}>)[^<]+(?=<)"), rf"\1{MARK}"),
    # Authorization: Basic …
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{8,}"), rf"\1\2{MARK}"),
    # password=…, "password": "…", password => '…', OPTIONS (password '…'), --password …
    (
        re.compile(rf"(?i)({_BROAD}{_TAIL}(?:\\*[\"'`])?\s{{0,8}}(?:=>|:=|=|:|%3d)\s{{0,8}})({_VALUE})"),
        _masked,
    ),
    (re.compile(rf"(?i)({_BROAD}{_TAIL}(?:\\*[\"'`])?\s{{1,8}})({_QUOTED})"), _masked),
    (re.compile(rf"(?i)((?<![\w-])--?[\w.\-]{{0,64}}?{_BROAD}{_TAIL}\s{{1,8}})(?!-)[^\s\"'\[]+"), rf"\1{MARK}"),
    (re.compile(rf"(?i)(\bidentified\s{{1,8}}by\s{{1,8}})({_QUOTED}|[^\s;\"'\[]+)"), _masked),
    # {"key": "password", "value": …}, in either order
    (
        re.compile(
            rf"(?i)(\\*\"(?:key|name|property|option)\\*\"\s{{0,8}}:\s{{0,8}}\\*\"[^\"\\]{{0,64}}{_BROAD}[^\"\\]{{0,64}}\\*\"\s{{0,8}},"
            rf"\s{{0,8}}\\*\"(?:value|val)\\*\"\s{{0,8}}:\s{{0,8}})({_VALUE})"
        ),
        _masked,
    ),
    (
        re.compile(
            rf"(?i)(\\*\"(?:value|val)\\*\"\s{{0,8}}:\s{{0,8}})({_VALUE})(?=\s{{0,8}},\s{{0,8}}\\*\"(?:key|name|property|option)\\*\"\s{{0,8}}:\s{{0,8}}"
            rf"\\*\"[^\"\\]{{0,64}}{_BROAD})"
        ),
        _masked,
    ),
)
# No rule can match a text without one of these: most text is passed by one look.
_SUSPECT_NAME = re.compile(r"[@?&;]|AKIA|ASIA|gh[pousr]_|github_pat|glpat|xox|eyJ|hw_|dapi|AIza|k_live|-----BEGIN")
_SUSPECT_TEXT = re.compile(
    rf"(?i)@|bearer|basic|identified|AKIA|ASIA|gh[pousr]_|github_pat|glpat|xox|eyJ|hw_|dapi|AIza|k_live|-----BEGIN|{_BROAD}"
)
_PIECE = 1 << 14  # characters that rules go through at once: they hold the interpreter


def is_secret_name(name: str, *, of_text: bool = True) -> bool:
    """Whether what stands under this name is a secret: a text, or, with `of_text` false, a value of any type."""
    return bool((_TEXT_NAME if of_text else _NAME).search(name) or (of_text and _NAME.search(name)))


def secret_name_in(text: str) -> int | None:
    """Where the first secret's name stands in a text; None where there is none."""
    found = _TEXT_NAME.search(text)
    return found.start() if found else None


def without_secrets(text: str, instead: str | None = None) -> str:
    """A text without the secrets that show; `instead` as of `without_userinfo`."""
    if len(text) <= _PIECE and not _SUSPECT_TEXT.search(text):
        return text
    whole = _applied(text, _ANNOUNCED[:1]) if "-----BEGIN" in text else text
    return _in_pieces(whole, (*_ANNOUNCED[1:], *_ADDRESS, *_TEXT), instead)


def name_without_secrets(name: str) -> str:
    """A name or an address without the secrets that show; what tells it from other names stays."""
    return _in_pieces(name, (*_ANNOUNCED, *_ADDRESS)) if _SUSPECT_NAME.search(name) else name


def without_userinfo(address: str, instead: str | None = None) -> str:
    """An address whose password is marked; with `instead`, that stands in place of user and password."""

    def replaced(found: re.Match[str]) -> str:
        return f"{found['user'] or found['s3'] or found['s3a'] or ''}:{MARK}@" if instead is None else instead

    return _USERINFO.sub(replaced, address)


def _in_pieces(text: str, rules: Sequence[Rule], instead: str | None = None) -> str:
    if len(text) <= _PIECE:
        return _applied(without_userinfo(text, instead), rules)
    done, start = [], 0
    while start < len(text):
        end = start + _PIECE
        # Cut where a line or a word ends, so that no secret is cut in two.
        cut = max(text.rfind("\n", start + _PIECE // 2, end), text.rfind(" ", start + _PIECE // 2, end)) + 1 or end
        cut = len(text) if end >= len(text) else cut
        piece = text[start:cut]
        done.append(_applied(without_userinfo(piece, instead), rules) if _SUSPECT_TEXT.search(piece) else piece)
        start = cut
    clean = "".join(done)
    return text if clean == text else clean


def _applied(text: str, rules: Sequence[Rule]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text

"""The rules for secrets: by name and by form.

The Spark side and the intake redact with the same rules. Only the secret part of a text is replaced, so that an address still names its
dataset. The same text must give the same result, because names are identities. A password that stands alone and looks like a word is not
found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from headwater.spark_listener import sql_secrets

MARK = "[redacted]"

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]

_CORE = (
    r"pass(?:word|wd|phrase|code)|passwort|secret|credential|authorization|cookie|api[-_.]?key|access[-_.]?key|account[-_.]?key|private[-_.]?key"
    r"|encryption[-_.]?key|signing[-_.]?key|auth[-_.]?token|(?:access|session|refresh|bearer|id|sas|api|csrf|oauth)[-_.]?token|connection[-_.]?string"
    r"|(?<![a-z])(?:pwd|passw|jwt)(?![a-z])|(?-i:(?<=[a-z0-9])(?:Pwd|Pass|Token|Jwt)(?![a-z]))|(?-i:jwt(?=[A-Z]))"
)
# Values of any type are removed under these names …
_NAME = re.compile(rf"{_CORE}|^token$|[-_.]token$|(?-i:[a-z0-9]Token$)|^pwd$|^pass$", re.IGNORECASE)
# … and only texts under these, which also name counts and functions.
_BROAD = rf"(?:{_CORE}|tokens?(?![a-z])|(?<![a-z])(?:pwd|pass|sas|sig|signature)(?![a-z])|x-amz-signature|x-amz-security-token)"
_TEXT_NAME = re.compile(_BROAD, re.IGNORECASE)

_QUOTED = r"""\\+"(?:[^"\\]|\\+(?!["\\]))*(?:\\+"|$)|"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.|'')*(?:'|$)"""
_VALUE = rf"(?:{_QUOTED}|[^\s\"'&;,)}}\]<>\[\\][^\s\"'&;,)}}\]<>\[]*)"
_QUOTE = re.compile(r"\\*[\"']")
_TAIL = r"[\w.\-]{0,64}+"  # possessive: a text may consist of names


def _mask(value: str) -> str:
    quote = _QUOTE.match(value)
    return f"{quote[0]}{MARK}{quote[0]}" if quote else MARK


def _masked(found: re.Match[str]) -> str:
    return f"{found[1]}{_mask(found[2])}"


# user:password@ in an address, with any characters in the password; a port is not a password
_USERINFO = re.compile(
    r"(?<=://)(?P<user>[^/\s:@?#\"']{0,256}+):(?!\d*(?:[/?#\s\"']|$))[^\s\"'@]{0,256}+@(?:[^\s\"'/@?#]{0,256}+@){0,4}"
    r"|(?<=[sS]3://)(?P<s3>[^/\s:@\"']{0,256}+):[^\s\"'@]{1,256}+@|(?<=[sS]3[aAnN]://)(?P<s3a>[^/\s:@\"']{0,256}+):[^\s\"'@]{1,256}+@"
)
_ANNOUNCED: tuple[Rule, ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MARK),
    (
        re.compile(
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}\b"
            r"|\beyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){1,3}|\bhw_[\w-]{20,}|\bdapi[0-9a-f]{32}\b|\bAIza[\w-]{35}|\b[sr]k_live_\w{16,}"
        ),
        MARK,
    ),
)
# Parts that can be removed from a name without making two names equal: a partition folder `token=7` is no secret.
_ADDRESS: tuple[Rule, ...] = (
    (re.compile(r"(?i)(jdbc:oracle:\w{1,16}:[^/\s@\"']{0,256}+)/[^\s@\"']{1,256}+@"), rf"\1/{MARK}@"),
    (re.compile(rf"(?i)(?<=[?&;])({_BROAD}{_TAIL})=[^&;,\s\"'\[]+"), rf"\1={MARK}"),
)
_BRACKET = re.compile(r"[\[\]{}]")
_GAP, _ESCAPED_QUOTE = r"\s{0,8}", r"\\*\""
# The text after `-p` in a longer option or a port, as in -path, -profile=x, -p8080.
_OPTION = (
    r"(?:\d{1,5}|(?:ackage|age|arallel|arallelism|aram|arameter|artition|ath|attern|eriod|id|ipe|ixel|latform|lugin|olicy|oll|ool|ort|refix|"
    r"reserve|retty|review|rint|riority|rocess|rofile|rogress|roject|roperties|roperty|rotocol|rovider|roxy|ublish|ush|ull|ython)s?"
    r"(?:[-_.=:,/\d][^\s\"']*)?)(?![^\s\"'])"
)
_SCHEMES: tuple[Rule, ...] = (
    # Authorization: Basic …
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{8,}"), rf"\1\2{MARK}"),
    # mysql -pVALUE; not a port, and not a longer option
    (re.compile(rf"(?<![^\s\"'])(-p)(?!{_OPTION})([^\s\"'\[][^\s\"']{{2,}}|{_QUOTED})"), _masked),
    *((pattern, _masked) for pattern in sql_secrets.KEYED),
    (re.compile(rf"(?i)(\bidentified\s{{1,8}}by\s{{1,8}})({_QUOTED}|[^\s;\"'\[]+)"), _masked),
)
# No rule matches a text without one of these, so one search clears most texts.
_SUSPECT_NAME = re.compile(r"[@?&;]|AKIA|ASIA|gh[pousr]_|github_pat|glpat|xox|eyJ|hw_|dapi|AIza|k_live|-----BEGIN")
# In small letters. Every secret's name contains one of them, or "key". A longer word is found by its beginning.
_SUSPECT_WORDS = (
    "@", "&", ";", "crypt", "hmac", "jwt", "pass", "pwd", "secret", "token", "credential", "authorization", "cookie", "sas",
    "sig", "x-amz", "connection", "bearer", "basic", "identified", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat",
    "glpat", "xox", "eyj", "hw_", "dapi", "aiza", "k_live", "-----begin",
)  # fmt: skip
# Plain texts: the engine searches for their first letters, ten times as fast as a pattern with character classes.
_SUSPECT_TEXT = re.compile("|".join(map(re.escape, _SUSPECT_WORDS)))
# Only keys that open something: columns have names like `o_orderkey`.
_SUSPECT_KEY = re.compile("(?:api|access|account|private|encryption|signing)[-_.]?key")
# The option -p where an argument may begin: after a space, a quote, or the escape of one in JSON.
_SUSPECT_OPTION = re.compile(r"(?:[\s\"']|\\[nrtfbv]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2})-p")
SUSPECT = "|".join([*(re.escape(word).replace(r"\-", "-") for word in _SUSPECT_WORDS), _SUSPECT_KEY.pattern, _SUSPECT_OPTION.pattern])
"""A pattern that finds something in just those texts in lower case which may hold a secret: for engines that look for all at once."""
# Letters that a case-insensitive pattern equates with ASCII letters, although their lower case differs.
_ALIKE = str.maketrans({"\u017f": "s", "\u212a": "k", "\u0130": "i", "\u0131": "i"})
_PIECE = 1 << 14  # characters per call of the rules, which block the interpreter


@cache
def _before_container() -> re.Pattern[str]:
    return re.compile(
        rf"(?i)(?:{_BROAD}{_TAIL}|(?:key|name|property|option){_ESCAPED_QUOTE}{_GAP}:{_GAP}{_ESCAPED_QUOTE}[^\"\\]{{0,64}}{_BROAD}[^\"\\]{{0,64}}"
        rf"{_ESCAPED_QUOTE}{_GAP},{_GAP}{_ESCAPED_QUOTE}(?:value|val))(?:\\*[\"'`])?{_GAP}(?:=>|:=|=|:){_GAP}(?=[\[{{])"
    )


@cache
def _text_rules() -> tuple[Rule, ...]:
    """Return the rules for texts that contain a secret's name.

    They are compiled on demand, because that takes long and few programs need them.
    """
    # A secret's name with its value: <password>…</password>, password=…, "password": "…", password => '…', OPTIONS (password '…')
    named: Rule = (
        re.compile(
            rf"(?i)({_BROAD}{_TAIL})(?:(>)([^<]{{1,1000}})(?=<)|((?:\\*[\"'`])?\s{{0,8}}(?:=>|:=|=|:|%3d)\s{{0,8}})({_VALUE})"
            rf"|((?:\\*[\"'`])?\s{{1,8}})({_QUOTED}))"
        ),
        lambda found: f"{found[1]}{found[2] or found[4] or found[6]}{_mask(found[3] or found[5] or found[7])}",
    )
    return (
        *sql_secrets.rules(_BROAD, _TAIL, _QUOTED, _mask),
        named,
        (re.compile(rf"(?i)((?<![\w-])--?[\w.\-]{{0,64}}?{_BROAD}{_TAIL}\s{{1,8}})(?!-)[^\s\"'\[]+"), rf"\1{MARK}"),
        # {"key": "password", "value": …}, in either order; from the first of many backslashes alone
        (
            re.compile(
                rf"(?i)((?<!\\)\\*\"(?:key|name|property|option)\\*\"\s{{0,8}}:\s{{0,8}}\\*\"[^\"\\]{{0,64}}{_BROAD}[^\"\\]{{0,64}}\\*\"\s{{0,8}},"
                rf"\s{{0,8}}\\*\"(?:value|val)\\*\"\s{{0,8}}:\s{{0,8}})({_VALUE})"
            ),
            _masked,
        ),
        (
            re.compile(
                rf"(?i)((?<!\\)\\*\"(?:value|val)\\*\"\s{{0,8}}:\s{{0,8}})({_VALUE})(?=\s{{0,8}},\s{{0,8}}\\*\"(?:key|name|property|option)\\*\"\s{{0,8}}:\s{{0,8}}"
                rf"\\*\"[^\"\\]{{0,64}}{_BROAD})"
            ),
            _masked,
        ),
    )


@lru_cache(8_192)  # a producer has few names
def is_secret_name(name: str, *, of_text: bool = True) -> bool:
    """Return whether the value of this name is a secret. With `of_text` false, the value may have any type."""
    return bool((of_text and _TEXT_NAME.search(name)) or _NAME.search(name))


def is_suspect(text: str) -> bool:
    """Return whether a text may contain a secret. This quick test excludes most texts."""
    lower = _lower(text)
    return lower.startswith("-p") or _SUSPECT_TEXT.search(lower) is not None or _has_key_or_option(lower)


def may_hold_secret(document: str) -> bool:
    """Return whether a document may contain a secret, by its JSON text. If not, `redact_deep` returns it unchanged.

    In a long text, a search for each word takes a third of the time of the pattern.
    """
    lower = _lower(document)
    return any(word in lower for word in _SUSPECT_WORDS) or _has_key_or_option(lower)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ALIKE).lower()


def _has_key_or_option(lower: str) -> bool:
    has_key = "key" in lower and _SUSPECT_KEY.search(lower) is not None
    return has_key or ("-p" in lower and _SUSPECT_OPTION.search(lower) is not None)


def secret_name_in(text: str) -> int | None:
    found = _TEXT_NAME.search(text)
    return found.start() if found else None


def without_secrets(text: str, instead: str | None = None) -> str:
    """Return a text without visible secrets. `instead` replaces user and password in addresses."""
    if len(text) <= _PIECE and not is_suspect(text):
        return text
    whole = _applied(text, _ANNOUNCED[:1]) if "-----BEGIN" in text else text
    return _in_pieces(whole, (*_ANNOUNCED[1:], *_SCHEMES, *_ADDRESS), instead, named=True)


def name_without_secrets(name: str) -> str:
    """Return a name or an address without visible secrets. Distinct names stay distinct."""
    return _in_pieces(name, (*_ANNOUNCED, *_ADDRESS)) if _SUSPECT_NAME.search(name) else name


def without_userinfo(address: str, instead: str | None = None) -> str:
    """Return a text with the passwords in addresses masked. `instead` replaces user and password."""

    def replaced(found: re.Match[str]) -> str:
        return f"{found['user'] or found['s3'] or found['s3a'] or ''}:{MARK}@" if instead is None else instead

    return _USERINFO.sub(replaced, address)


def address_without_userinfo(address: str) -> str:
    """Return an address without user and password in its authority. A later address within it is part of its path."""
    scheme, separator, _ = address.partition("://")
    start = len(scheme) + len(separator)
    found = _USERINFO.match(address, start) if separator and "/" not in scheme else None
    return address[:start] + address[found.end() :] if found else address


def _in_pieces(text: str, rules: Sequence[Rule], instead: str | None = None, *, named: bool = False) -> str:
    done, start = [], 0
    while start < len(text):
        end = start + _PIECE
        # Cut where a line or a word ends, so that no secret is cut in two.
        cut = max(text.rfind("\n", start + _PIECE // 2, end), text.rfind(" ", start + _PIECE // 2, end)) + 1 or end
        cut = len(text) if end >= len(text) else cut
        done.append(_clean(text[start:cut], rules, instead, named=named))
        start = cut
    clean = "".join(done)
    return text if clean == text else clean


def _clean(piece: str, rules: Sequence[Rule], instead: str | None, *, named: bool) -> str:
    if not is_suspect(piece):
        return piece
    clean = _applied(without_userinfo(piece, instead), rules)
    return _applied(_without_containers(clean), _text_rules()) if named and _TEXT_NAME.search(clean) else clean


def _without_containers(text: str) -> str:
    """Return the text without lists and objects after a secret's name, like `"password": ["…"]`."""
    done, start = [], 0
    while (found := _before_container().search(text, start)) is not None:
        depth, end = 0, len(text)
        for bracket in _BRACKET.finditer(text, found.end()):
            depth += 1 if bracket[0] in "[{" else -1
            if depth <= 0:
                end = bracket.end()
                break
        done += [text[start : found.end()], MARK]
        start = end
    return "".join([*done, text[start:]])


def _applied(text: str, rules: Sequence[Rule]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text

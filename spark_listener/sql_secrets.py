"""Rules for literals next to a secret's name in SQL, in printed plans, and in calls: `password IN ('…')`, `option("password", "…")`.

`secrets` applies these rules to texts that contain a secret's name. A literal is a quoted text or a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TEXT = r"'(?:[^'\\]|\\.|''){0,4096}+'|\"(?:[^\"\\]|\\.){0,4096}+\""
_INNER = rf"\((?:[^()'\"]|{_TEXT}|\((?:[^()'\"]|{_TEXT}){{0,512}}+\)){{0,512}}+\)"
_ARGUMENT = rf"(?:[^(),'\"]|{_TEXT}|{_INNER}){{1,512}}+"
KEYED = (
    # aes_encrypt(text, key, …), in SQL, in a plan (without quotes) and in Python. A column is not a key; in a plan it has a number.
    re.compile(
        rf"(?i)(\b\w{{0,32}}(?:en|de)crypt(?:\w{{0,32}}\s{{0,8}}\(|,)\s{{0,8}}{_ARGUMENT},\s{{0,8}}+)((?![\w.`]{{1,128}}#\d){_ARGUMENT})"
    ),
    # hmac(key, text), or the other way round
    re.compile(rf"(?i)(\b\w{{0,32}}hmac\w{{0,32}}\s{{0,8}}\(\s{{0,8}}(?:[^(),'\"]{{1,256}},\s{{0,8}})?)({_TEXT})"),
)

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

_NUMBER = r"(?<![\w.#])-?\d[\w.]{0,64}+"
# Text between a column's name and an operator: its number in a plan, a cast, quotes, the end of a call.
_END = r"(?:#\d{1,20}L?)?(?:\s{1,8}as\s{1,8}\w{1,64})?[)`\"'\]]{0,4}\s{0,8}"
_EQUALS = r"(?:<=>|==|<>|!=|=|is\s{1,8}(?:not\s{1,8})?distinct\s{1,8}from\b)"
_ORDERS = r"(?:<=|>=|<|>|(?:not\s{1,8})?(?:like|ilike|rlike|regexp)\b(?:\s{1,8}(?:any|all|some)\b)?)"  # of texts: `tokens > 5` is a count
_PLAIN = r"'[^'\\]{1,256}+'|\"[^\"\\]{1,256}+\""
_SETTERS = r"(?:option|options|config|conf|set|setproperty|put|header|map|named_struct|struct|create_map|withcolumn)"


def rules(name: str, tail: str, quoted: str, mark: Callable[[str], str]) -> tuple[Rule, ...]:
    """Return the rules. `name` and `tail` match a secret's name and the rest of the word, `quoted` a text in quotes.

    `mark` replaces a literal.
    """
    literal = rf"(?:{quoted}|{_NUMBER})"
    short = rf"(?:{_PLAIN}|{_NUMBER})"  # before a name: tried at every quote
    column = rf"{name}{tail}{_END}"

    def masked(found: re.Match[str]) -> str:
        return "".join(mark(part) if place % 2 else part for place, part in enumerate(found.groups("")))

    def compiled(pattern: str) -> Rule:
        return re.compile(rf"(?i){pattern}"), masked

    return (
        # INSERT INTO users (name, password) VALUES …: all values, because positions of columns are not counted here
        compiled(rf"(\binsert\b[^()]{{0,200}}\([^()]{{0,2000}}?{name}[^()]{{0,2000}}\)\s{{0,8}}values\s{{0,8}})([^;]{{1,16384}})"),
        # VALUES ('ann', '…') AS users(name, password)
        compiled(rf"(\bvalues\s{{0,8}})(\([^;]{{0,2000}}?\))(\s{{0,8}}(?:as\s{{1,8}})?\w{{1,64}}\s{{0,8}}\([^()]{{0,500}}?{name})"),
        compiled(rf"({column}(?:not\s{{1,8}})?in\s{{0,8}}\()(?!\s{{0,8}}(?:select|with)\b)((?:{quoted}|[^()'\"]){{1,2000}})"),
        compiled(rf"({column}(?:not\s{{1,8}})?between\s{{1,8}})({quoted})(\s{{1,8}}and\s{{1,8}})({quoted})"),
        compiled(rf"({column}{_ORDERS}\s{{0,8}})({quoted})"),
        compiled(rf"({column}{_EQUALS}\s{{0,8}})({literal})"),
        compiled(
            rf"({name}{tail}#\d{{1,20}}L?\s{{0,8}}(?:<=>|==|=|<|>)\s{{0,8}})([^\s(),\[\]]{{1,256}})"
        ),  # of a plan, which has no quotes
        compiled(rf"(?<![\w#.])()([^\s(),\[\]#]{{1,256}}+)(\s{{1,8}}as\s{{1,8}}\w{{0,64}}?{name}{tail}#\d)"),  # likewise
        compiled(rf"(\bkeys: \[[^\[\]]{{0,500}}?{name}[^\[\]]{{0,500}}\], values: \[)([^\]]{{1,2000}})"),  # of a map in a plan
        compiled(rf"()({short})(\s{{0,8}}{_EQUALS}\s{{0,8}}(?:\w{{1,64}}\.){{0,4}}[`\"]?\w{{0,64}}?{name})"),
        compiled(rf"()({short})(\s{{1,8}}as\s{{1,8}}[`\"]?\w{{0,64}}?{name})"),
        compiled(rf"(\b{_SETTERS}\s{{0,8}}\([^()]{{0,200}}?[\"'][\w.\-]{{0,64}}?{name}{tail}[\"'],?\s{{0,8}},\s{{0,8}})({literal})"),
        compiled(rf"(\boptions\s{{0,8}}\([^()]{{0,1000}}?{name}{tail}[`\"']?\s{{1,8}})({_NUMBER})"),
    )

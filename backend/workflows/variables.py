"""The environment variables that a workflow's file may set.

A variable of the file passes paths of blocks to a program. It must never change the interpreter, the loader, a shell, Java, Spark or
Headwater. Therefore names that these read are refused, and so is every name in the registered environment of the program.
"""

from __future__ import annotations

import re

from headwater.errors import InvalidInputError

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_PREFIXES = (
    "PYTHON", "LD_", "DYLD_", "HEADWATER", "OPENLINEAGE", "SPARK", "PYSPARK", "JAVA", "JDK_", "HADOOP", "YARN", "HIVE", "BASH_", "ZSH",
    "LC_", "GCONV", "MALLOC_", "GLIBC", "GIT_", "CONDA", "PIP_", "UV_", "VIRTUAL_ENV", "SSL_", "OPENSSL", "REQUESTS_", "CURL_", "AWS_",
    "AZURE_", "GOOGLE_", "KRB5", "PERL", "RUBY", "NODE_", "NSS_", "XDG_", "OMP_", "OPENBLAS", "MKL_", "ARROW_", "DUCKDB", "COV_",
    "COVERAGE", "TMP", "TEMP", "LOCPATH", "HOSTALIASES", "RES_", "RESOLV", "NLSPATH", "GETCONF",
)  # fmt: skip
_NAMES = frozenset({
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "IFS", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "CDPATH", "USER", "LOGNAME",
    "PWD", "OLDPWD", "TERM", "CLASSPATH", "DISPLAY", "EDITOR", "PAGER", "CFLAGS", "CC", "TRACEPARENT", "BROWSER",
})  # fmt: skip


def refuse_variable(name: str, place: str) -> None:
    """Check that a workflow may set a variable.

    Raises:
        InvalidInputError: the variable is not permitted.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{place} is {name!r}.", field=place, hint="A variable has up to 64 capital letters, digits and _, and begins with a letter."
        )
    if name in _NAMES or name.startswith(_PREFIXES) or name.endswith("_PROXY"):
        raise InvalidInputError(
            f"{place}: {name} changes how a program runs, so a workflow may not set it.", field=place,
            hint="Choose a name of your own, such as ARTICLES.",
        )  # fmt: skip

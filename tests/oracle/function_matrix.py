"""Programs of every kind of aggregate function, window function, generator and join, for comparison with the run without Headwater.

A program is a query over the view `facts` (and `names`) of a session. `{KEY}` in it is the list of keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

KEYS = {
    "text": "k",
    "number": "n",
    "struct": "s",
    "array": "a",
    "texts and numbers": "k, n, t",
    "computed": "upper(k), n % 2",
}

AGGREGATES = {
    "count": "count(*)",
    "sum": "sum(v)",
    "avg of decimal": "avg(m)",
    "min of text": "min(t)",
    "max": "max(v)",
    "max of struct": "max(s)",
    "first": "first(t)",
    "last ignoring nulls": "last(t, true)",
    "any_value": "any_value(v)",
    "min_by": "min_by(t, v)",
    "max_by": "max_by(id, v)",
    "collect_list": "collect_list(id)",
    "collect_set": "sort_array(collect_set(t))",
    "listagg": "listagg(t, ',') WITHIN GROUP (ORDER BY id)",
    "stddev": "stddev(v)",
    "skewness": "skewness(v)",
    "corr": "corr(v, id)",
    "regr_slope": "regr_slope(v, id)",
    "percentile": "percentile(v, 0.3)",
    "percentile_cont": "percentile_cont(0.4) WITHIN GROUP (ORDER BY v)",
    "median": "median(v)",
    "mode": "mode(n, true)",
    "percentile_approx": "percentile_approx(v, 0.5)",
    "approx_count_distinct": "approx_count_distinct(t)",
    "count_min_sketch": "hex(count_min_sketch(id, 0.5d, 0.5d, 1))",
    "hll_sketch": "hll_sketch_estimate(hll_sketch_agg(id))",
    "histogram_numeric": "histogram_numeric(v, 3)",
    "bitmap": "hex(substring(bitmap_construct_agg(bitmap_bit_position(id)), 1, 8))",
    "bit_xor": "bit_xor(id)",
    "bool_and": "bool_and(b)",
    "count_if": "count_if(b)",
    "try_sum": "try_sum(v)",
    "product": "exp(sum(ln(abs(v) + 1)))",
    "distinct": "count(DISTINCT t)",
    "two distincts": "count(DISTINCT t), sum(DISTINCT n)",
    "filter": "sum(v) FILTER (WHERE b)",
    "distinct and filter": "count(DISTINCT t) FILTER (WHERE b), max(t)",
    "ordered": "percentile_disc(0.5) WITHIN GROUP (ORDER BY id DESC)",
    "pandas": "pandas_mean(v)",
    "two of pandas": "pandas_mean(v), pandas_span(v, id)",
    "arrow": "arrow_mean(v)",
    "java": "java_mean(v)",
    "of nothing": "",
}
# Kinds of functions that a query may have together. Python functions refuse any other, with and without Headwater, with the same error.
MIXED = {
    "built-in": "count(*), min(t), collect_list(id), percentile(v, 0.5)",
    "distinct and sketches": "count(DISTINCT t), approx_count_distinct(n), max(v)",
    "java and built-in": "java_mean(v), max(t), count(*)",
    "java and distinct": "java_mean(v), count(DISTINCT n)",
    "pandas and built-in": "pandas_mean(v), max(v)",
    "pandas and arrow": "pandas_mean(v), arrow_mean(v)",
    "a fault": "sum(raise_error('no'))",
}
SOURCES = {
    "files": "facts",
    "filtered files": "(SELECT * FROM facts WHERE n > 1 AND t <> 'x3')",
    "a join": "(SELECT f.*, w FROM facts f JOIN names ON f.k = names.key)",
    "a cache": "cached",
    "a table": "stored",
}
_FRAMES = {
    "ordered": "PARTITION BY {KEY} ORDER BY id",
    "whole": "PARTITION BY {KEY}",
    "bounded": "PARTITION BY {KEY} ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
}
_WINDOWS = {
    "row_number()": ("ordered",),
    "rank()": ("ordered",),
    "dense_rank()": ("ordered",),
    "percent_rank()": ("ordered",),
    "cume_dist()": ("ordered",),
    "ntile(3)": ("ordered",),
    "lag(v)": ("ordered",),
    "lead(t, 2, 'none')": ("ordered",),
    "nth_value(v, 2)": ("ordered", "bounded"),
    "first_value(t)": ("ordered", "bounded"),
    "last_value(t) IGNORE NULLS": ("bounded",),
    "sum(v)": ("ordered", "whole", "bounded"),
    "collect_list(id)": ("ordered", "bounded"),
    "count(*) FILTER (WHERE b)": ("whole",),
    "median(v)": ("whole",),
    "pandas_mean(v)": ("whole", "bounded"),
    "java_mean(v)": ("whole", "bounded"),
}
WINDOWS = {
    **{f"{function} {frame}": f"{function} OVER ({_FRAMES[frame]})" for function, frames in _WINDOWS.items() for frame in frames},
    "mixed": f"rank() OVER ({_FRAMES['ordered']}), sum(v) OVER ({_FRAMES['whole']}), lag(v) OVER (PARTITION BY b ORDER BY id)",
    "pandas mixed": f"pandas_mean(v) OVER ({_FRAMES['whole']}), max(v) OVER ({_FRAMES['whole']})",
}
GENERATORS = {
    "explode": "SELECT id, e FROM facts LATERAL VIEW explode(a) x AS e",
    "explode outer": "SELECT id, e FROM facts LATERAL VIEW OUTER explode(CASE WHEN b THEN a END) x AS e",
    "posexplode": "SELECT k, p, e FROM facts LATERAL VIEW posexplode(a) x AS p, e",
    "inline": "SELECT id, q, r FROM facts LATERAL VIEW inline(array(s, s)) x AS q, r",
    "stack": "SELECT k, c0, c1 FROM facts LATERAL VIEW stack(2, id, v, n, v) x AS c0, c1",
    "json_tuple": """SELECT id, j FROM facts LATERAL VIEW json_tuple('{"p": 1}', 'p') x AS j""",
    "in the select list": "SELECT id, explode(map(k, n)) FROM facts",
    "grouped": "SELECT k, e, count(*), collect_list(id) FROM facts LATERAL VIEW explode(a) x AS e GROUP BY k, e",
    "pandas over one": "SELECT k, pandas_mean(e) FROM facts LATERAL VIEW explode(a) x AS e GROUP BY k",
    "a table function in Python": "SELECT id, w, t.n FROM facts, LATERAL twice(id) t WHERE id < 20",
    "a lateral subquery": "SELECT key, x.m FROM names, LATERAL (SELECT max(v) m FROM facts WHERE facts.k = names.key) x",
}
_ON = "facts.k = names.key"
JOINS = {
    **{
        f"{kind.lower()} {hint}".strip(): f"SELECT {f'/*+ {hint}(names) */' if hint else ''} id, k, v"
        f"{'' if kind in {'LEFT SEMI', 'LEFT ANTI'} else ', w'} FROM facts {kind} JOIN names ON {_ON}"
        for kind in ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
        for hint in ("", "MERGE", "SHUFFLE_HASH")
    },
    "cross": "SELECT id, w FROM facts CROSS JOIN names",
    "by an inequality": "SELECT id, w FROM facts JOIN names ON facts.v < names.w",
    "left by an inequality": "SELECT id, w FROM facts LEFT JOIN names ON facts.v < names.w AND facts.k = names.key",
    "existence": "SELECT id FROM facts WHERE n = 1 OR k IN (SELECT key FROM names WHERE w > 1)",
    "not in": "SELECT id FROM facts WHERE k NOT IN (SELECT key FROM names WHERE w > 1)",
    "by a struct": "SELECT f.id, g.v FROM facts f JOIN facts g ON f.s = g.s AND g.id < 12",
    "by an array": "SELECT f.id, g.v FROM facts f JOIN facts g ON f.a = g.a AND g.id < 12",
    "of itself": "SELECT f.k, count(*) FROM facts f JOIN facts g ON f.n = g.n AND f.k = g.k GROUP BY f.k",
    "natural": "SELECT * FROM (SELECT k, n FROM facts) NATURAL JOIN (SELECT key AS k, w FROM names)",
    "of groups": "SELECT a.k, a.c, b.p FROM (SELECT k, count(*) c FROM facts GROUP BY k) a "
    "JOIN (SELECT k, pandas_mean(v) p FROM facts GROUP BY k) b ON a.k = b.k",
    "groups of groups": "SELECT c, count(*) FROM (SELECT k, t, count(*) c FROM facts GROUP BY k, t) GROUP BY c",
    "a filter before and after": "SELECT k, p FROM (SELECT k, pandas_mean(v) p FROM facts WHERE n > 1 GROUP BY k) WHERE p > 20",
    "a window over groups": "SELECT k, p, rank() OVER (ORDER BY p, k) FROM (SELECT k, pandas_mean(v) p FROM facts GROUP BY k)",
    "a union of groups": "SELECT k, pandas_mean(v) FROM facts GROUP BY k UNION ALL SELECT key, java_mean(w) FROM names GROUP BY key",
    "a subquery of groups": "SELECT id FROM facts WHERE v > (SELECT pandas_mean(v) FROM facts) "
    "AND k IN (SELECT min(key) FROM names GROUP BY w)",
    "a rollup": "SELECT k, n, count(*), max(t) FROM facts GROUP BY ROLLUP (k, n)",
    "a cube": "SELECT k, b, java_mean(v) FROM facts GROUP BY CUBE (k, b)",
    "a pivot": "SELECT * FROM (SELECT k, n, v FROM facts) PIVOT (sum(v) FOR n IN (0, 1, 2))",
    "distinct": "SELECT DISTINCT k, t FROM facts",
    "an intersection": "SELECT k FROM facts INTERSECT SELECT key FROM names",
    "a difference": "SELECT k, t FROM facts EXCEPT SELECT k, t FROM facts WHERE b",
    "a top": "SELECT k, max(v) m FROM facts GROUP BY k ORDER BY m DESC, k LIMIT 2",
    "having": "SELECT k FROM facts GROUP BY k HAVING pandas_mean(v) > 20",
}


# The ordinary tests run these: each has a feature that no other has.
_TELLING = {
    "two of pandas by text over files", "arrow by text over files", "java by text over files", "of nothing by text over files",
    "distinct and filter by text over files", "collect_list by text over files", "two distincts by texts and numbers over a table",
    "pandas by text over a join", "pandas and built-in by text over a join", "java and distinct by text over a join",
    "pandas by texts and numbers over filtered files", "pandas by struct over a cache", "arrow by computed over a table",
    "a fault by text over a join", "two of pandas over files", "window mixed by text", "window pandas mixed by text",
    "generator pandas over one", "generator a table function in Python", "query full MERGE", "query a union of groups",
    "query a filter before and after",
    "query a subquery of groups", "query of groups", "query having", "query a cube", "query a top",
}  # fmt: skip


class Program(NamedTuple):
    """A query, and the family that it belongs to."""

    kind: str
    name: str
    text: str

    @property
    def telling(self) -> bool:
        """Whether ordinary tests run it."""
        return self.name in _TELLING

    @property
    def generates_code(self) -> bool:
        """Whether the torture test runs it with generated code."""
        return self.name.endswith(" over files") or self.kind == "query"


def programs() -> Iterator[Program]:
    """All programs."""
    for function, expression in {**AGGREGATES, **MIXED}.items():
        for source, relation in SOURCES.items():
            for key, columns in KEYS.items():
                selected = f"{columns}, {expression}" if expression else columns
                yield Program(function, f"{function} by {key} over {source}", f"SELECT {selected} FROM {relation} GROUP BY {columns}")
            if expression:
                yield Program(function, f"{function} over {source}", f"SELECT {expression} FROM {relation}")
    for function, expression in WINDOWS.items():
        for key, columns in KEYS.items():
            text = f"SELECT id, {expression.replace('{KEY}', columns)} FROM facts"
            yield Program("window", f"window {function} by {key}", text)
    for kind, texts in {"generator": GENERATORS, "query": JOINS}.items():
        yield from (Program(kind, f"{kind} {name}", text) for name, text in texts.items())

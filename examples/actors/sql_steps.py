"""Build tables by SQL steps, like dbt.

Each step is a SELECT that names earlier steps as {{ ref('…') }}. The steps run in DuckDB.

    python sql_steps.py SEEDS FOLDER
    headwater trace FOLDER/report.csv --where "city = 'Ulm'"

A step is one SELECT with joins, filters and groups. The runner adds a column for each table that the step reads. The column
has the number of the row from which a new row was made, or the numbers of all rows of a group. The runner captures
these columns and drops them.
"""

import re
import sys
import time
from pathlib import Path

import duckdb

from headwater.capture import Session, Table

STEPS = {  # in the order in which they are built
    "large_orders": "SELECT o.id, o.customer, o.amount FROM {{ ref('orders') }} o WHERE o.amount >= 10",
    "orders_by_city": (
        "SELECT c.city, count(*) AS orders, sum(l.amount) AS amount FROM {{ ref('large_orders') }} l "
        "JOIN {{ ref('customers') }} c ON c.id = l.customer GROUP BY c.city"
    ),
    "report": "SELECT b.city, b.amount FROM {{ ref('orders_by_city') }} b WHERE b.orders > 1 ORDER BY b.city",
}
REF = re.compile(r"\{\{ ref\('(\w+)'\) \}\} (\w+)")


class Project:
    """The tables of one run. `version` separates their rows from those of other runs."""

    def __init__(self, session: Session, seeds: Path) -> None:
        self.session = session
        self.seeds = seeds
        self.database = duckdb.connect()
        self.version = time.time_ns() // 1_000_000_000
        self.session.declare("seed")
        self.session.declare("model", after=["seed"])

    def table(self, name: str) -> Table:
        return self.session.table(name, version=self.version)

    def seed(self, name: str) -> None:
        """Load a file. Its n-th record is the n-th row."""
        path = self.seeds / f"{name}.csv"
        self.database.execute(f"CREATE TABLE {name} AS FROM read_csv(?, parallel = false)", [str(path)])
        loader = self.session.register(f"seed_{name}", "seed")
        source, target = self.session.rows(path, options={"header": True}), self.table(name)
        for (row,) in self.database.execute(f"SELECT rowid FROM {name}").fetchall():
            loader.capture(source[row], target[row])
        loader.commit()

    def build(self, name: str, sql: str) -> None:
        reads = REF.findall(sql)
        grouped = "GROUP BY" in sql
        made_of = [f"{f'list({alias}.rowid)' if grouped else f'[{alias}.rowid]'} AS _{table}" for table, alias in reads]
        select = REF.sub(r"\1 \2", sql).replace("SELECT ", f"SELECT {', '.join(made_of)}, ", 1)
        self.database.execute(f"CREATE TABLE {name} AS {select}")
        model, target = self.session.register(name, "model"), self.table(name)
        for table, _ in reads:
            source = self.table(table)
            for row, numbers in self.database.execute(f"SELECT rowid, _{table} FROM {name}").fetchall():
                model.capture_all((source[number] for number in set(numbers)), target[row])
            self.database.execute(f"ALTER TABLE {name} DROP COLUMN _{table}")
        model.commit()

    def export(self, name: str, path: Path) -> None:
        """Write a table to a file, row by row."""
        self.database.execute(f"COPY (FROM {name} ORDER BY rowid) TO '{path}' (HEADER)")
        source, target = self.table(name), self.session.rows(path, options={"header": True})
        exporter = self.session.register(f"export_{name}", "export")
        for (row,) in self.database.execute(f"SELECT rowid FROM {name}").fetchall():
            exporter.capture(source[row], target[row])
        exporter.commit()


def main() -> None:
    seeds, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with Session("sql_steps") as session:
        project = Project(session, seeds)
        for path in sorted(seeds.glob("*.csv")):
            project.seed(path.stem)
        for name, sql in STEPS.items():
            project.build(name, sql)
        project.export("report", folder / "report.csv")


if __name__ == "__main__":
    main()

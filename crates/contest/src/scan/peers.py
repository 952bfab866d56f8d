"""The column libraries as contenders of the benchmark of scans.

usage: python3 -c SCRIPT FOLDER ROWS

FOLDER has the columns cust_id (int32), cust_year_of_birth (int16) and cust_valid (a letter, or 0 for a null). Prints
one line of JSON when ready: the contenders, and the libraries that are absent with their reason. For every line that is
read afterwards, every contender answers every question, and one line of JSON with the readings is printed: processor
time of all threads in ns a row, and the count. Ends with its input.
"""

import os

for variable in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "ARROW_NUM_THREADS"):
    os.environ[variable] = "1"

import json
import sys
import time

# As long as the engine's own samples at least, and readings of the clock vanish in it.
SAMPLE_NS = 50_000_000

# A block of two bytes a row, its flags and the result stay in the first caches.
BLOCK_ROWS = 1 << 14

PREDICATES = {"all-pass": ("cust_id", 0), "half-pass": ("cust_year_of_birth", 1950)}


def numpy_contenders(columns):
    import numpy as np

    valid = columns["cust_valid"] != 0

    def whole(name, value):
        return lambda: np.count_nonzero((columns[name] > value) & valid)

    def in_blocks(name, value):
        column, flags = columns[name], np.empty(BLOCK_ROWS, dtype=bool)

        def count():
            total = 0
            for start in range(0, len(column), BLOCK_ROWS):
                block = column[start : start + BLOCK_ROWS]
                passes = flags[: len(block)]
                np.greater(block, value, out=passes)
                np.logical_and(passes, valid[start : start + BLOCK_ROWS], out=passes)
                total += np.count_nonzero(passes)
            return total

        return count

    yield "NumPy, whole arrays", whole, lambda: np.count_nonzero(valid)
    yield "NumPy, block by block", in_blocks, None


def arrow_contenders(table):
    import pyarrow as pa
    import pyarrow.compute as pc

    valid = table["cust_valid"].combine_chunks()

    def passes(name, value):
        column = table[name].combine_chunks()
        return lambda: pc.greater(column, pa.scalar(value, column.type))

    def masks(name, value):
        compare = passes(name, value)
        return lambda: pc.sum(pc.and_(compare(), pc.is_valid(valid))).as_py()

    def filtered(name, value):
        compare = passes(name, value)
        return lambda: pc.count(pc.filter(valid, compare())).as_py()

    yield "Arrow, masks", masks, lambda: pc.count(valid).as_py()
    yield "Arrow, filter", filtered, None


def polars_contenders(table):
    import polars as pl

    frame = pl.from_arrow(table)
    valid = frame["cust_valid"]

    def query(name, value):
        count = frame.lazy().filter(pl.col(name) > value).select(pl.col("cust_valid").count())
        return lambda: count.collect().item()

    def series(name, value):
        return lambda: ((frame[name] > value) & valid.is_not_null()).sum()

    unfiltered = frame.lazy().select(pl.col("cust_valid").count())
    yield "Polars, query", query, lambda: unfiltered.collect().item()
    yield "Polars, series", series, lambda: valid.count()


def duckdb_contenders(arrow_rows, folder):
    import duckdb

    # Without it the predicate that every row passes is dropped before anything is read.
    settings = "SET threads = 1; SET disabled_optimizers = 'statistics_propagation'"
    path = os.path.join(folder, "columns.duckdb")
    in_memory = duckdb.connect()
    in_memory.execute("CREATE TABLE customers AS SELECT * FROM arrow_rows")
    with duckdb.connect(path) as writer:
        writer.execute("CREATE TABLE customers AS SELECT * FROM arrow_rows")
        writer.execute("CHECKPOINT")
    for name, connection in (
        ("DuckDB, in memory", in_memory),
        ("DuckDB, its file cached", duckdb.connect(path, read_only=True)),
    ):
        connection.execute(settings)

        def ask(statement, connection=connection):
            return lambda: connection.execute(statement).fetchone()[0]

        def filtered(name, value, connection=connection, ask=ask):
            statement = f"SELECT count(cust_valid) FROM customers WHERE {name} > {value}"
            plan = connection.execute("EXPLAIN " + statement).fetchall()[0][1]
            if name not in plan:
                raise RuntimeError(f"DuckDB does not look at {name}:\n{plan}")
            return ask(statement)

        yield name, filtered, ask("SELECT count(cust_valid) FROM customers")


def arrow_table(columns):
    import numpy as np
    import pyarrow as pa

    pa.set_cpu_count(1)
    letters = columns["cust_valid"]
    codes = pa.array((letters == ord("I")).astype(np.int8), mask=letters == 0)
    valid = pa.DictionaryArray.from_arrays(codes, pa.array(["A", "I"])).cast(pa.string())
    numbers = {name: pa.array(columns[name]) for name in ("cust_id", "cust_year_of_birth")}
    return pa.table({**numbers, "cust_valid": valid})


def contenders(folder, rows):
    """Name and questions of every contender, and the libraries that are absent."""
    found, absent = [], []

    def gather(library, make):
        try:
            for name, filtered, unfiltered in make():
                questions = {question: filtered(*predicate) for question, predicate in PREDICATES.items()}
                if unfiltered is not None:
                    questions["no-predicate"] = unfiltered
                found.append((name, questions))
        except Exception as error:
            absent.append({"name": library, "reason": f"{type(error).__name__}: {error}"})

    try:
        import numpy as np

        kinds = {"cust_id": np.int32, "cust_year_of_birth": np.int16, "cust_valid": np.uint8}
        columns = {name: np.fromfile(os.path.join(folder, name), dtype=kind) for name, kind in kinds.items()}
        assert all(len(column) == rows for column in columns.values()), "a column is cut off"
    except Exception as error:
        return found, [{"name": "NumPy and all behind it", "reason": f"{type(error).__name__}: {error}"}]
    gather("NumPy", lambda: numpy_contenders(columns))
    gather("PyArrow", lambda: arrow_contenders(arrow_table(columns)))
    gather("Polars", lambda: polars_contenders(arrow_table(columns)))
    gather("DuckDB", lambda: duckdb_contenders(arrow_table(columns), folder))
    return found, absent


def versions():
    names = ("numpy", "pyarrow", "polars", "duckdb")
    return {name: sys.modules[name].__version__ for name in names if name in sys.modules}


def sample(ask, rows):
    """Nanoseconds a row, and the count."""
    count = ask()
    laps, start = 0, time.process_time_ns()
    while True:
        ask()
        laps += 1
        taken = time.process_time_ns() - start
        if taken >= SAMPLE_NS:
            return taken / laps / rows, int(count)


def main():
    folder, rows = sys.argv[1], int(sys.argv[2])
    found, absent = contenders(folder, rows)
    print(json.dumps({"versions": versions(), "absent": absent}), flush=True)
    for _ in sys.stdin:
        readings = []
        for name, questions in found:
            for question, ask in questions.items():
                row_ns, count = sample(ask, rows)
                readings.append({"contender": name, "question": question, "row_ns": row_ns, "count": count})
        print(json.dumps(readings), flush=True)


main()

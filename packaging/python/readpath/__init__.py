"""What a database read costs: runs the program ``readpath`` and gives its numbers as columns.

>>> import pandas, readpath
>>> table = pandas.DataFrame(readpath.run("ladder", size="256MiB"))
>>> table[["parameters", "metric", "value", "unit"]]

The columns are those of ``readpath export --runs``: a row for each metric of a case, and one for each number that is
absent, with the reason. A dictionary of lists is what pandas, polars and pyarrow all take.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from datetime import datetime

__all__ = ["ReadpathError", "Rows", "program", "rows", "run"]

# What is no text, as in docs/rows.md.
WHOLE = (
    "cores memory case_number depth block_size blocks_per_read workers distance threads row_length columns n".split()
)
REAL = "core_ghz position value low high min median mean stddev p90 p99 p999 max".split()
TRUTH = ["direct"]
TIMES = ["started", "finished"]

# Options that do something where they are left out: the words by which they do not, and by which they do.
SWITCHES = {"huge_pages": ("off", "on"), "fold_literals": ("never", "always")}

# The findings of a run whose own command failed, and those of a run that failed itself: docs/run-document.md.
COMMAND_FAILED = {"command-failed", "load-failed"}
RUN_FAILED = {"failed", "interrupted", "not-kept"}


class ReadpathError(Exception):
    """What the program wrote when it failed; ``code`` is its exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Rows(dict):
    """The columns of a run by their names.

    ``code`` is the exit code of the command that the run counted (``counters``) or had as its load (``profile``), 0 for
    all other runs.
    """

    def __init__(self, columns, code=0):
        super().__init__(columns)
        self.code = code


def program():
    """The path of the program: that of this package, else the one that PATH names."""
    own = os.path.join(sysconfig.get_path("scripts"), "readpath")
    found = own if os.access(own, os.X_OK) else shutil.which("readpath")
    if found is None:
        raise ReadpathError("the program readpath is neither in this environment nor in PATH", 127)
    return found


def run(experiment, *arguments, **options):
    """Makes a run, which is kept as on the command line, and returns its rows.

    ``arguments`` and ``options`` are those of the command line: ``run("disk", "/dev/nvme0n1", block_size="16KiB")``.
    An option that is ``True`` has no value, and one that is ``False`` is left out; ``huge_pages`` and ``fold_literals``
    are turned on and off by these. A list is joined with commas. The run's progress is on standard error.

    A run that fails raises ``ReadpathError``. One whose own command fails, such as that of ``counters``, does not: its
    counts are there, and the ``code`` of the rows is the command's exit code.
    """
    # The arguments come last: what stands behind -- among them is a command with options of its own.
    words = [experiment, *_words(options), "--format=json", *map(str, arguments)]
    with tempfile.TemporaryDirectory(prefix="readpath-") as folder:
        document = os.path.join(folder, "run.json")
        code = 0
        try:
            with open(document, "wb") as file:
                _call(words, file)
        except ReadpathError as error:
            if not _is_of_command(document):
                raise
            code = error.code
        return Rows(rows(document), code)


def rows(*runs, store=None):
    """The rows of kept runs (``"last"``, identifiers) or of run documents; of all kept runs without an argument.

    Of all kept runs, one that cannot be read is named on standard error, and the others have their rows. ``"last"``
    raises ``ReadpathError`` where it passes over one.
    """
    words = ["--store", os.fspath(store)] if store else []
    with tempfile.TemporaryDirectory(prefix="readpath-") as folder:
        table = os.path.join(folder, "rows.csv")
        try:
            _call(["export", "--runs", *map(os.fspath, runs), "--output", table, *words], subprocess.DEVNULL)
        except ReadpathError as error:
            if runs or error.code != 3 or not os.path.exists(table):
                raise
        names, columns = _columns(table)
    return {name: _typed(name, column) for name, column in zip(names, columns)}


def _is_of_command(document):
    # An exit code may be the program's own or the command's: what the run says of itself tells which.
    try:
        with open(document, encoding="utf-8") as file:
            found = {finding["id"] for finding in json.load(file)["findings"]}
    except (ValueError, KeyError):
        return False
    return bool(found & COMMAND_FAILED) and not found & RUN_FAILED


def _columns(table):
    # The text of a statement can be longer than the 128 KiB at which the module csv gives up by default.
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with open(table, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            names = next(reader)
            return names, list(zip(*reader)) or [()] * len(names)
    finally:
        csv.field_size_limit(limit)


def _words(options):
    for name, value in options.items():
        if isinstance(value, bool) and name in SWITCHES:
            value = SWITCHES[name][value]
        name = "--" + name.replace("_", "-")
        if value is True:
            yield name
        elif value is not False and value is not None:
            value = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            yield f"{name}={value}"


def _call(words, output):
    command = [program(), *words]
    # A command that is measured writes there too, in any encoding.
    with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            sys.stderr.write(line)
    if process.returncode != 0:
        message = "".join(lines).strip() or f"readpath ended with {process.returncode}"
        raise ReadpathError(message, process.returncode)


def _typed(name, column):
    if name in WHOLE:
        read = int
    elif name in REAL:
        read = float
    elif name in TRUTH:
        read = "true".__eq__
    elif name in TIMES:
        read = datetime.fromisoformat
    else:
        read = str
    return [read(text) if text else None for text in column]

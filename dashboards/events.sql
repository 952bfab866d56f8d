-- Loads the folder `events` of the working directory, in the place of earlier events. duckdb reads the Parquet files:
--
--     readpath export --events orcl_ora_4711.trc --output events --force
--     psql --file=dashboards/events.sql postgres://me@host/metrics
--
-- The columns are those of docs/events.md; drop the tables where those of another version stand in the way. readpath
-- itself never reads or writes them.
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
BEGIN;
CREATE TABLE IF NOT EXISTS readpath_calls (
    file text,
    "offset" bigint,
    session_number bigint,
    session text,
    statement bigint,
    statement_id text,
    module text,
    action text,
    service text,
    client text,
    container text,
    call_number bigint,
    "call" text,
    depth bigint,
    recursive boolean,
    start_ns bigint,
    end_ns bigint,
    elapsed_ns bigint,
    cpu_ns bigint,
    physical_reads bigint,
    consistent_gets bigint,
    current_gets bigint,
    own_elapsed_ns bigint,
    own_cpu_ns bigint,
    own_physical_reads bigint,
    own_consistent_gets bigint,
    own_current_gets bigint,
    own_waits_ns bigint,
    "rows" bigint,
    misses bigint,
    plan_hash bigint
);
CREATE TABLE IF NOT EXISTS readpath_waits (
    file text,
    "offset" bigint,
    session_number bigint,
    session text,
    statement bigint,
    statement_id text,
    module text,
    action text,
    service text,
    client text,
    container text,
    event text,
    class text,
    start_ns bigint,
    end_ns bigint,
    elapsed_ns bigint,
    sum_of bigint,
    placement text,
    depth bigint,
    parameter1_name text,
    parameter1 bigint,
    parameter2_name text,
    parameter2 bigint,
    parameter3_name text,
    parameter3 bigint,
    file_number bigint,
    block bigint,
    blocks bigint,
    object bigint
);
CREATE TABLE IF NOT EXISTS readpath_statements (
    statement bigint,
    statement_id text,
    text text,
    text_bytes bigint,
    command bigint,
    depth bigint,
    "user" bigint
);
CREATE TABLE IF NOT EXISTS readpath_sessions (
    session_number bigint,
    session text,
    interval_ns bigint,
    first_ns bigint,
    last_ns bigint,
    stretches bigint
);
CREATE TABLE IF NOT EXISTS readpath_plan_lines (
    file text,
    statement bigint,
    statement_id text,
    plan_hash bigint,
    line bigint,
    parent bigint,
    operation text,
    object bigint,
    "rows" bigint,
    starts bigint,
    gets bigint,
    physical_reads bigint,
    physical_writes bigint,
    time_ns bigint,
    read_time_ns bigint
);
TRUNCATE readpath_calls, readpath_waits, readpath_statements, readpath_sessions, readpath_plan_lines;
\copy readpath_calls FROM PROGRAM 'duckdb -c "COPY (FROM ''events/calls.parquet'') TO ''/dev/stdout'' (FORMAT csv, HEADER)"' WITH (FORMAT csv, HEADER match)
\copy readpath_waits FROM PROGRAM 'duckdb -c "COPY (FROM ''events/waits.parquet'') TO ''/dev/stdout'' (FORMAT csv, HEADER)"' WITH (FORMAT csv, HEADER match)
\copy readpath_statements FROM PROGRAM 'duckdb -c "COPY (FROM ''events/statements.parquet'') TO ''/dev/stdout'' (FORMAT csv, HEADER)"' WITH (FORMAT csv, HEADER match)
\copy readpath_sessions FROM PROGRAM 'duckdb -c "COPY (FROM ''events/sessions.parquet'') TO ''/dev/stdout'' (FORMAT csv, HEADER)"' WITH (FORMAT csv, HEADER match)
\copy readpath_plan_lines FROM PROGRAM 'duckdb -c "COPY (FROM ''events/plan_lines.parquet'') TO ''/dev/stdout'' (FORMAT csv, HEADER)"' WITH (FORMAT csv, HEADER match)
COMMIT;
ANALYZE readpath_calls, readpath_waits, readpath_statements, readpath_sessions, readpath_plan_lines;
